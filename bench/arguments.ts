/**
 * The words of `npm run bench -- …` as options, or as a complaint that a person can act on.
 */
import { parseArgs } from 'node:util';
import { type Placement, placements } from './measure/places.ts';
import { type ScenarioName, scenarioNames } from './scenarios/scenario.ts';

export interface Options {
  readonly scenarios: readonly ScenarioName[];
  readonly stores: 'redis' | 'embedded';
  /** With which peers to compare: in all scenarios, in `stats` alone, or not at all. */
  readonly peers: 'all' | 'stats' | 'none';
  readonly quick: boolean;
  readonly races: boolean;
  readonly rounds: number;
  /** Rounds are left out when a run would take longer; 0: no limit. */
  readonly secondsMax: number;
  readonly connections: number;
  readonly rate: number;
  readonly warmupSeconds: number;
  readonly measureSeconds: number;
  readonly bots: number;
  readonly load: 'auto' | 'autocannon' | 'wrk';
  /** `one-core` for CPU, `free` for requests/s. */
  readonly placements: readonly Placement[];
  readonly jsonFile: string | null;
  readonly outFolder: string | null;
  readonly profileDir: string | null;
  readonly help: boolean;
}

export class ArgumentError extends Error {}

export const usage = `Usage: npm run bench -- [options]

Measures Rollcall against a bare uWebSockets.js server, alternating, on this machine.

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
const oneOf = <Word extends string>(name: string, text: string, words: readonly Word[]): Word => {
  const found = words.find((word) => word === text);
  if (found !== undefined) return found;
  throw new ArgumentError(`--${name} is "${text}" but must be one of ${words.join(', ')}.`);
};

const scenariosOf = (
  text: string | undefined,
  otherwise: readonly ScenarioName[],
): readonly ScenarioName[] => {
  if (text === undefined) return otherwise;
  const wanted = text.split(',').map((word) => word.trim());
  for (const word of wanted) {
    if ((scenarioNames as readonly string[]).includes(word)) continue;
    throw new ArgumentError(`There is no scenario "${word}"; there are ${scenarioNames.join(', ')}.`);
  }
  return scenarioNames.filter((name) => wanted.includes(name));
};

const text = { type: 'string' } as const;
const flag = { type: 'boolean', default: false } as const;
const shape = {
  quick: flag,
  help: flag,
  only: text,
  stores: text,
  peers: text,
  rounds: text,
  seconds: text,
  connections: text,
  rate: text,
  bots: text,
  load: text,
  placement: text,
  json: text,
  out: text,
  profile: text,
} as const;

const valuesOf = (words: readonly string[]) => {
  try {
    return parseArgs({ args: [...words], options: shape }).values;
  } catch (error) {
    throw new ArgumentError((error as Error).message.split('. ')[0] ?? 'unknown option');
  }
};

const defaultFolder = (): string =>
  `bench/results/${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}`;

const quickScenarios = ['stats', 'read', 'page', 'vote'] as const;

/** Throws `ArgumentError`. */
export const parseArguments = (words: readonly string[]): Options => {
  const given = valuesOf(words);
  const { quick } = given;
  return {
    scenarios: scenariosOf(given.only, quick ? quickScenarios : scenarioNames),
    stores: oneOf('stores', given.stores ?? 'redis', ['redis', 'embedded']),
    peers: oneOf('peers', given.peers ?? (quick ? 'stats' : 'all'), ['all', 'stats', 'none']),
    quick,
    races: !quick,
    rounds: countOf('rounds', given.rounds ?? (quick ? '5' : '3'), [1, 100]),
    secondsMax: quick ? 72 : 165,
    connections: countOf('connections', given.connections ?? '256', [1, 1_024]),
    rate: countOf('rate', given.rate ?? '0', [0, 1_000_000]),
    warmupSeconds: quick ? 0.15 : 0.3,
    measureSeconds: numberOf('seconds', given.seconds ?? (quick ? '0.6' : '0.8'), [0.2, 60]),
    bots: countOf('bots', given.bots ?? '1000', [10, 100_000]),
    load: oneOf('load', given.load ?? (quick ? 'autocannon' : 'auto'), ['auto', 'autocannon', 'wrk']),
    placements:
      given.placement === undefined ? placements : [oneOf('placement', given.placement, placements)],
    jsonFile: given.json ?? null,
    outFolder: given.out ?? (quick ? null : defaultFolder()),
    profileDir: given.profile ?? null,
    help: given.help,
  };
};
