/**
 * Tidy itself: a clean sample has no finding, and each rule refuses the sample made for it, at the right
 * line, with words that say what to do.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sampleComments } from './tidy/sample-comments.ts';
import { tidy } from './tidy.ts';

const test = suite('tidy');

const header = '/**\n * Owns a sample.\n * Never does more.\n */\n';
const headerLines = 4;

/** Every file is used by the command, so that only the rule under test speaks. */
const check = (files: Readonly<Record<string, string>>, others: Readonly<Record<string, string>> = {}) => {
  const all = Object.entries(files).map(([path, text]) => [path, header + text] as const);
  const scripts = Object.fromEntries(Object.keys(files).map((path) => [path, path]));
  const manifest = { 'package.json': JSON.stringify({ scripts }) };
  return tidy(new Map([...all, ...Object.entries({ ...manifest, ...others })])).map(
    ({ file, line, rule, advice }) => `${file}:${line} ${rule}: ${advice}`,
  );
};

const expectOne = (found: readonly string[], pattern: RegExp): void => {
  assert.is(found.length, 1, found.join('\n') || 'nothing was found');
  assert.match(found[0] ?? '', pattern);
};

test('a clean project has no finding', () => {
  const found = check({
    'engine/ids.ts': `import { createHash } from 'node:crypto';\nexport const id = createHash;\n`,
    'engine/commit/output-gate.ts': `import { id } from './ids.ts';\nexport const gate = id;\n`,
    'http/a.ts': `import { id } from '../engine/ids.ts';\nexport const a = id; // 'process.env', Date.now\n`,
  });

  assert.equal(found, []);
});

test('inside http/ imports go down', () => {
  const found = check({
    'http/server/a.ts': `import '../api/b.ts';\n`,
    'http/api/b.ts': `import '../response/c.ts';\n`,
    'http/response/c.ts': `import '../server/d.ts';\n`,
    'http/server/d.ts': `export const d = 1;\n`,
  });

  expectOne(found, /http\/api\/b\.ts lies above it/);
});

test('two folders do not need each other', () => {
  const found = check({
    'engine/actors/a.ts': `import '../flush/b.ts';\n`,
    'engine/flush/b.ts': `import '../tools/c.ts';\n`,
    'engine/flush/d.ts': `import '../actors/e.ts';\n`,
    'engine/actors/e.ts': `import '../tools/c.ts';\n`,
    'engine/tools/c.ts': `export const c = 1;\n`,
  });

  assert.is(found.length, 2, found.join('\n'));
  for (const line of found) assert.match(line, /import each other/);
});

for (const [path, code, words] of [
  ['engine/a.ts', `import 'node:fs';`, /engine\/ must not import node:fs/],
  ['engine/a.ts', `import '../http/b.ts';`, /must not import http\/b\.ts/],
  ['storage/a.ts', `import '../http/b.ts';`, /must not import http\/b\.ts/],
  ['ops/a.ts', `import '../test/b.ts';`, /must not import test\/b\.ts/],
  ['http/a.ts', `import '../storage/ledger/ledger.ts';`, /must not import storage\/ledger\/ledger\.ts/],
  ['http/a.ts', `import '../storage/catalogue/b.ts';`, /may only `import type`/],
  ['http/operator/page/a.ts', `import '../route.ts';`, /browsers get only this folder/],
  ['engine/entity/a.ts', `import type { B } from '../ports.ts';`, /must not import engine\/ports\.ts/],
  ['http/a.ts', `import '../engine/commit/shard-queue.ts';`, /inside the engine: use its door/],
  ['http/a.ts', `await import('../engine/commit/shard-queue.ts');`, /inside the engine: use its door/],
  ['storage/a.ts', `export * from '../engine/actors/actor.ts';`, /inside the engine: use its door/],
  ['ops/a.ts', `import '../storage/hot/lmdb/store.ts';`, /chosen in storage\/open\.ts/],
  ['http/a.ts', `import { env } from 'node:process';`, /use the global `process`/],
  ['ops/a.ts', `import program from 'node:process';`, /use the global `process`/],
] as const) {
  test(`${path} with ${code} goes in the wrong direction`, () => {
    expectOne(check({ [path]: `${code}\n` }), new RegExp(`^${path}:5 import: .*${words.source}`));
  });
}

test('only http/server/uws-*.ts sees uWebSockets.js', () => {
  const manifest = JSON.stringify({
    scripts: { a: 'http/a.ts http/server/uws-server.ts' },
    dependencies: { 'uWebSockets.js': '1.0.0' },
  });
  const documents = { 'package.json': manifest, 'ARCHITECTURE.md': '`uWebSockets.js`: serves' };
  const code = `import 'uWebSockets.js';\n`;

  assert.equal(check({ 'http/server/uws-server.ts': code }, documents), []);
  expectOne(check({ 'http/a.ts': code }, documents), /only http\/server\/uws-\*\.ts sees/);
});

