/**
 * How large the project is: code lines of its parts and the written prose, as `npm run check -- --size`
 * prints them.
 *
 * A code line is neither blank nor a comment. Counted line by line, without a parser, in the same way for
 * every language: a comment that stands behind code does not take its line away. Generated sources count,
 * data does not.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Part {
  readonly title: string;
  readonly files: number;
  readonly lines: number;
  readonly median: number;
  readonly percentile90: number;
  readonly largest: string;
}

/** The comment forms of each kind of source file: line comments, and what opens and closes a block. */
interface Comments {
  readonly line: RegExp;
  readonly opens?: RegExp;
  readonly closes?: RegExp;
}
const braces: Comments = { line: /^\/\//, opens: /^\/\*/, closes: /\*\/\s*$/ };
const comments: Readonly<Record<string, Comments>> = {
  ts: braces,
  mjs: braces,
  mts: braces,
  js: braces,
  css: braces,
  go: braces,
  rs: braces,
  sql: { line: /^--/ },
  lua: { line: /^--/ },
  py: { line: /^#/ },
};
const sourceEnding = `{${Object.keys(comments).join(',')}}`;
const clientFolders = /^http\/(client|client-python|clients|site\/page|operator\/page)\//;
const parts: readonly (readonly [title: string, pattern: RegExp])[] = [
  ['engine', /^engine\//],
  ['http', /^http\//],
  ['storage', /^storage\//],
  ['ops', /^ops\//],
  ['server: these four', /^(engine|http|storage|ops)\//],
  ['of it clients and pages', clientFolders],
  ['bench', /^bench\//],
  ['test', /^test\//],
];
/** Folders of a checkout that are not of the project. */
const skipped = /(^|\/)(node_modules|data|results)\//;

/** Code lines of a text in the language that `ending` names. */
export const countCodeLines = (text: string, ending: string): number => {
  const { line, opens, closes } = comments[ending] ?? braces;
  let inBlock = false;
  let count = 0;
  for (const raw of text.split('\n')) {
    const trimmed = raw.trim();
    if (inBlock) inBlock = closes?.test(trimmed) !== true;
    else if (opens?.test(trimmed)) inBlock = closes?.test(trimmed.slice(2)) !== true;
    else if (trimmed !== '' && !line.test(trimmed)) count += 1;
  }
  return count;
};

/** The parts of the project at `root`, in the order of the table. */
export const measureParts = (root: string): Part[] => {
  const files = globSync(`{engine,http,storage,ops,bench,test}/**/*.${sourceEnding}`, { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !skipped.test(path));
  const sizes = files.map((path) => {
    const text = readFileSync(join(root, path), 'utf8');
    return { path, lines: countCodeLines(text, path.slice(path.lastIndexOf('.') + 1)) };
  });
  return parts.map(([title, pattern]) =>
    summarise(
      title,
      sizes.filter(({ path }) => pattern.test(path)),
    ),
  );
};

const summarise = (title: string, sizes: readonly { path: string; lines: number }[]): Part => {
  const sorted = sizes.toSorted((one, other) => one.lines - other.lines);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return {
    title,
    files: sizes.length,
    lines: sizes.reduce((sum, { lines }) => sum + lines, 0),
    median: at(0.5)?.lines ?? 0,
    percentile90: at(0.9)?.lines ?? 0,
    largest: `${at(1)?.lines ?? 0} ${at(1)?.path ?? ''}`,
  };
};

/** Bytes of each document that people write, so not of docs/reference, by path, largest first. */
export const measureProse = (root: string): (readonly [path: string, bytes: number])[] =>
  globSync('**/*.md', { cwd: root, exclude: ['node_modules', '**/node_modules'] })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !skipped.test(path) && !path.startsWith('docs/reference/'))
    .map((path) => [path, readFileSync(join(root, path)).length] as const)
    .sort(([, one], [, other]) => other - one);

const heads = ['files', 'lines', 'median', '90 %'];

/** The table that `npm run check -- --size` prints. */
export const formatSize = (root: string): string => {
  const rows = measureParts(root).map(({ title, files, lines, median, percentile90, largest }) =>
    [
      title.padEnd(24),
      ...[files, lines, median, percentile90].map((value) => value.toLocaleString('en').padStart(8)),
      ` ${largest}`,
    ].join(''),
  );
  const prose = measureProse(root);
  const kilobytes = (bytes: number): string => (bytes / 1_000).toFixed(1).padStart(8);
  const total = prose.reduce((sum, [, bytes]) => sum + bytes, 0);
  return [
    'code lines (neither blank nor comment)',
    `${''.padEnd(24)}${heads.map((head) => head.padStart(8)).join('')}  largest`,
    ...rows,
    '',
    'written prose, KB',
    ...prose.map(([path, bytes]) => `${kilobytes(bytes)}  ${path}`),
    `${kilobytes(total)}  together`,
  ].join('\n');
};
