/**
 * Options of commands: each is one row that says what it takes, what it means and what counts without it.
 * The words of a command line and its help follow from the rows.
 */
import { parseArgs } from 'node:util';

/** Words that were not understood; the message says what to correct. */
export class ArgumentError extends Error {}

export interface Option<Value> {
  /** What stands behind the name in the help; '' for a flag. */
  readonly word: string;
  readonly help: string;
  /** What counts without it, for the help; '' where the help says it. */
  readonly shown: string;
  readonly usual: Value;
  /** Throws `ArgumentError`. */
  parse(name: string, text: string): Value;
}
export type Options = Readonly<Record<string, Option<unknown>>>;
export type Values<Rows> = {
  readonly [Name in keyof Rows]: Rows[Name] extends Option<infer Value> ? Value : never;
};
type Bounds = readonly [min: number, max: number];

const parseNumber = (name: string, text: string, [min, max]: Bounds): number => {
  const value = Number(text);
  if (text.trim() !== '' && value >= min && value <= max) return value;
  throw new ArgumentError(`--${name} is "${text}" but must be a number from ${min} to ${max}.`);
};

/** Throws `ArgumentError`. */
export const parseCount = (name: string, text: string, bounds: Bounds): number => {
  const value = parseNumber(name, text, bounds);
  if (Number.isInteger(value)) return value;
  throw new ArgumentError(`--${name} must be a whole number.`);
};

const parseName = <Name extends string>(name: string, text: string, all: readonly Name[]): Name => {
  const found = all.find((one) => one === text);
  if (found !== undefined) return found;
  throw new ArgumentError(`--${name} is "${text}" but must be one of ${all.join(', ')}.`);
};

/** Names separated by commas, in the order of `all`. */
const parseNames = <Name extends string>(name: string, given: string, all: readonly Name[]): Name[] => {
  const wanted = given.split(',').map((word) => word.trim());
  const unknown = wanted.find((word) => !(all as readonly string[]).includes(word));
  if (unknown === undefined) return all.filter((one) => wanted.includes(one));
  throw new ArgumentError(`--${name} has "${unknown}" but takes ${all.join(', ')}.`);
};

const show = (usual: unknown): string => (usual === null ? '' : String(usual));

const createNumber =
  (parse: typeof parseNumber) =>
  <Usual extends number | null>(usual: Usual, bounds: Bounds, help: string): Option<Usual | number> => ({
    ...{ word: 'N', help, shown: show(usual), usual },
    parse: (name, text) => parse(name, text, bounds),
  });

/** A whole number. */
export const count = createNumber(parseCount);
/** Any number. */
export const amount = createNumber(parseNumber);

/** Whole numbers separated by commas. */
export const counts = (
  usual: readonly number[],
  bounds: Bounds,
  help: string,
): Option<readonly number[]> => ({
  ...{ word: 'LIST', help, shown: usual.join(), usual },
  parse: (name, text) => text.split(',').map((word) => parseCount(name, word, bounds)),
});

/** One of some names. */
export const choice = <Name extends string, Usual extends Name | null>(
  all: readonly Name[],
  usual: Usual,
  help: string,
): Option<Name | Usual> => ({
  word: 'NAME',
  help: `${help}${all.join(', ')}`,
  shown: show(usual),
  usual,
  parse: (name, text) => parseName(name, text, all),
});

/** Some of these names; all if absent. */
export const names = <Name extends string>(
  all: readonly Name[],
  help: string,
  usual = all,
): Option<readonly Name[]> => ({
  word: 'NAMES',
  help: `${help}${all.join(', ')}`,
  shown: usual === all ? 'all' : usual.join(),
  usual,
  parse: (name, text) => parseNames(name, text, all),
});

/** Any text; `null` if absent. */
export const word = (name: string, help: string): Option<string | null> => ({
  word: name,
  help,
  shown: '',
  usual: null,
  parse: (_, text) => text,
});

export const flag = (help: string): Option<boolean> => ({
  word: '',
  help,
  shown: '',
  usual: false,
  parse: () => true,
});

/** Throws `ArgumentError`. */
export const parseOptions = <Rows extends Options>(
  rows: Rows,
  args: readonly string[],
  hasOperands = false,
) => {
  const shape = Object.fromEntries(
    Object.entries(rows).map(([name, row]) => [
      name,
      { type: row.word === '' ? 'boolean' : 'string' } as const,
    ]),
  );
  const parse = () => parseArgs({ args: [...args], options: shape, allowPositionals: hasOperands });
  let given: ReturnType<typeof parse>;
  try {
    given = parse();
  } catch (error) {
    throw new ArgumentError((error as Error).message.split('. ')[0] ?? 'unknown option');
  }
  const values = Object.entries(rows).map(([name, row]) => {
    const text = given.values[name];
    return [name, text === undefined ? row.usual : row.parse(name, String(text))];
  });
  return { values: Object.fromEntries(values) as Values<Rows>, operands: given.positionals };
};

const helpColumn = 22;
const lineMax = 110;

/** A line for each option, its help broken where it is too long. */
export const describeOptions = (rows: Options): string =>
  Object.entries(rows)
    .map(([name, { word: value, help, shown }]) => {
      const lines = [`  --${name} ${value}`.trimEnd().padEnd(helpColumn)];
      for (const part of `${help}${shown === '' ? '' : ` (${shown})`}`.split(' ')) {
        const last = lines.at(-1) as string;
        if (last.length + part.length < lineMax) lines[lines.length - 1] = `${last} ${part}`;
        else lines.push(`${' '.repeat(helpColumn)} ${part}`);
      }
      return lines.join('\n');
    })
    .join('\n');