test('a cycle is shown as the round it makes', () => {
  const found = check({
    'ops/a.ts': `import './b.ts';\n`,
    'ops/b.ts': `import './c.ts';\n`,
    'ops/c.ts': `import type { A } from './a.ts';\n`,
  });

  expectOne(found, /ops\/a\.ts → ops\/b\.ts → ops\/c\.ts → ops\/a\.ts/);
});

test('a file that nobody imports, names or starts is found', () => {
  const lonely = { 'ops/lonely.ts': `${header}export const a = 1;\n` };
  const named = { 'ops/user.ts': `new URL('./lonely.ts', import.meta.url);\n` };

  expectOne(check({}, lonely), /^ops\/lonely\.ts:1 unused/);
  assert.equal(check(named, lonely), []);
});

for (const [path, code, words] of [
  ['http/a.ts', `export const a = process.env;`, /ops\/config\/config\.ts only/],
  ['http/a.ts', `export const a = process.env['A'];`, /ops\/config\/config\.ts only/],
  ['engine/a.ts', `export const a = Date.now();`, /Clock port/],
  ['engine/a.ts', `setTimeout(() => {}, 1);`, /Clock port/],
  ['engine/a.ts', `setInterval(() => {}, 1);`, /Clock port/],
  ['engine/a.ts', `export const a = Math.random();`, /replay from a seed/],
  ['http/operator/page/a.ts', `document.body.innerHTML = '';`, /never become markup/],
  ['http/operator/page/a.ts', `document.body.insertAdjacentHTML('beforeend', '');`, /never become markup/],
  ['http/operator/page/a.ts', `document.write('');`, /never become markup/],
  ['http/a.ts', `export const a = Date.now();`, /app\.clock/],
  ['http/a.ts', `console.log('a');`, /logger/],
  ['test/a.ts', `export enum A { b }`, /union of literals/],
  ['ops/a.ts', `export default 1;`, /export by name/],
  ['ops/a.ts', `export default function readA() {}`, /export by name/],
  ['ops/a.ts', `export const toB = (b: any) => b;`, /`unknown`/],
  ['ops/a.ts', `try { a(); } catch {}`, /empty catch/],
  ['engine/entity/a.ts', `export const readA = async () => 1;`, /pure/],
  ['engine/a.ts', 'export const a = `SELECT x FROM y WHERE z`;', /SQL lives in storage/],
  ['engine/a.ts', `export const a = 'delete from y ';`, /SQL lives in storage/],
] as const) {
  test(`${path} with ${code} is banned`, () => {
    expectOne(check({ [path]: `${code}\n` }), new RegExp(`^${path}:5 banned: .*${words.source}`));
  });
}

test('what is banned in one place is allowed where it belongs', () => {
  const found = check({
    'ops/config/config.ts': `export const a = process.env;\n`,
    'http/server/header-limit.ts': `process.env.LIMIT = '1';\n`,
    'ops/b.ts': `console.log(Date.now());\nswitch (1) { default: }\n`,
    'storage/c.ts': 'export const a = `select x from y where z`;\nsetTimeout(() => {}, 1);\n',
  });

  assert.equal(found, []);
});

for (const [code, words] of [
  ['const askedMs = 1;', /"asked" in askedMs .*`request`/],
  ['function settle_all() {}', /"settle" in settle_all .*`acknowledge`/],
  ['const f = (lane) => lane;', /"lane" in lane .*`commitQueue`/],
  ['interface A { readonly onTrouble: string }', /"trouble" in onTrouble .*`onError`/],
  ['interface A { hearer(): void }', /"hearer" in hearer .*`subscriber`/],
  ['class A { dice = 1; }', /"dice" in dice .*`random`/],
  ['type Ballot = string;', /"ballot" in Ballot .*`pendingVote`/],
  ['const { a: clerk } = b;', /"clerk" in clerk .*`validator`/],
] as const) {
  test(`a retired word is found: ${code}`, () => {
    expectOne(
      check({ 'storage/a.ts': `${code}\n` }),
      new RegExp(`^storage/a.ts:5 retired word: ${words.source}`),
    );
  });
}

test('retired words are found in declarations alone, as words of their own', () => {
  const used = "const a = { told: 1 };\nconst b = a.told; // asked\nconst planet = 'lane';\n";

  assert.equal(check({ 'http/a.ts': used }), []);
});

for (const file of ['test/b.ts', 'bench/b.ts']) {
  test(`a retired word is found in ${file}`, () => {
    expectOne(
      check({ [file]: 'const told = 1;\n' }),
      new RegExp(`^${file}:\\d+ retired word: "told" in told`),
    );
  });
}

