/**
 * The package of the client: packed, installed into an empty project without the network, and used there by a
 * program and by the type checker.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
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
const typed = `import { createClient, type VoteStatus } from 'rollcall-client';
const status: Promise<VoteStatus> = createClient({ url: '' }).checkVote('1', '2');
// @ts-expect-error: servers is a number
void createClient({ url: '' }).postStats({ servers: 'many' });
export { status };
`;

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
  const { stdout } = await run(process.execPath, ['program.js'], options);
  const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--lib', 'es2024,dom'];
  await run(compiler, [...flags, '--types', '', 'typed.ts'], options);

  assert.equal(files.map(({ path }: { path: string }) => path).sort(), [
    'README.md',
    'dist/index.d.ts',
    'dist/index.js',
    'package.json',
  ]);
  assert.is(
    stdout,
    'function function function function\n{"shardCount":1,"shards":[{"id":0,"servers":1,"users":3}]}\n',
  );
});

test.run();
