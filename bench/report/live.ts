/**
 * Shows the progress: a bar below the lines on a terminal, plain lines elsewhere. Writes to standard error,
 * so that standard output has only the report.
 *
 * The first `step` shows the bar; before, and in commands without one, a single line is overwritten. Call
 * `clear` at the end, because the bar redraws itself until then.
 */
import { createRequire } from 'node:module';

export interface Live {
  /** Replaces the current status text. */
  show(text: string): void;
  /** Prints a permanent line. */
  print(text: string): void;
  /** Sets the progress of the whole run. */
  step(done: number, total: number): void;
  clear(): void;
}

/** The part of cli-progress used here; the package has no types. */
interface Bar {
  update(value: number): void;
  update(payload: { readonly text: string }): void;
}
interface Bars {
  create(total: number, value: number, payload: { readonly text: string }): Bar;
  log(text: string): void;
  update(): void;
  stop(): void;
}
const { MultiBar, Presets } = createRequire(import.meta.url)('cli-progress') as {
  readonly MultiBar: new (options: Readonly<Record<string, unknown>>, preset: unknown) => Bars;
  readonly Presets: { readonly shades_classic: unknown };
};

export const createLive = (stream: NodeJS.WriteStream): Live =>
  stream.isTTY === true ? createTerminal(stream) : createPlain(stream);

const createPlain = (stream: NodeJS.WriteStream): Live => ({
  show: () => {},
  print: (text) => void stream.write(`${text}\n`),
  step: () => {},
  clear: () => {},
});

interface Terminal {
  readonly stream: NodeJS.WriteStream;
  text: string;
  shown: { readonly bars: Bars; readonly bar: Bar } | null;
}

const createTerminal = (stream: NodeJS.WriteStream): Live => {
  const state: Terminal = { stream, text: '', shown: null };
  const clear = (): void => {
    state.shown?.bars.stop();
    state.shown = null;
    clearLine(stream);
  };
  // The bar hides the cursor, so every end of the process must show it again.
  process.once('exit', () => state.shown?.bars.stop());
  return {
    show: (text) => show(state, text),
    print: (text) => keep(state, text),
    step: (done, total) => step(state, done, total),
    clear,
  };
};

const clearLine = (stream: NodeJS.WriteStream): void => void stream.write('\r\u001b[2K');

const show = (state: Terminal, text: string): void => {
  state.text = text;
  if (state.shown !== null) {
    redraw(state);
    return;
  }
  clearLine(state.stream);
  state.stream.write(text.slice(0, Math.max(20, state.stream.columns - 1)));
};

const redraw = ({ shown, text }: Terminal): void => {
  shown?.bar.update({ text });
  shown?.bars.update();
};

const keep = ({ stream, shown }: Terminal, text: string): void => {
  if (shown === null) {
    clearLine(stream);
    stream.write(`${text}\n`);
    return;
  }
  shown.bars.log(`${text}\n`);
  shown.bars.update();
};

const step = (state: Terminal, done: number, total: number): void => {
  if (state.shown === null) {
    clearLine(state.stream);
    const bars = new MultiBar(optionsFor(state.stream), Presets.shades_classic);
    state.shown = { bars, bar: bars.create(total, done, { text: state.text }) };
  }
  state.shown.bar.update(done);
  redraw(state);
};

/** The suite handles Ctrl-C, and `clear` shows the cursor again. */
const optionsFor = (stream: NodeJS.WriteStream): Readonly<Record<string, unknown>> => ({
  stream,
  format: '{bar} {percentage} %  {text}',
  barsize: 24,
  hideCursor: true,
  clearOnComplete: true,
  gracefulExit: false,
  linewrap: false,
});