for (const code of [
  'export const rowsOf = () => 1;',
  'export const state = function () {};',
  'export function crowded() {}',
  'export async function* lines() {}',
]) {
  test(`an exported function without a verb is found: ${code}`, () => {
    expectOne(check({ 'ops/a.ts': `${code}\n` }), /^ops\/a\.ts:5 verb: \w+ does not begin with a verb/);
  });
}

test('constants, types and private functions need no verb', () => {
  const code =
    'export const rows = [];\nexport type Row = 1;\nconst rowsOf = () => 1;\nexport const toRow = () => 1;\n';

  assert.equal(check({ 'ops/a.ts': code }), []);
});

test('a type name that two files of the product export is found', () => {
  const one = 'export interface Place { a: 1 }\n';
  const pair = (name: string, text: string) => check({ 'engine/a.ts': one, [name]: text });

  expectOne(pair('http/b.ts', 'export type Place = 1;\n'), /^http\/b\.ts:5 type name: engine\/a\.ts exports/);
  expectOne(pair('ops/b.ts', 'export class Place {}\n'), /^ops\/b\.ts:5 type name/);
  assert.equal(pair('ops/b.ts', 'interface Place { b: 2 }\n'), []);
  assert.equal(pair('test/b.ts', one), []);
});

test('a sample of comments is the same for the same seed, and names file and line', () => {
  const code = Array.from(
    { length: 40 },
    (_, at) => `/** Doc ${at}. */\nconst a${at} = 1;\n\n  // One.\n  // Two.\n`,
  );
  const files = new Map([
    ['engine/a.ts', code.join('')],
    ['test/b.ts', '// Not of the product.\n'],
  ]);

  const drawn = sampleComments(files, { seed: 7, count: 50 });
  const texts = code.join('').split('\n');

  assert.is(drawn.length, 50);
  assert.equal(drawn, sampleComments(files, { seed: 7, count: 50 }));
  assert.not.equal(drawn, sampleComments(files, { seed: 8, count: 50 }));
  for (const { file, line, text } of drawn) {
    assert.is(file, 'engine/a.ts');
    assert.ok(`${texts.slice(line - 1).join('\n')}\n`.startsWith(`${text}\n`));
    assert.match(text, /^(\/\*\* Doc \d+\. \*\/| {2}\/\/ One\.\n {2}\/\/ Two\.)$/);
  }
  assert.is(sampleComments(files, { seed: 7, count: 500 }).length, 80);
});

test('leftover notes are found in comments and nowhere else', () => {
  const word = 'FIX' + 'ME';

  expectOne(check({ 'ops/a.ts': `\nexport const a = 1; // ${word} later\n` }), /^ops\/a\.ts:6 leftover/);
  assert.equal(check({ 'ops/a.ts': `export const a = '${word}';\n` }), []);
});

test('sizes: file, line, function and parameters have their limits', () => {
  const lines = (count: number): string => 'f();\n'.repeat(count);

  assert.equal(check({ 'ops/a.ts': lines(400 - headerLines) }), []);
  expectOne(check({ 'ops/a.ts': lines(401 - headerLines) }), /^ops\/a\.ts:401 file size: 401 lines/);
  expectOne(check({ 'ops/a.ts': `// ${'x'.repeat(108)}\n` }), /^ops\/a\.ts:5 line length: 111/);
  assert.equal(check({ 'ops/a.ts': `const f = () => {\n${lines(58)}};\n` }), []);
  expectOne(check({ 'ops/a.ts': `const f = () => {\n${lines(59)}};\n` }), /function size: 61 lines/);
  assert.equal(check({ 'ops/a.ts': `const rows = [\n${'  1,\n'.repeat(200)}];\n` }), []);
  assert.equal(check({ 'ops/a.ts': 'function f(a, b, c, d = 1) {}\n' }), []);
  expectOne(check({ 'ops/a.ts': 'function f(a, b, c, d) {}\n' }), /parameters: 4/);
});

test('a file without a header is found', () => {
  const manifest = JSON.stringify({ scripts: { a: 'ops/a.ts' } });

  expectOne(check({}, { 'package.json': manifest, 'ops/a.ts': 'f();\n' }), /^ops\/a\.ts:1 header/);
  expectOne(check({}, { 'package.json': manifest, 'ops/a.ts': '/** Short. */\nf();\n' }), /header/);
});

