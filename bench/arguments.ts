/**
 * Parses the arguments of `npm run bench -- …` into options, or throws a message that says what to correct.
 */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { type Placement, placements } from './machine/places.ts';
import { ArgumentError, parseName as parseChoice, parseCount, parseNumber } from './options.ts';
import { type ScenarioName, scenarioNames } from './scenarios/scenario.ts';
import { parseTarget, type Target } from './servers/target.ts';

export interface Options {
  readonly scenarios: readonly ScenarioName[];
  readonly stores: 'redis' | 'embedded';
  /** The peers to compare with: in all scenarios, in `stats` alone, or none. */
  readonly peers: 'all' | 'stats' | 'none';
  readonly quick: boolean;
  readonly races: boolean;
  readonly rounds: number;
  /** A run that would take longer has fewer rounds; 0: no limit. */
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
  /** A server that already runs; `null`: the suite starts its servers. */
  readonly target: Target | null;
}

export const usage = `Usage: npm run bench -- [options]
       npm run bench -- growth [--help]
       npm run bench -- fleet [--help]
       npm run bench -- load [--help]
       npm run bench -- turns OLD NEW [--help]
       npm run bench -- webhooks [--help]
       npm run bench -- feed [--help]
       npm run bench -- followers [--help]
       npm run bench -- prove [--help]
       npm run bench -- day [--help]
       npm run bench -- capacity [--help]
       npm run bench -- elastic [--help]
       npm run bench -- search [--help]
       npm run bench -- tokens FOLDER [--help]
       npm run bench -- compare BEFORE.json AFTER.json

Measures Rollcall next to a bare uWebSockets.js server and idiomatic peers (Fastify), in turn, on this
machine, with a Redis and a Postgres of its own. Under ten minutes. Writes report.html, report.md and
result.json.

  --quick            five shorter rounds of stats, read, page and vote, then 50 requests/s: 2.5 minutes
  --only NAMES       scenarios, separated by commas: ${scenarioNames.join(', ')};
                     site: page, listing and search
  --stores NAME      redis (default: Redis and Postgres), or embedded
  --peers WHICH      all, stats (only there; quick's default), none
  --rounds N         rounds per scenario (3; quick 5)
  --seconds S        measured seconds per round and server (2; quick 0.5)
  --connections N    open connections (256)
  --rate N           open loop: N requests/s; latency counts from the scheduled time
  --bots N           bots in the directory (1000)
  --load NAME        auto (default): wrk where it is installed, else autocannon; or one of the two
  --placement NAME   one-core (CPU), free (requests/s, latency); default both
  --limit SECONDS    makes rounds shorter or fewer when the run would take longer (480; quick 68); 0: no limit
  --json FILE        also writes the whole result to FILE
  --out FOLDER       where the report goes (bench/results/<time>; quick: no report)
  --profile FOLDER   also writes a CPU profile of the server to FOLDER
  --help             this text

Load on a server that already runs (it counts these requests):
  --url URL --tokens FILE   FILE is {"bots": [{"id": "…", "token": "…"}], "users": [ … ]};
                            "tokens FOLDER" writes one, with a directory to import
  --i-own-this              needed when URL is not this machine; default 10 connections and 100 requests/s

Ctrl-C ends the run and its servers, and reports what was measured.
`;

/** `--only site`: what a visitor's browser requests, and `page` to compare with. */
const siteScenarios = ['page', 'listing', 'search'] as const;

const parseScenarios = (
  text: string | undefined,
  otherwise: readonly ScenarioName[],
): readonly ScenarioName[] => {
  if (text === undefined) return otherwise;
  const wanted = text.split(',').flatMap((name) => (name.trim() === 'site' ? siteScenarios : [name.trim()]));
  for (const name of wanted) {
    if ((scenarioNames as readonly string[]).includes(name)) continue;
    throw new ArgumentError(`There is no scenario "${name}"; the scenarios are ${scenarioNames.join(', ')}.`);
  }
  return scenarioNames.filter((name) => wanted.includes(name));
};

export const text = { type: 'string' } as const;
export const flag = { type: 'boolean', default: false } as const;
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
  limit: text,
  url: text,
  tokens: text,
  'i-own-this': flag,
} as const;

/** Parses options and operands. Throws `ArgumentError`. */
export const parseWords = <Shape extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: Shape,
  allowPositionals = false,
) => {
  try {
    return parseArgs({ args: [...args], options, allowPositionals });
  } catch (error) {
    throw new ArgumentError((error as Error).message.split('. ')[0] ?? 'unknown option');
  }
};

const defaultFolder = (): string =>
  `bench/results/${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}`;

const quickScenarios = ['stats', 'read', 'page', 'vote'] as const;

const targetScenarios = ['stats', 'read', 'page', 'vote', 'mixed'] as const;

/** Throws `ArgumentError`. */
export const parseArguments = (args: readonly string[]): Options => {
  const given = parseWords(args, shape).values;
  const { quick } = given;
  const target = parseTarget({ ...given, url: given.url ?? null, tokens: given.tokens ?? null });
  const isFar = target !== null && !target.isLoopback;
  const usual = target === null ? (quick ? quickScenarios : scenarioNames) : targetScenarios;
  return {
    target,
    scenarios: parseScenarios(given.only, usual),
    stores: parseChoice('stores', given.stores ?? 'redis', ['redis', 'embedded']),
    peers: parseChoice('peers', given.peers ?? (quick ? 'stats' : 'all'), ['all', 'stats', 'none']),
    quick,
    races: !quick,
    rounds: parseCount('rounds', given.rounds ?? (quick ? '5' : '3'), [1, 100]),
    secondsMax: parseCount('limit', given.limit ?? (quick ? '68' : '480'), [0, 86_400]),
    connections: parseCount('connections', given.connections ?? (isFar ? '10' : '256'), [1, 1_024]),
    rate: parseCount('rate', given.rate ?? (isFar ? '100' : '0'), [0, 1_000_000]),
    warmupSeconds: quick ? 0.1 : 0.15,
    measureSeconds: parseNumber('seconds', given.seconds ?? (quick ? '0.5' : '2'), [0.2, 60]),
    bots: parseCount('bots', given.bots ?? '1000', [10, 100_000]),
    load: parseChoice('load', given.load ?? 'auto', ['auto', 'autocannon', 'wrk']),
    placements:
      given.placement === undefined ? placements : [parseChoice('placement', given.placement, placements)],
    jsonFile: given.json ?? null,
    outFolder: given.out ?? (quick ? null : defaultFolder()),
    profileDir: given.profile ?? null,
    help: given.help,
  };
};
