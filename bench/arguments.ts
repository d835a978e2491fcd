/**
 * The words of `npm run bench -- …` as options, or as a complaint that a person can act on.
 */
import { parseArgs } from 'node:util';
import { type ScenarioName, scenarioNames } from './scenarios/scenario.ts';

export interface Options {
  readonly scenarios: readonly ScenarioName[];
  readonly rounds: number;
  readonly connections: number;
  readonly warmupSeconds: number;
  readonly measureSeconds: number;
  readonly bots: number;
  readonly load: 'autocannon' | 'wrk';
  readonly jsonFile: string | null;
  readonly profileDir: string | null;
  readonly help: boolean;
}

export class ArgumentError extends Error {}

export const usage = `Usage: npm run bench -- [options]

Measures Rollcall on embedded stores against a bare uWebSockets.js server, alternating, on this machine.

  --quick            fewer and shorter rounds: about a minute
  --only NAMES       scenarios, separated by commas: ${scenarioNames.join(', ')}
  --rounds N         rounds per scenario (5; quick 3)
  --seconds S        measured seconds per round and server (2; quick 1)
  --connections N    open connections (256)
  --bots N           bots in the directory (1000)
  --load NAME        autocannon (default), or wrk where it is installed
  --json FILE        also writes the whole result as JSON
  --profile FOLDER   also leaves a CPU profile of the server there
  --help             this text

Ctrl-C ends the run, its servers too, and reports what there is.
`;

const numberOf = (name: string, text: string, bounds: readonly [number, number]): number => {
  const value = Number(text);
  const [min, max] = bounds;
  if (text.trim() !== '' && value >= min && value <= max) return value;
  throw new ArgumentError(`--${name} is "${text}" but must be a number from ${min} to ${max}.`);
};
const countOf = (name: string, text: string, bounds: readonly [number, number]): number => {
  const value = numberOf(name, text, bounds);
  if (Number.isInteger(value)) return value;
  throw new ArgumentError(`--${name} must be a whole number.`);
};

const scenariosOf = (text: string | undefined): readonly ScenarioName[] => {
  if (text === undefined) return scenarioNames;
  const wanted = text.split(',').map((word) => word.trim());
  for (const word of wanted) {
    if ((scenarioNames as readonly string[]).includes(word)) continue;
    throw new ArgumentError(`There is no scenario "${word}"; there are ${scenarioNames.join(', ')}.`);
  }
  return scenarioNames.filter((name) => wanted.includes(name));
};

const loadOf = (text: string): Options['load'] => {
  if (text === 'autocannon' || text === 'wrk') return text;
  throw new ArgumentError(`--load is "${text}" but must be autocannon or wrk.`);
};

const text = { type: 'string' } as const;
const flag = { type: 'boolean', default: false } as const;
const shape = {
  quick: flag,
  help: flag,
  only: text,
  rounds: text,
  seconds: text,
  connections: text,
  bots: text,
  load: text,
  json: text,
  profile: text,
} as const;

const valuesOf = (words: readonly string[]) => {
  try {
    return parseArgs({ args: [...words], options: shape }).values;
  } catch (error) {
    throw new ArgumentError((error as Error).message.split('. ')[0] ?? 'unknown option');
  }
};

/** Throws `ArgumentError`. */
export const parseArguments = (words: readonly string[]): Options => {
  const given = valuesOf(words);
  return {
    scenarios: scenariosOf(given.only),
    rounds: countOf('rounds', given.rounds ?? (given.quick ? '3' : '5'), [1, 100]),
    connections: countOf('connections', given.connections ?? '256', [1, 1_024]),
    warmupSeconds: given.quick ? 0.3 : 0.8,
    measureSeconds: numberOf('seconds', given.seconds ?? (given.quick ? '1' : '2'), [0.2, 60]),
    bots: countOf('bots', given.bots ?? '1000', [10, 100_000]),
    load: loadOf(given.load ?? 'autocannon'),
    jsonFile: given.json ?? null,
    profileDir: given.profile ?? null,
    help: given.help,
  };
};
