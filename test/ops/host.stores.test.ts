/**
 * A host that gives too little: the start names the cause, and calls nothing lost that is not.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nodeFlags } from '../../ops/setup/launch.mjs';
import { findMemoryNotes } from '../../ops/watch/memory.ts';
import { makeDataFolder, tokenOf } from '../support/directory.ts';
import { openFaultyDisk } from '../support/faulty-disk.ts';
import { makeFolder } from '../support/folder.ts';
import { reportSkipped } from '../support/needing-suite.ts';
import { mainProgram, spawnNode, startNode } from '../support/node-process.ts';
import { makeBareFolder } from '../support/sql-template.ts';

const test = suite('limits of the host');
const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = makeFolder('rollcall-limits-');
const program = `'${join(root, 'ops/bin/rollcall')}' start`;
const stripped = join(root, 'ops/setup/stripped.mjs');
const withoutCheck = `'${process.execPath}' ${nodeFlags.join(' ')} --import '${stripped}' '${mainProgram}'`;
const gibibytes = (count: number): number => count * 1_048_576;

for (const [title, command, expected, isTouched] of [
  [
    'address space',
    `ulimit -v ${gibibytes(16)}; exec ${program}`,
    /^The address space is limited to 16\.0 GiB/,
    false,
  ],
  ['less', `ulimit -v ${gibibytes(4)}; exec ${program}`, /^The address space is limited to 4\.0 GiB/, false],
  ['descriptors', `ulimit -n 256; exec ${program}`, /need a limit of 400 open files/, true],
  [
    'temporary folder',
    `TMPDIR=/missing exec ${program}`,
    /^The temporary folder \/missing cannot be used/,
    true,
  ],
  [
    'working directory',
    `cd "$(mktemp -d)"; rmdir "$PWD"; exec ${program}`,
    /^The working directory is gone/m,
    false,
  ],
  [
    'address space with servers',
    `ulimit -v ${gibibytes(4)}; export REDIS_URL=redis://x DATABASE_URL=postgres://x/y; exec ${program}`,
    /^The address space is limited to 4\.0 GiB/,
    false,
  ],
  ['memory', `ulimit -v ${gibibytes(12)}; exec ${withoutCheck}`, /It got no memory\. Nothing is lost/, true],
] as const) {
  test(`${title}: the cause is named, and nothing called lost`, async () => {
    const dataDir = join(folder, title);
    const node = spawnNode({ dataDir, through: ['sh', '-c', command] });

    assert.is((await node.exited).code, 1);
    assert.match(node.output(), expected);
    assert.not.match(node.output(), /Lost/);
    assert.is(existsSync(dataDir), isTouched);
  });
}

test('a quota that is used up is named', async () => {
  const disk = openFaultyDisk();
  if (disk === null) return reportSkipped('a used quota', 'no compiler (gcc) to build a disk with');
  const dataDir = join(folder, 'quota');
  await makeBareFolder(dataDir);
  disk.plant(dataDir, { writeError: 'EDQUOT' });
  const node = spawnNode({ dataDir, settings: disk.environment });

  assert.is((await node.exited).code, 1);
  assert.match(node.output(), /the quota of this user or project is used up for /);
  assert.not.match(node.output(), /Lost|disk full/);
});

test('a disk that becomes read-only is named at the end and at a start, and nothing is lost', async () => {
  const disk = mountDisk(join(folder, 'disk'));
  if (disk === null) return reportSkipped('a read-only disk', 'no right to mount a file system of a file');
  try {
    const dataDir = join(disk.path, 'data');
    const { bots } = await makeDataFolder(dataDir, { users: 1, bots: 1, servers: 0, teams: 0, packs: 0 });
    const [bot = ''] = bots;
    const node = await startNode({ dataDir });
    const post = (url: string) =>
      fetch(`${url}/bots/stats`, {
        method: 'POST',
        headers: { 'Bot-Auth': tokenOf('bot', bot), 'Content-Type': 'application/json' },
        body: '{"servers":7}',
      });
    assert.is((await post(node.url)).status, 200);
    disk.fail();
    // It ends by itself, at the latest when it has to write.
    await post(node.url).catch(() => undefined);
    assert.is((await node.exited).code, 1);
    assert.match(node.output(), /Ending, .*The disk of .* is read-only .*Nothing is lost/);

    const next = spawnNode({ dataDir });
    assert.is((await next.exited).code, 1);
    assert.match(next.output(), /The disk of .* is read-only \(EROFS/);
    disk.repair();
    const whole = await startNode({ dataDir });
    const shown = (await (await fetch(`${whole.url}/bots/${bot}`)).json()) as { servers: number };
    assert.is(shown.servers, 7);
    await whole.stop();
    disk.mountReadOnly();
    const last = spawnNode({ dataDir });
    assert.is((await last.exited).code, 1);
    assert.match(last.output(), /cannot be used: that disk is read-only \(EROFS\)/);
  } finally {
    disk.remove();
  }
});

/** An ext4 file system in a file, which an error makes read-only; `null` where it cannot be mounted. */
const mountDisk = (path: string) => {
  const image = `${path}.img`;
  const run = (command: string, ...args: string[]) => execFileSync(command, args, { stdio: 'pipe' });
  const mount = (options: string) => run('mount', '-o', `loop,errors=remount-ro,${options}`, image, path);
  try {
    mkdirSync(path);
    run('truncate', '--size=300M', image);
    run('mkfs.ext4', '-q', image);
    mount('rw');
    readFileSync(`/sys/fs/ext4/${findDevice(path)}/first_error_time`);
  } catch {
    return null;
  }
  const remount = (options: string) => {
    run('umount', path);
    return mount(options);
  };
  return {
    path,
    // Only what is on the disk is there after it; the test's own copies were not synced.
    fail: () => {
      run('sync', '-f', path);
      writeFileSync(`/sys/fs/ext4/${findDevice(path)}/trigger_fs_error`, 'by a test');
    },
    repair: () => remount('rw'),
    mountReadOnly: () => remount('ro'),
    remove: () => run('umount', '-l', path),
  };
};

const findDevice = (path: string): string =>
  new RegExp(`^/dev/(\\S+) ${path} `, 'm').exec(readFileSync('/proc/mounts', 'utf8'))?.[1] ?? 'none';

test('umask 0777 is not in the way', async () => {
  const through = ['sh', '-c', `umask 0777; exec ${program}`];
  const node = spawnNode({ dataDir: join(folder, 'umask'), through });
  await node.ready;

  assert.is((await node.stop()).code, 0);
});

test('a memory limit below what a node needs is noted', () => {
  assert.match(findMemoryNotes(200 * 2 ** 20)[0] ?? '', 'limited to 200 MiB here, and a node needs 256 MiB');
  for (const enough of [0, 256 * 2 ** 20, 2 ** 64]) assert.equal(findMemoryNotes(enough), []);
});

test.run();
