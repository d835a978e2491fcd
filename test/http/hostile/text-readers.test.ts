/**
 * Every package, function of the platform and built expression that may see text from outside is known, and
 * no expression of a package is slow on any text, but for those whose texts cannot come.
 *
 * Own process: `recheck` keeps a process of its own until this one ends.
 */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { checkSync } from 'recheck';
import { isCallExpression, isNewExpression, type Node, SyntaxKind } from 'typescript/unstable/ast';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { plainText } from '../../../http/api/shared/patterns.ts';
import { parseProject, readFiles, walk } from '../../tidy/project.ts';
import { normalised, packages, platform, slowOnes } from './text-readers.ts';

const test = suite('readers of text');
const root = fileURLToPath(new URL('../../..', import.meta.url));
const product = /^(engine|http|storage|ops)\//;
const files = new Map([...readFiles(root)].filter(([path]) => product.test(path)));
const { sources } = parseProject(files);

/** Calls `visit` with what each call or `new` of the product calls. */
const visitCalls = (visit: (callee: string, path: string) => void): void => {
  for (const { path, tree } of sources.values())
    walk(tree, (node: Node) => {
      if (isCallExpression(node) || isNewExpression(node)) visit(node.expression.getText(tree), path);
    });
};

/** The names that `text-readers.ts` has: of a method its own name, of a function of a global with that. */
const platformCall = new RegExp(
  '^(?:(JSON\\.parse|URL(?:\\.\\w+)?|URLSearchParams|decodeURI\\w*|Intl\\.\\w+|Date(?:\\.parse)?|' +
    'TextDecoder\\w*|BigInt|atob)|.*\\.(normalize|localeCompare|(?:to|is)WellFormed|toLocale\\w+))$',
  's',
);

test('each package of the product is known', () => {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
  const names = Object.keys({ ...dependencies, ...optionalDependencies });

  assert.equal(names.sort(), Object.keys(packages).sort());
});

test('each function of the platform that parses is known', () => {
  const used = new Set<string>();
  const normalising = new Set<string>();
  visitCalls((callee, path) => {
    const [, global, method] = platformCall.exec(callee) ?? [];
    const name = global ?? method;
    if (name !== undefined) used.add(name);
    if (name === 'normalize') normalising.add(path);
  });
  assert.ok(used.size > 12, [...used].join(' '));
  assert.equal(
    [...used].filter((name) => !Object.hasOwn(platform, name)),
    [],
  );
  assert.equal([...normalising].sort(), normalised);
});

/** One that repeats nothing without a bound takes a bounded time at each position. */
const repeats = /[*+]|,\}/;

const findFault = (source: string, flags: string): string | null => {
  if (!repeats.test(source)) return null;
  const isSafe = () => checkSync(source, flags, { timeout: null, randomSeed: 1 }).status === 'safe';
  // It confirms what it suspects by a clock, which a busy machine stretches.
  return isSafe() || isSafe() ? null : `/${source}/${flags} is slow`;
};

test('no expression of a package is slow where a text from outside reaches it', () => {
  const patterns = Object.values(packages).flatMap((each) => (typeof each === 'string' ? [] : each));
  const texts = new Map<string, string>();
  for (const pattern of patterns) {
    const found = globSync(`${root}/node_modules/${pattern}`);
    assert.ok(found.length > 0, pattern);
    for (const path of found)
      texts.set(path.slice(root.length).replace(/js$/, 'mjs'), readFileSync(path, 'utf8'));
  }
  const literals = new Set<string>();
  for (const { tree } of parseProject(texts).sources.values())
    walk(tree, (node: Node) => {
      if (node.kind === SyntaxKind.RegularExpressionLiteral) literals.add(node.getText(tree));
    });
  const slow = [...literals].filter((literal) => {
    const end = literal.lastIndexOf('/');
    return findFault(literal.slice(1, end), literal.slice(end + 1)) !== null;
  });
  assert.ok(literals.size > 200, String(literals.size));
  assert.equal(slow.sort(), Object.keys(slowOnes).sort());
});

/** Files that build expressions only when they are called: with which sources. */
const builtAtCall: Readonly<Record<string, readonly string[]>> = {
  'ops/cli/main.ts': ['\\[--yes[ \\]]'],
  'ops/cli/operator/arguments.ts': [plainText],
  'ops/cli/routes.ts': ['^/users/[a-z-]+/votes[a-z-]+$'],
  'storage/sql/address.ts': ['[?&]sslmode='],
};

test('no expression that is built is slow', async () => {
  const builders = new Set<string>();
  visitCalls((callee, path) => void (callee === 'RegExp' && builders.add(path)));
  const built: [source: string, flags: string, path: string][] = [];
  const { RegExp: plain } = globalThis;
  globalThis.RegExp = new Proxy(plain, {
    construct: (target, [source, flags]) => {
      const made = new target(source, flags);
      built.push([made.source, made.flags, new Error('from').stack ?? '']);
      return made;
    },
  });
  // A query makes an instance of the module that is not loaded yet.
  for (const path of builders) if (!(path in builtAtCall)) await import(`${root}${path}?again`);
  globalThis.RegExp = plain;

  const unseen = [...builders].filter(
    (path) => !(path in builtAtCall) && !built.some(([, , stack]) => stack.includes(path)),
  );
  assert.equal(unseen, []);
  assert.equal(
    Object.keys(builtAtCall).filter((path) => !builders.has(path)),
    [],
  );
  for (const [path, texts] of Object.entries(builtAtCall))
    for (const source of texts) built.push([source, 'u', path]);
  assert.equal(
    built.flatMap(([source, flags]) => findFault(source, flags) ?? []),
    [],
  );
});

test.run();
