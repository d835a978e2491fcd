/**
 * Shows the progress of a long command: a bar on a terminal, a line every few seconds elsewhere and while the
 * total is unknown.
 *
 * Writes only to the given stream (standard error, so that standard output holds nothing but results).
 */
import { createRequire } from 'node:module';

export interface Progress {
  /** `total` is 0 while it is unknown. */
  update(done: number, total: number): void;
  stop(): void;
}

export interface ProgressStream extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
}

/** The part of cli-progress used here; the package comes without types. */
interface Bar {
  start(total: number, value: number): void;
  setTotal(total: number): void;
  update(value: number): void;
  stop(): void;
}
const { SingleBar } = createRequire(import.meta.url)('cli-progress') as {
  readonly SingleBar: new (options: object) => Bar;
};

const plainEveryMs = 2_000;

/** `title` names the task: "Importing demo.jsonl"; `unit` what it counts. */
export const createProgress = (stream: ProgressStream, title: string, unit = 'lines'): Progress =>
  stream.isTTY ? createBar(stream, title, unit) : createPlainProgress(stream, title, unit);

const createBar = (stream: ProgressStream, title: string, unit: string): Progress => {
  const format = `${title}  {bar}  {percentage} %  {value} of {total} ${unit}  {eta_formatted} left`;
  const single = new SingleBar({ format, stream, hideCursor: true, clearOnComplete: true, etaBuffer: 50 });
  const plain = createPlainProgress(stream, title, unit);
  let started = false;
  return {
    update(done, total) {
      if (total === 0) return plain.update(done, total);
      if (!started) single.start(total, done);
      started = true;
      single.setTotal(total);
      single.update(done);
    },
    stop() {
      if (started) single.stop();
    },
  };
};

const createPlainProgress = (stream: ProgressStream, title: string, unit: string): Progress => {
  let writtenMs = performance.now();
  return {
    update(done, total) {
      const nowMs = performance.now();
      if (nowMs - writtenMs < plainEveryMs) return;
      writtenMs = nowMs;
      const share = total > 0 ? ` of ${total} ${unit} (${Math.floor((100 * done) / total)} %)` : ` ${unit}`;
      stream.write(`${title}: ${done}${share}\n`);
    },
    stop() {},
  };
};
