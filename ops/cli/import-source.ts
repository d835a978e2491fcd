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

export interface ImportSource {
  /** The file of lines. */
  readonly path: string;
  /** What the operator named, for messages. */
  readonly title: string;
  /** Where rejected lines go. */
  readonly rejectedPath: string;
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

/** Runs the task on the file of lines. Throws `CommandError` when the file is missing or damaged. */
export const runOnSource = async <Result>(
  argument: string,
  terminal: Terminal,
  task: (source: ImportSource) => Promise<Result>,
): Promise<Result> => {
  if (argument !== '-') assertFile(argument);
  if (argument !== '-' && !argument.endsWith('.gz'))
    return task({ path: argument, title: argument, rejectedPath: `${argument}.rejected` });
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-import-'));
  const path = join(folder, 'lines');
  const [title, name] = argument === '-' ? ['standard input', 'standard-input'] : [argument, argument];
  const rejectedPath = `${name}.rejected`;
  try {
    await unpack(argument, terminal, path);
    return await task({ path, title, rejectedPath });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};
