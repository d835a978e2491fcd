/**
 * What the commands of `npm run bench` have in common: `--help`, `--json FILE`, the line of progress, and
 * Ctrl-C, which aborts `stop` at first and ends at once the second time.
 */
import { writeFileSync } from 'node:fs';
import type { ParseArgsConfig } from 'node:util';
import { flag, parseWords } from '../arguments.ts';
import { createLive, type Live } from '../report/live.ts';

export const interruptedCode = 130;

/** Aborts on the first signal, ends at once on the second. */
export const stopOnSignals = (): AbortSignal => {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(interruptedCode);
      stop.abort();
    });
  }
  return stop.signal;
};

export interface CommandContext {
  readonly live: Live;
  readonly stop: AbortSignal;
  /** Resolves to `null` when `stop` aborts. */
  readonly stopped: Promise<null>;
  /** Writes to the file of `--json`, if one is given. */
  writeJson(figures: unknown): void;
}

type OptionShape = NonNullable<ParseArgsConfig['options']>;
/** What an option's table gives: a text or `undefined`, of a flag a boolean. */
export type OptionValues<Shape extends OptionShape> = ReturnType<typeof parseWords<Shape>>['values'];

const toPlain = (_: string, value: unknown): unknown => (value instanceof Set ? [...value] : value);

/**
 * Returns the function that runs a command with its arguments. `parse` throws `ArgumentError`; `run` prints
 * what was measured and resolves to the exit code.
 */
export const defineCommand =
  <Shape extends OptionShape, Given>(command: {
    readonly usage: string;
    readonly options: Shape;
    readonly parse: (given: OptionValues<Shape>, operands: readonly string[]) => Given;
    readonly hasOperands?: boolean;
    readonly run: (given: Given, context: CommandContext) => Promise<number>;
  }) =>
  async (args: readonly string[]): Promise<number> => {
    const shape = { ...command.options, help: flag };
    const { values, positionals } = parseWords(args, shape, command.hasOperands);
    const { json, help } = values as { readonly json?: string; readonly help: boolean };
    if (help) {
      console.log(command.usage);
      return 0;
    }
    const given = command.parse(values as OptionValues<Shape>, positionals);
    const [live, stop] = [createLive(process.stderr), stopOnSignals()];
    const stopped = new Promise<null>((resolve) => stop.addEventListener('abort', () => resolve(null)));
    const writeJson = (figures: unknown): void => {
      if (json !== undefined) writeFileSync(json, `${JSON.stringify(figures, toPlain, 2)}\n`);
    };
    return command.run(given, { live, stop, stopped, writeJson }).finally(() => live.clear());
  };
