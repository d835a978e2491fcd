/**
 * Progress of a long command: a bar where a person watches, a line now and then where a file does.
 *
 * Writes to the stream it is given (standard error, so that standard output stays clean) and nowhere else.
 */
import { createRequire } from 'node:module';

export interface Progress {
  /** `total` is 0 while it is not known. */
  update(done: number, total: number): void;
  stop(): void;
}

export interface ProgressStream extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
}

/** The part of cli-progress used here; the package comes without types. */
interface Bar {
  start(total: number, value: number): void;
  update(value: number): void;
  stop(): void;
}
interface BarOptions {
  readonly format: string;
  readonly stream: NodeJS.WritableStream;
  readonly hideCursor: boolean;
  readonly clearOnComplete: boolean;
  readonly etaBuffer: number;
}
const { SingleBar } = createRequire(import.meta.url)('cli-progress') as {
  readonly SingleBar: new (options: BarOptions) => Bar;
};

const plainEveryMs = 2_000;

/** `words` name what is going on: "Importing demo.jsonl". */
export const createProgress = (stream: ProgressStream, words: string): Progress =>
  stream.isTTY ? createBar(stream, words) : createPlainProgress(stream, words);

const createBar = (stream: ProgressStream, words: string): Progress => {
  const format = `${words}  {bar}  {percentage} %  {value} of {total} lines  {eta_formatted} left`;
  const single = new SingleBar({ format, stream, hideCursor: true, clearOnComplete: true, etaBuffer: 50 });
  let started = false;
  return {
    update(done, total) {
      if (started) single.update(done);
      else single.start(Math.max(total, done), done);
      started = true;
    },
    stop() {
      if (started) single.stop();
    },
  };
};

const createPlainProgress = (stream: ProgressStream, words: string): Progress => {
  let toldMs = performance.now();
  return {
    update(done, total) {
      const nowMs = performance.now();
      if (nowMs - toldMs < plainEveryMs) return;
      toldMs = nowMs;
      const share = total > 0 ? ` of ${total} lines (${Math.floor((100 * done) / total)} %)` : ' lines';
      stream.write(`${words}: ${done}${share}\n`);
    },
    stop() {},
  };
};
