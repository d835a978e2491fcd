/**
 * Runs a command in this process, on streams that remember what it wrote.
 */
import { PassThrough } from 'node:stream';
import { CommandError } from '../../../ops/cli/command.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}
interface Streams {
  readonly input: PassThrough;
  readonly out: PassThrough;
  readonly err: PassThrough;
  readonly signal: AbortSignal;
}

/**
 * `answer` is what the operator types; `null` runs the command without a terminal. The message of a failure
 * goes to `err`, as on the command line.
 */
export const runOnStreams = async (
  command: (streams: Streams) => Promise<number>,
  answer: string | null = null,
): Promise<Ran> => {
  const open = () => Object.assign(new PassThrough(), { isTTY: answer !== null });
  const streams = { input: open(), out: open(), err: open(), signal: new AbortController().signal };
  const texts = { out: '', err: '' };
  for (const name of ['out', 'err'] as const) streams[name].on('data', (chunk) => (texts[name] += chunk));
  streams.input.end(answer ?? '');
  const code = await command(streams).catch((error: Error) => {
    texts.err += error.message;
    return error instanceof CommandError ? error.exitCode : 1;
  });
  return { code, ...texts };
};
