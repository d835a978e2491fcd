/**
 * Every document that people write: short enough, nothing said twice, every link, anchor, file, command,
 * setting, metric and note that it names exists, and each block of code runs in a test or says why not.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { noteSeverities } from '../../engine/tools/notes.ts';
import { toAnchor } from '../../http/site/markdown.ts';
import { groups, listOperations, listOptionFields } from '../../ops/cli/operator/arguments.ts';
import { commandHelps } from '../../ops/cli/usage.ts';
import { measureProse } from '../tidy/size.ts';
import { findRepeats } from './repeats.ts';

const test = suite('pages');
const root = new URL('../../', import.meta.url).pathname;
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
/** Written by others: what happened, and when. */
const isHistory = (path: string): boolean => /CHANGELOG|HISTORY/.test(path);
const texts = new Map(
  measureProse(root)
    .filter(([path]) => !isHistory(path))
    .map(([path]) => [path, read(path)] as const),
);
const proseBytesMax = 310_000;

/** Matches of the pattern in all texts, as `file: match`, of which `isWrong` says yes. */
const findWrong = (pattern: RegExp, isWrong: (match: RegExpExecArray, path: string) => boolean): string[] =>
  [...texts].flatMap(([path, text]) =>
    [...text.matchAll(pattern)].filter((match) => isWrong(match, path)).map(([all]) => `${path}: ${all}`),
  );

test('no page is longer than 200 lines, ARCHITECTURE than 270, and all together are bounded', () => {
  const long = [...texts].filter(
    ([path, text]) => text.split('\n').length > (path === 'ARCHITECTURE.md' ? 270 : 200),
  );
  assert.equal(
    long.map(([path]) => path),
    [],
  );
  const total = measureProse(root).reduce((sum, [, bytes]) => sum + bytes, 0);
  assert.ok(total <= proseBytesMax, `${total} bytes`);
});

test('nothing stands twice', () => {
  // The READMEs of the two clients are of two packages: each has to stand alone.
  const alone = [...texts].filter(([path]) => path !== 'http/client-python/README.md');
  assert.equal(findRepeats(new Map(alone), 25), []);
});

test('of a repeated sentence both places are named', () => {
  const words = Array.from({ length: 30 }, (_, index) => `word${index}`).join(' ');
  const found = findRepeats(
    new Map([
      ['a.md', `# A\n\n${words}\n`],
      ['b.md', `\nOther. ${words}`],
    ]),
    25,
  );
  assert.equal(
    found.map((line) => line.slice(0, 13)),
    ['a.md and b.md'],
  );
});

const readAnchors = (path: string): ReadonlySet<string> =>
  new Set(
    [...read(path).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => toAnchor(title.replaceAll('`', ''))),
  );

test('every link leads to a file and an anchor', () => {
  const wrong = findWrong(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g, ([, link = '', picture], path) => {
    const [file = '', anchor] = (picture ?? link).split('#');
    if (/^(https?:|\/)/.test(file) || file.startsWith('$') || file.includes('…')) return false;
    const target = file === '' ? path : join(dirname(path), file);
    if (!existsSync(join(root, target))) return true;
    return anchor !== undefined && !readAnchors(target).has(anchor);
  });
  assert.equal(wrong, []);
});

test('every file that is named in code style exists', () => {
  const wrong = findWrong(
    /`((?:docs|engine|http|ops|storage|bench|test)\/[\w./-]+\.[a-z]{2,5})`/g,
    ([, file = ''], path) =>
      !file.includes('NNN') && !existsSync(join(root, file)) && !existsSync(join(root, dirname(path), file)),
  );
  assert.equal(wrong, []);
});

const settings = new Set([...read('config.example').matchAll(/^#([A-Z_]+)=/gm)].map(([, name]) => name));
/** Of other programs, of tests and examples, and parts of names. */
const foreign =
  /^(PG|NODE_|BOT_|USER_|MALLOC_|ROLLCALL_|CONFIG_|LC_|ATTACK_)|^(WEBHOOK_SECRET|LOGIN_ADDRESS)$/;

test('every setting that is named exists', () => {
  const wrong = findWrong(
    /`([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)(?:=[^`]*)?`/g,
    ([, name = '']) => !settings.has(name) && !foreign.test(name),
  );
  assert.equal(wrong, []);
});

test('every metric and note that is named exists', () => {
  const metrics = read('docs/reference/metrics.md');
  const series = (name: string): boolean =>
    metrics.includes(`\`${name.replace(/_(bucket|sum|count)$/, '')}\``);
  assert.equal(
    findWrong(/\brollcall_(?!client\b)[a-z_]+[a-z]\b/g, ([name]) => !series(name)),
    [],
  );
  const notes = read('docs/runbook/README.md').matchAll(/`([a-z_]+)`/g);
  const known = new Set([...Object.keys(noteSeverities), 'overloaded', 'deadline_passed', 'fatal']);
  assert.equal(
    [...notes].map(([, name = '']) => name).filter((name) => !known.has(name)),
    [],
  );
});

const operations = groups.flatMap(listOperations);

/** What is wrong with a command after `rollcall ops`, or `''`. */
const judgeCommand = (line: string): string => {
  const [first = '', second = ''] = line.split(/\s+/);
  const options = [...line.matchAll(/--([a-z-]+)/g)].map(([, name = '']) => name);
  const help = commandHelps.find(({ name }) => name === `${first} ${second}` || name === first);
  if (help !== undefined) return options.every((name) => help.usage.includes(`--${name}`)) ? '' : line;
  const operation = operations.find(({ command }) => command === `${first} ${second}`);
  if (operation === undefined) return groups.includes(first) && !/^[a-z]/.test(second) ? '' : line;
  const known = new Set([
    'yes',
    'json',
    'file',
    'dry-run',
    ...listOptionFields(operation).map(({ option }) => option),
  ]);
  return options.every((name) => known.has(name)) ? '' : line;
};

test('every command that is named exists, with its options', () => {
  const wrong = findWrong(
    /(?:rollcall ops|npm run (?:-s )?ops --) ([^`\n#]+)/g,
    ([, line = '']) => /^[a-z]/.test(line) && judgeCommand(line) !== '',
  );
  assert.equal(wrong, []);
  const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts);
  assert.equal(
    findWrong(/npm run (?:-s )?([a-z:]+)/g, ([, name = '']) => !scripts.includes(name)),
    [],
  );
});

/** Languages that nothing runs: output, configuration of other programs, forms. */
const shown = new Set(['', 'text', 'json', 'csv', 'md', 'html']);

test('each block of code runs in a test that exists, or says why not', () => {
  const wrong = [...texts].flatMap(([path, text]) => {
    const isRunAsAWhole = /^docs\/(start|bots\/.*)\.md$|^http\/client/.test(path);
    return [...text.matchAll(/^```(\w*)(.*)\n[\s\S]*?^```$/gm)]
      .filter(([, language = '', more = '']) => {
        const runner = /^ run: (\S+)$/.exec(more)?.[1];
        if (runner !== undefined) return !existsSync(join(root, runner));
        return !shown.has(language) && !isRunAsAWhole && !/^ not run: \w+/.test(more);
      })
      .map(([block]) => `${path}: ${block.split('\n', 1)[0]}`);
  });
  assert.equal(wrong, []);
});

test.run();
