/**
 * The package of the client: packed, installed into an empty project without the network, and used there by a
 * program and by the type checker.
 */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { TypedDocument } from '../../http/openapi/client-types.ts';
import { writeClientPackage } from '../../ops/cli/client-package.ts';
import { makeFolder } from '../support/folder.ts';

const test = suite('package of the client');
const run = promisify(execFile);
const compiler = fileURLToPath(new URL('../../node_modules/.bin/tsc', import.meta.url));

const program = `import { autopost, createClient, log, readShards, receive } from 'rollcall-client';
const client = createClient({ url: 'http://127.0.0.1:9' });
console.log(typeof client.postStats, typeof autopost, typeof log, typeof receive);
console.log(JSON.stringify(readShards({ guilds: { cache: new Map([['1', { memberCount: 3 }]]) } })));
`;
/** As on a Node before 20.19, which cannot `require` a module. */
const required = ['--no-experimental-require-module', 'required.cjs'];
const document: TypedDocument = JSON.parse(
  readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
);
/** For each operation, that a request for it has the type of its reply, and no wider one. */
const typedRequests = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.keys(operations).map((name) => {
    const method = name.toUpperCase();
    const requested = path.replace(/\{\w+\}/g, '$' + '{id}');
    return `same<Replies['${method} ${path}']>()(client.request('${method}', \`${requested}\`));`;
  }),
);
const typed = `import { createClient, type Replies, type VoteStatus } from 'rollcall-client';
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? unknown : never;
const same = <Reply,>() => <Got,>(got: Promise<Got> & Same<Got, Reply>): void => void got;
const client = createClient({ url: '' });
const id = String(Date.now());
${typedRequests.join('\n')}
same<Replies['GET /bots/@all']>()(client.request('GET', '/bots/@all?sort=votes'));
same<unknown>()(client.request('GET', '/bots/1/2/3/4/5'));
same<number>()(client.request<number>('GET', '/bots/1'));
// @ts-expect-error: it is a bot
same<Replies['GET /teams/{id}']>()(client.request('GET', '/bots/1'));
const status: Promise<VoteStatus> = createClient({ url: '' }).checkVote('1', '2');
// @ts-expect-error: servers is a number
void createClient({ url: '' }).postStats({ servers: 'many' });
export { status };
`;
const toRequiring = (text: string): string =>
  text.replace(/^import (.*) from (.*);/, 'const $1 = require($2);');

test('packed and installed offline, it runs and has types', async () => {
  const source = makeFolder('rollcall-client-');
  const project = makeFolder('rollcall-project-');
  await writeClientPackage(source);
  const options = { cwd: project, timeout: 120_000 };
  const quietly = ['--offline', '--no-audit', '--no-fund', '--loglevel=error'];

  const packed = await run('npm', ['pack', source, '--json', ...quietly], options);
  const [{ filename, files }] = JSON.parse(packed.stdout);
  writeFileSync(join(project, 'package.json'), '{"name":"project","private":true,"type":"module"}');
  await run('npm', ['install', `./${filename}`, ...quietly], options);
  writeFileSync(join(project, 'program.js'), program);
  writeFileSync(join(project, 'typed.ts'), typed);
  writeFileSync(join(project, 'required.cjs'), toRequiring(program));
  writeFileSync(join(project, 'typed.cts'), typed);
  const { stdout } = await run(process.execPath, ['program.js'], options);
  const byRequire = await run(process.execPath, required, options);
  const installed = join(project, 'node_modules/.bin/rollcall-client');
  const listened = await run(installed, ['listen'], options).catch((error) => error);
  const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--lib', 'es2024,dom'];
  await run(compiler, [...flags, '--types', '', 'typed.ts', 'typed.cts'], options).catch(({ stdout }) =>
    assert.unreachable(stdout),
  );

  assert.equal(files.map(({ path }: { path: string }) => path).sort(), [
    'LICENSE',
    'README.md',
    'dist/cli.js',
    'dist/index.cjs',
    'dist/index.d.cts',
    'dist/index.d.ts',
    'dist/index.js',
    'package.json',
  ]);
  assert.is(byRequire.stdout, stdout);
  assert.is(listened.code, 2);
  assert.match(listened.stderr, /^Name --url and --forward.*\n\nUsage: rollcall-client listen/);
  assert.is(
    stdout,
    'function function function function\n{"shardCount":1,"shards":[{"id":0,"servers":1,"users":3}]}\n',
  );
});

test('what cannot be built leaves nothing that could be published', async () => {
  const copy = makeFolder('rollcall-copy-');
  for (const part of ['http', 'ops', 'package.json', 'LICENSE'])
    cpSync(fileURLToPath(new URL(`../../${part}`, import.meta.url)), join(copy, part), { recursive: true });
  const flags = ['--disable-warning=ExperimentalWarning'];
  const failure = await run(process.execPath, [...flags, join(copy, 'ops/cli/client.ts'), 'package'], {
    cwd: copy,
  }).catch((error) => error);

  assert.is.not(failure.code, 0);
  assert.not(existsSync(join(copy, 'package')));
});

test('a folder that has files, such as the own one, is refused and not written to', async () => {
  const project = makeFolder('rollcall-own-');
  writeFileSync(join(project, 'package.json'), 'mine');
  const packager = fileURLToPath(new URL('../../ops/cli/client.ts', import.meta.url));
  const failure = await run(process.execPath, [...process.execArgv, packager, '.'], {
    cwd: project,
  }).catch((error) => error);

  assert.equal([failure.code, readFileSync(join(project, 'package.json'), 'utf8')], [1, 'mine']);
});

test.run();
