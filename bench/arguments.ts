/**
 * The options of a run of the suite, which are those of `npm run bench` without a command's name, and what
 * they mean together.
 */
import { placements } from './machine/places.ts';
import {
  ArgumentError,
  amount,
  choice,
  count,
  flag,
  names,
  parseOptions,
  type Values,
  word,
} from './options.ts';
import { type ScenarioName, scenarioNames } from './scenarios/scenario.ts';
import { storeKinds } from './servers/stores.ts';
import { parseTarget } from './servers/target.ts';

export const suiteOptions = {
  quick: flag('five shorter rounds of stats, read, page and vote, then 50 requests/s: 2.5 minutes'),
  only: word(
    'NAMES',
    `scenarios, separated by commas: ${scenarioNames.join(', ')}; site: page, listing and search`,
  ),
  stores: choice(storeKinds, 'redis', 'Redis and Postgres, or its own: '),
  peers: choice(['all', 'stats', 'none'], null, 'stats: only there (quick); all is usual: '),
  rounds: count(null, [1, 100], 'rounds per scenario (3; quick 5)'),
  seconds: amount(null, [0.2, 60], 'measured seconds per round and server (2; quick 0.5)'),
  connections: count(null, [1, 1_024], 'open connections (256; another machine 10)'),
  rate: count(null, [0, 1_000_000], 'open loop: so many requests/s; latency counts from the scheduled time'),
  bots: count(1_000, [10, 100_000], 'bots in the directory'),
  load: choice(['auto', 'autocannon', 'wrk'], 'auto', 'auto: wrk where it is installed: '),
  placement: names(placements, 'one-core for CPU, free for requests/s and latency: '),
  limit: count(
    null,
    [0, 86_400],
    'makes rounds shorter or fewer beyond so many seconds (480; quick 68); 0: never',
  ),
  profile: word('FOLDER', 'also writes a CPU profile of the server to FOLDER'),
  url: word('URL', 'load on a server that already runs, which counts these requests'),
  tokens: word('FILE', 'its {"bots": [{"id": "…", "token": "…"}], "users": […]}; "tokens FOLDER" makes one'),
  'i-own-this': flag('needed when URL is not this machine; then 10 connections and 100 requests/s are usual'),
};

/** `--only site`: what a visitor's browser requests, and `page` to compare with. */
const siteScenarios = ['page', 'listing', 'search'] as const;
const quickScenarios = ['stats', 'read', 'page', 'vote'] as const;
const targetScenarios = [...quickScenarios, 'mixed'] as const;

const parseScenarios = (text: string): readonly ScenarioName[] => {
  const wanted = text.split(',').flatMap((name) => (name.trim() === 'site' ? siteScenarios : [name.trim()]));
  for (const name of wanted) {
    if ((scenarioNames as readonly string[]).includes(name)) continue;
    throw new ArgumentError(`There is no scenario "${name}"; the scenarios are ${scenarioNames.join(', ')}.`);
  }
  return scenarioNames.filter((name) => wanted.includes(name));
};

/** Throws `ArgumentError`. */
export const planSuite = (given: Values<typeof suiteOptions>) => {
  const { quick, stores, bots, load } = given;
  // A server that already runs; `null`: the suite starts its servers.
  const target = parseTarget(given);
  const isFar = target !== null && !target.isLoopback;
  const usual = target === null ? (quick ? quickScenarios : scenarioNames) : targetScenarios;
  return {
    ...{ target, quick, stores, bots, load },
    scenarios: given.only === null ? usual : parseScenarios(given.only),
    /** The peers to compare with: in all scenarios, in `stats` alone, or none. */
    peers: given.peers ?? (quick ? 'stats' : 'all'),
    races: !quick,
    rounds: given.rounds ?? (quick ? 5 : 3),
    /** A run that would take longer has fewer rounds; 0: no limit. */
    secondsMax: given.limit ?? (quick ? 68 : 480),
    connections: given.connections ?? (isFar ? 10 : 256),
    rate: given.rate ?? (isFar ? 100 : 0),
    warmupSeconds: quick ? 0.1 : 0.15,
    measureSeconds: given.seconds ?? (quick ? 0.5 : 2),
    placements: given.placement,
    profileDir: given.profile,
  };
};
export type SuiteOptions = ReturnType<typeof planSuite>;

/** Throws `ArgumentError`. */
export const parseArguments = (args: readonly string[]): SuiteOptions =>
  planSuite(parseOptions(suiteOptions, args).values);
