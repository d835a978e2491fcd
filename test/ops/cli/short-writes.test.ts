/**
 * A file whose last part does not fit is no complete one: neither an export, nor an unpacked copy.
 *
 * A process whose files may have 2 KiB at most stands for a full disk: its write of more is done in part, and
 * only the next one fails.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packFolder } from '../../../storage/embedded/copy.ts';
import { makeFolder } from '../../support/folder.ts';

const test = suite('writes that are cut off');
const folder = makeFolder('rollcall-short-writes-');
const root = new URL('../../../', import.meta.url).href;

/** Runs the script; resolves to what it prints. The unit of `ulimit -f` is 512 bytes. */
const runLimited = (script: string): string => {
  const node = [process.execPath, ...process.execArgv, '--input-type=module', '-e', script];
  const { stdout, stderr } = spawnSync('/bin/sh', ['-c', 'ulimit -f 4; exec "$@"', 'sh', ...node], {
    encoding: 'utf8',
  });
  assert.is(stderr, '');
  return stdout;
};

test('an export that does not fit is refused and leaves no file', () => {
  const path = join(folder, 'all.jsonl');
  const script = `
    import { runExport } from '${root}ops/cli/export.ts';
    const exporter = {
      count: async () => 1,
      write: async (_, sink) => (await sink('x'.repeat(5_000)), 1),
    };
    const stream = { write: () => true };
    const terminal = { out: stream, err: stream, signal: new AbortController().signal };
    const args = { exporter, path: ${JSON.stringify(path)}, json: false };
    await runExport(null, terminal, args).then(
      (code) => console.log('exit code', code),
      (error) => console.log(error.code),
    );`;
  assert.is(runLimited(script), 'EFBIG\n');
  assert.equal([existsSync(path), existsSync(`${path}.unfinished`)], [false, false]);
});

test('a copy that does not fit is refused', () => {
  const source = join(folder, 'source');
  mkdirSync(source);
  writeFileSync(join(source, 'table'), 'x'.repeat(5_000));
  const pack = join(folder, 'pack');
  const args = [pack, packFolder(source, pack), join(folder, 'copy')].map((arg) => JSON.stringify(arg));
  const script = `
    import { unpack } from '${root}storage/embedded/copy.ts';
    await unpack(${args.join(', ')}).then(
      () => console.log('unpacked'),
      (error) => console.log(error.code),
    );`;
  assert.is(runLimited(script), 'EFBIG\n');
});

test.run();
