/**
 * Does four recipes of CONTRIBUTING.md in a copy of the project: a setting, a metric, an operation and a
 * migration. The recipe names every file that has to change, and its tests pass afterwards.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertIncludes } from '../support/assert-includes.ts';
import { makeFolder } from '../support/folder.ts';

const test = suite('recipes');
const root = join(import.meta.dirname, '../..');
const copy = makeFolder('rollcall-recipes-');
const parts = ['engine', 'http', 'ops', 'storage', 'bench', 'test', 'docs', 'config.example', 'package.json'];
for (const part of [...parts, 'tsconfig.json', 'package-lock.json'])
  cpSync(join(root, part), join(copy, part), { recursive: true });
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));

const guide = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
const readRecipe = (title: string): string => guide.split(`### ${title}\n`)[1]?.split('\n##')[0] ?? '';

/** Writes `text` behind the first `anchor` of a file that the recipe of this title names. */
const insert = (title: string, file: string, [anchor, text]: readonly [string, string]): void => {
  assertIncludes(readRecipe(title), file.split('/').at(-1) ?? '', file);
  const path = join(copy, file);
  const before = readFileSync(path, 'utf8');
  assertIncludes(before, anchor, file);
  writeFileSync(
    path,
    before.replace(anchor, () => anchor + text),
  );
};

const run = async (file: string): Promise<void> => {
  const options = { cwd: copy, timeout: 300_000 };
  const child = promisify(execFile)(process.execPath, [...process.execArgv, file], options);
  const printed = await child.then(
    () => '',
    (error: { stdout: string }) => `${file}:\n${error.stdout}`,
  );
  assert.is(printed, '');
};
const read = (file: string): string => readFileSync(join(copy, file), 'utf8');

test('a setting', async () => {
  insert('A setting', 'ops/config/settings.ts', [
    '  boardSeconds: buildInteger(60, [10, 3_600]),\n',
    '  sampleCount: buildInteger(3, [1, 10]),\n',
  ]);
  insert('A setting', 'config.example', ['#BOARD_SECONDS=60\n', '# How many samples.\n#SAMPLE_COUNT=3\n']);
  await run('ops/cli/document.ts');

  assertIncludes(read('docs/reference/settings.md'), '- `SAMPLE_COUNT=3`: How many samples.');
  await run('test/ops/config.test.ts');
});

test('a metric', async () => {
  insert('A metric', 'http/telemetry/counts.ts', ['  redeemedCents: 0,\n', '  samplesTaken: 0,\n']);
  insert('A metric', 'http/telemetry/metrics-table.ts', [
    'const directoryMetrics: MetricTable<NodeCounts> = {\n',
    "  rollcall_samples_total: { help: 'Samples.', read: (counts) => counts.samplesTaken },\n",
  ]);
  await run('ops/cli/document.ts');

  assertIncludes(read('docs/reference/metrics.md'), '| `rollcall_samples_total` | counter | Samples. |');
  await run('test/docs/reference.test.ts');
});

const operation = `
  definePublicRoute('countPosts', 'GET /blogs/count', {
    summary: 'Count posts',
    description: 'How many posts are published.',
    caching: 'list',
    replies: { 200: buildObject({ count: Type.Integer({ description: 'Posts.', examples: [1] }) }) },
    handle: async (app) => {
      const posts = await app.catalogue.blog.listPosts();
      return replyOk({ count: posts.rows.length });
    },
  }),`;

test('an operation', async () => {
  const anchor = "defineRoutes('Blog', [";
  const path = join(copy, 'http/api/blog.ts');
  writeFileSync(path, read('http/api/blog.ts').replace(anchor, anchor + operation));
  insert('An operation', 'test/http/authorisation/expected.ts', [
    '  listPosts: open,\n',
    '  countPosts: open,\n',
  ]);
  await run('ops/cli/document.ts');

  assertIncludes(read('docs/openapi.json'), '"/blogs/count"');
  for (const file of ['authorisation', 'openapi/document']) await run(`test/http/${file}.test.ts`);
});

test('a migration', async () => {
  const text = 'alter table bots add column sample integer not null default 0;\n';
  writeFileSync(join(copy, 'storage/sql/migrations/002.do.add-sample.sql'), text);
  const sum = createHash('sha256').update(text).digest('hex');
  insert('A migration', 'test/storage/sql/migrate.test.ts', [
    'const released: Readonly<Record<string, string>> = {\n',
    `  '002.do.add-sample.sql': '${sum}',\n`,
  ]);

  await run('test/storage/sql/migrate.test.ts');
});

test.run();
