/**
 * What `import` unpacks: a compressed file that grows out of all proportion is refused, and leaves nothing.
 */
import { createWriteStream, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CommandError, type Terminal } from '../../../ops/cli/command.ts';
import { runOnSource } from '../../../ops/cli/import-source.ts';
import { onSmallDisk } from '../../faults/harness/small-disk.ts';
import { makeFolder } from '../../support/folder.ts';

const test = suite('sources of an import');
const folder = makeFolder('rollcall-source-');
const mebibyte = 1024 * 1024;
const terminal = { signal: new AbortController().signal } as Terminal;

const sizeOf = (file: string): Promise<number> =>
  runOnSource({ path: file }, terminal, async ({ path }) => statSync(path).size);

/** Zeros shrink to about a thousandth. */
const writeZeros = async (name: string, mebibytes: number): Promise<string> => {
  const file = join(folder, name);
  const zeros = Readable.from(Array.from({ length: mebibytes }, () => Buffer.alloc(mebibyte)));
  await pipeline(zeros, createGzip(), createWriteStream(file));
  return file;
};

/** Resolves to why it failed. */
const unpackInto = async (temporary: string, file: string): Promise<unknown> => {
  const before = process.env.TMPDIR;
  process.env.TMPDIR = temporary;
  const error = await sizeOf(file).catch((reason: unknown) => reason);
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  return error;
};

test('a file that unpacks to a thousand times its length is refused at a bound', async () => {
  assert.is(await sizeOf(await writeZeros('fits.gz', 64)), 64 * mebibyte);

  const hostile = await writeZeros('hostile.gz', 80);
  const error = await unpackInto(folder, hostile);

  assert.instance(error, CommandError);
  assert.match((error as Error).message, /hostile\.gz cannot be unpacked: it grows to more than 100 times/);
  assert.not(
    readdirSync(folder).some((name) => name.startsWith('rollcall-import-')),
    'left behind',
  );
});

const fullName = 'a full disk is not taken for a damaged file';
test(fullName, async () => {
  const file = await writeZeros('whole.gz', 4);
  const code = await onSmallDisk(fullName, mebibyte, async (disk) => {
    const error = await unpackInto(disk, file);
    return (error as NodeJS.ErrnoException).code;
  });

  assert.ok(code === null || code === 'ENOSPC', String(code));
});

test.run();
