/**
 * The lock of the data folder: one process holds it, and a killed process does not block it.
 */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DataLocked, lockDataDirectory } from '../../../storage/embedded/lock.ts';
import { makeFolder } from '../../support/folder.ts';
import { until } from '../../support/until.ts';

const test = suite('data lock');
const root = makeFolder('rollcall-lock-');
const lockModule = new URL('../../../storage/embedded/lock.ts', import.meta.url).href;
const path = join(root, 'lock');

test.before.each(() => rmSync(path, { force: true }));

const refusalOf = async (): Promise<string> => {
  try {
    (await lockDataDirectory(root)).release();
    return 'locked';
  } catch (error) {
    return error instanceof DataLocked ? error.message : `another error: ${error}`;
  }
};

const holderScript = `const { lockDataDirectory } = await import(${JSON.stringify(lockModule)});
  await lockDataDirectory(${JSON.stringify(root)});
  console.log('locked');
  setInterval(() => {}, 1000);`;
const holderCommand = [process.execPath, '--input-type=module', '--eval', holderScript] as const;

/** A process that takes the lock, reports it, and waits until it is ended. `launcher` starts it. */
const startHolder = (launcher: readonly string[] = []) => {
  const [program = '', ...words] = [...launcher, ...holderCommand];
  const holder = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const said = new Promise<void>((resolve) => holder.stdout.once('data', () => resolve()));
  const ended = new Promise<void>((resolve) => holder.once('close', () => resolve()));
  return { holder, said, ended };
};

test('a second lock is refused with a message that names the process; a released lock is free', async () => {
  const lock = await lockDataDirectory(root);
  const words = await refusalOf();
  assert.match(words, `in use by process ${process.pid}`);
  assert.match(words, 'DATA_DIR');
  assert.match(words, `delete ${path}`);

  lock.release();
  lock.release();
  assert.is(await refusalOf(), 'locked');
  assert.equal(readdirSync(root), []);
});

test('the lock of a process that was killed with -9 is taken over at once', async () => {
  const { holder, said, ended } = startHolder();
  await said;
  assert.match(await refusalOf(), `in use by process ${holder.pid}`);

  holder.kill('SIGKILL');
  await ended;
  const startedMs = performance.now();
  assert.is(await refusalOf(), 'locked');
  assert.ok(performance.now() - startedMs < 1_000);
});

test('the lock of a killed process is free although its parent has not asked how it ended', async () => {
  const { holder: shell, said, ended } = startHolder(['sh', '-c', '"$0" "$@" & wait']);
  await said;
  const { pid } = JSON.parse(readFileSync(path, 'utf8'));
  shell.kill('SIGSTOP');
  try {
    process.kill(pid, 'SIGKILL');
    await until('it is a zombie', () => readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z '));
    assert.is(await refusalOf(), 'locked');
  } finally {
    shell.kill('SIGKILL');
    await ended;
  }
});

test('a process that got the pid of a dead owner is not taken for the owner', async () => {
  const lock = await lockDataDirectory(root);
  const owner = JSON.parse(readFileSync(path, 'utf8'));
  lock.release();
  writeFileSync(path, JSON.stringify({ ...owner, startedAt: '1' }));
  assert.is(await refusalOf(), 'locked');
});

test('an owner elsewhere counts as alive only while it touches the file', async () => {
  const lock = await lockDataDirectory(root);
  const owner = JSON.parse(readFileSync(path, 'utf8'));
  lock.release();
  const elsewhere = JSON.stringify({ ...owner, host: 'elsewhere', namespace: 'another' });

  writeFileSync(path, elsewhere);
  const touching = setInterval(() => utimesSync(path, new Date(), new Date()), 100);
  assert.match(await refusalOf(), 'on elsewhere');
  clearInterval(touching);

  const longAgo = new Date(Date.now() - 60_000);
  utimesSync(path, longAgo, longAgo);
  assert.is(await refusalOf(), 'locked');
});

test('of many processes that find a stale lock, one gets it', async () => {
  writeFileSync(path, JSON.stringify({ pid: 1, startedAt: '', boot: 'gone', namespace: '', host: '' }));
  const longAgo = new Date(Date.now() - 60_000);
  utimesSync(path, longAgo, longAgo);
  const locks = await Promise.allSettled(Array.from({ length: 20 }, () => lockDataDirectory(root)));
  const held = locks.filter((one) => one.status === 'fulfilled');

  assert.is(held.length, 1);
  for (const one of held) one.value.release();
});

test('a lock that was deleted is written again', async () => {
  const lock = await lockDataDirectory(root, () => assert.unreachable());
  rmSync(path);
  await until('it is locked again', () => existsSync(path));
  assert.match(await refusalOf(), `in use by process ${process.pid}`);

  lock.release();
  assert.equal(readdirSync(root), []);
});

for (const [name, lose] of [
  ['another process took over', (folder: string) => writeFileSync(join(folder, 'lock'), 'another')],
  ['was deleted with its folder', (folder: string) => rmSync(folder, { recursive: true })],
] as const)
  test(`a lock that ${name} is lost`, async () => {
    const folder = join(root, 'lost');
    const lost: string[] = [];
    const lock = await lockDataDirectory(folder, (message) => lost.push(message));
    lose(folder);
    await until('its owner knows', () => lost.length > 0);
    lock.release();

    assert.match(lost[0] ?? '', 'was deleted, or locked by another process');
    rmSync(folder, { recursive: true, force: true });
  });

test.run();
