/**
 * Makes what `import` names a file of lines: standard input and compressed files are unpacked first.
 *
 * An import reads its file twice (for the digest that lets it continue, then for the lines), so both need a
 * file of their own for a while, readable by its owner alone.
 */
import { createReadStream, createWriteStream, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { CommandError, type Terminal } from './command.ts';
import { type MappedSource, readMappedFile } from './import-mapped.ts';

export interface ImportSource {
  /** The file of lines. */
  readonly path: string;
  /** What the operator named, for messages. */
  readonly title: string;
  /** Where rejected lines go. */
  readonly rejectedPath: string;
  /** What is known of a file that a mapping has made lines of. */
  readonly mapped: MappedSource | null;
}

const assertFile = (path: string): void => {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new CommandError(`There is no file ${path}. Check the path.`);
  if (!stats.isFile()) throw new CommandError(`${path} is not a file.`);
};

/** Lines of JSON never shrink to a hundredth, so a file that grows more is damaged or hostile. */
const growthMax = 100;
const unpackedBytesAlways = 64 * 1024 * 1024;

/** Passes on at most so many bytes, and throws at the next one. */
const limitBytes = (max: number) =>
  async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > max)
        throw new Error(
          `it grows to more than ${growthMax} times its length. If it is right, unpack it and pipe it in`,
        );
      yield chunk;
    }
  };

const unpack = async (argument: string, terminal: Terminal, path: string): Promise<void> => {
  const target = createWriteStream(path, { mode: 0o600 });
  const { signal } = terminal;
  if (argument === '-') {
    if (terminal.input === undefined) throw new CommandError('There is no standard input.');
    await pipeline(terminal.input, target, { signal });
    return;
  }
  const max = Math.max(unpackedBytesAlways, growthMax * statSync(argument).size);
  const steps = [createReadStream(argument), createGunzip(), limitBytes(max), target] as const;
  await pipeline(...steps, { signal }).catch((error: Error) => {
    if (signal.aborted || (error as NodeJS.ErrnoException).code === 'ENOSPC') throw error;
    throw new CommandError(`${argument} cannot be unpacked: ${error.message}.`);
  });
};

/**
 * Runs the task on the file of lines, which a mapping makes if there is one (`''` for none). Throws
 * `CommandError` when a file is missing or damaged.
 */
export const runOnSource = async <Result>(
  { path: argument, map = '' }: { readonly path: string; readonly map?: string },
  terminal: Terminal,
  task: (source: ImportSource) => Promise<Result>,
): Promise<Result> => {
  if (argument !== '-') assertFile(argument);
  const [title, name] = argument === '-' ? ['standard input', 'standard-input'] : [argument, argument];
  const rejectedPath = `${name}.rejected`;
  const isPacked = argument === '-' || argument.endsWith('.gz');
  if (!isPacked && map === '') return task({ path: argument, title, rejectedPath, mapped: null });
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-import-'));
  const [unpacked, lines] = [join(folder, 'unpacked'), join(folder, 'lines')];
  const path = isPacked ? unpacked : argument;
  const { signal } = terminal;
  try {
    if (isPacked) await unpack(argument, terminal, unpacked);
    if (map === '') return await task({ path, title, rejectedPath, mapped: null });
    const mapped = await readMappedFile({ path, title }, map, { target: lines, signal });
    return await task({ path: lines, title, rejectedPath, mapped });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};