for (const [title, code, words] of [
  ['no run', `test('a', f);`, /end with exactly one/],
  ['two runs', `test.run();\ntest.run();`, /end with exactly one/],
  ['something after run', `test.run();\ntest('a', f);`, /nothing may follow/],
  ['a second suite', `suite('more');\ntest.run();`, /one suite per file/],
  ['only', `test.only('a', f);\ntest.run();`, /left out/],
  ['skip', `test.skip('a', f);\ntest.run();`, /left out/],
] as const) {
  test(`a test file with ${title} is found`, () => {
    const text = `const test = suite('a');\n${code}\n`;

    expectOne(check({ 'test/a.test.ts': text }), words);
  });
}

for (const call of [
  'assert.ok(a === b)',
  'assert.ok(a.b !== 1)',
  "assert.not(text.includes('a'), 'words')",
  'assert.not.ok([1, 2].includes(await c()))',
]) {
  test(`an assertion that prints no values is found: ${call}`, () => {
    const code = `test('a', async () => ${call});\ntest.run();\n`;

    expectOne(check({ 'test/a.ts': code }), /^test\/a\.ts:5 assertion: prints no values: use assert\.is/);
  });
}

test('an assertion of one value may be `assert.ok`', () => {
  const code = 'assert.ok(a !== undefined);\nassert.ok(b > 3);\nassert.ok(c.some((d) => d === 1));\n';

  assert.equal(check({ 'test/a.ts': code }), []);
});

test('a test that starts a server is found in the wrong group, also through a helper', () => {
  const starter = { 'bench/shared/redis-server.ts': 'export const startRedis = 1;\n' };
  const helper = { 'test/fleet.ts': `import '../bench/shared/redis-server.ts';\n` };
  const suite = `import './fleet.ts';\nconst test = suite('a');\ntest.run();\n`;
  const type = `import type { A } from './fleet.ts';\nconst test = suite('a');\ntest.run();\n`;

  expectOne(
    check({ ...starter, ...helper, 'test/a.test.ts': suite }),
    /^test\/a\.test\.ts:1 test group: imports bench\/shared\/redis-server\.ts.*test\/a\.stores\.test\.ts/,
  );
  assert.equal(check({ ...starter, ...helper, 'test/a.stores.test.ts': suite }), []);
  assert.equal(check({ ...starter, ...helper, 'test/a.fault.ts': suite }), []);
  assert.equal(check({ ...starter, ...helper, 'test/a.test.ts': type }), []);
});

test('dependencies are pinned, explained and declared', () => {
  const manifest = (version: string) =>
    JSON.stringify({ scripts: { a: 'ops/a.ts' }, dependencies: { left: version } });
  const code = { 'ops/a.ts': `import 'left/pad';\n` };
  const reasons = { 'ARCHITECTURE.md': '- `left`: pads.\n' };

  assert.equal(check(code, { 'package.json': manifest('1.2.3'), ...reasons }), []);
  expectOne(check(code, { 'package.json': manifest('^1.2.3'), ...reasons }), /pin left exactly/);
  expectOne(
    check(code, { 'package.json': manifest('1.2.3') }),
    /say in ARCHITECTURE\.md what `left` saves us/,
  );
  expectOne(check({ 'ops/a.ts': `import 'right';\n` }), /right is not in package\.json/);
});

test('a lock file without the packages of a platform is found', () => {
  const needing = { version: '1.0.0', optionalDependencies: { 'one-darwin': '1.0.0' } };
  const lock = (packages: object) => ({ 'package-lock.json': JSON.stringify({ packages }) });

  assert.equal(check({}, lock({ 'node_modules/one': needing, 'node_modules/one-darwin': {} })), []);
  assert.equal(check({}, lock({ a: needing, 'a/node_modules/one-darwin': {} })), []);
  expectOne(
    check({}, lock({ 'node_modules/one': needing })),
    /^package-lock\.json:1 lock file: add .*one-darwin/,
  );
});

test('no text speaks of a version before this one', () => {
  expectOne(
    check({ 'engine/a.ts': '// As an earlier version wrote it.\nexport const read = 1;\n' }),
    /former version/,
  );
  expectOne(check({}, { 'docs/a.md': 'Folders of the version before.' }), /docs\/a\.md:1 former version/);
});

test('only a contracting migration takes something away', () => {
  const folder = 'storage/sql/migrations';
  const sample = (name: string, text: string) => check({}, { [`${folder}/${name}`]: text });

  assert.equal(sample('002.do.more.sql', 'drop index one;\nalter table a add column b int;'), []);
  assert.equal(sample('002.do.contract-less.sql', 'drop table a;'), []);
  expectOne(sample('002.do.less.sql', '-- a\ndrop table a;'), /002\.do\.less\.sql:2 migration: "drop table"/);
  expectOne(sample('002.do.less.sql', 'alter table a alter column b set not null;'), /:1 migration/);
  expectOne(sample('002.do.less.sql', 'alter table a rename column b to c;'), /:1 migration/);
});

test.run();
