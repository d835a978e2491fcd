/**
 * Plans which servers are measured in which scenario, where, how often and for how long. Pure.
 *
 * A run has a time limit. When time is short, rounds get shorter, and only when that is not enough are rounds
 * left out. No vote may be sent twice, so every round knows which votes those before it may have used. Called
 * by the suite.
 */
import type { SuiteOptions as Options } from './arguments.ts';
import type { Placement } from './machine/places.ts';
import { findScenario } from './scenarios/all.ts';
import { type LoadScenarioName, type PeerName, peerNames } from './scenarios/scenario.ts';
import { votesPerConnectionAndSecond } from './scenarios/vote.ts';
import { type ServerName, serverNames } from './servers/contestants.ts';

/** Also when the time limit is over; the full run has many scenarios. */
const roundsMin = { quick: 3, full: 1 };
/** Warm-up rounds run until so many requests were answered, and at most this many for a slow server. */
export const warmUp = {
  turnsMax: { rollcall: 8, bare: 1, peer: 2 },
  requests: 40_000,
  seconds: 0.6,
  /** The share of a scenario's time that warm-up may take; on a slow machine it would take all. */
  shareMax: 0.55,
} as const;
/** The shortest round, however little time there is, seconds. */
const measureSecondsMin = { quick: 0.2, full: 2 };

export const selectLoadScenarios = ({ scenarios }: Pick<Options, 'scenarios'>): readonly LoadScenarioName[] =>
  scenarios.filter((name) => name !== 'idle');

/** A quick run compares with peers in `stats` alone. */
const peersFor = ({ peers }: Pick<Options, 'peers'>, name: LoadScenarioName): readonly PeerName[] => {
  if (peers === 'none' || (peers === 'stats' && name !== 'stats')) return [];
  return findScenario(name).peers ?? [];
};

/** The peers that the chosen scenarios need. */
export const selectPeers = (options: Pick<Options, 'peers' | 'scenarios'>): readonly PeerName[] => {
  const wanted = new Set(selectLoadScenarios(options).flatMap((name) => peersFor(options, name)));
  return peerNames.filter((name) => wanted.has(name));
};

/** A full run on Redis measures what is written on the embedded stores, too. */
export const measuresEmbedded = (
  { quick, stores, peers }: Pick<Options, 'quick' | 'stores' | 'peers'>,
  name: LoadScenarioName,
): boolean => !quick && stores === 'redis' && peers !== 'none' && (name === 'stats' || name === 'vote');

/** One server at one place. */
export interface Turn {
  readonly server: ServerName;
  /** `null`: this machine does not allow us to place processes. */
  readonly placement: Placement | null;
}

/**
 * A quick run measures requests/s in `stats` alone, for the servers compared there, and no CPU of SQL peers.
 */
const isWorthwhile = (name: LoadScenarioName, { server, placement }: Turn): boolean => {
  if (placement === 'one-core') return server !== 'fastify-sql';
  return name === 'stats' && (server === 'rollcall' || server === 'fastify-sql');
};

/** All turns of one round. The order rotates, so that no server always runs on a warm machine. */
export const planTurns = (
  options: Pick<Options, 'quick' | 'peers' | 'stores'>,
  placements: readonly (Placement | null)[],
  { name, round }: { readonly name: LoadScenarioName; readonly round: number },
): readonly Turn[] => {
  const peers = peersFor(options, name);
  const order = serverNames.filter((one) => {
    if (one === 'rollcall-embedded') return measuresEmbedded(options, name);
    return one === 'bare' || one === 'rollcall' || peers.includes(one as PeerName);
  });
  const turns = placements.flatMap((placement) => order.map((server) => ({ server, placement })));
  const worthwhile =
    options.quick && placements.length > 1 ? turns.filter((turn) => isWorthwhile(name, turn)) : turns;
  return round % 2 === 0 ? worthwhile : [...worthwhile].reverse();
};

type Times = Pick<Options, 'rounds' | 'warmupSeconds' | 'measureSeconds'>;

const warmUpSecondsMax = ({ warmupSeconds }: Times): number =>
  warmUp.turnsMax.rollcall * (warmUp.seconds + warmupSeconds);
const secondsMax = (times: Times): number =>
  warmUpSecondsMax(times) + times.rounds * 2 * (times.warmupSeconds + times.measureSeconds);

/**
 * The votes a run may use: each user votes once for each bot, no round repeats another's, and `mixed` begins
 * after those of `vote`, whether or not `vote` runs.
 */
export const usersPerConnection = (options: Times & Pick<Options, 'scenarios' | 'bots'>): number => {
  const { scenarios } = options;
  const voting = scenarios.includes('mixed') ? 2 : Number(scenarios.includes('vote'));
  return 1 + Math.ceil((voting * secondsMax(options) * votesPerConnectionAndSecond) / options.bots);
};

/**
 * The users that a load on a server that already runs needs: as `usersPerConnection`, without warm-up rounds.
 */
export const countTargetUsers = (
  options: Times & Pick<Options, 'scenarios' | 'bots' | 'connections'>,
): number => {
  const { scenarios, connections, rounds, warmupSeconds, measureSeconds, bots } = options;
  const voting = scenarios.includes('mixed') ? 2 : Number(scenarios.includes('vote'));
  const votes = voting * rounds * (warmupSeconds + measureSeconds) * votesPerConnectionAndSecond;
  return voting === 0 ? 0 : connections * (1 + Math.ceil(votes / bots));
};

const usedBefore = (times: Times, name: LoadScenarioName): number =>
  name === 'mixed' ? secondsMax(times) : 0;

/** Seconds of the rounds before this one: the same for all servers, so that they get the same requests. */
export const sumUsedSeconds = (
  times: Times,
  { name, round, placement }: { name: LoadScenarioName; round: number; placement: Placement | null },
): number => {
  const index = 2 * (round - 1) + (placement === 'free' ? 1 : 0);
  const each = times.warmupSeconds + times.measureSeconds;
  return usedBefore(times, name) + warmUpSecondsMax(times) + index * each;
};
export const sumWarmUpSeconds = (times: Times, name: LoadScenarioName, turn: number): number =>
  usedBefore(times, name) + turn * (warmUp.seconds + times.warmupSeconds);

export interface Left {
  readonly round: number;
  /** In each round. */
  readonly turns: number;
  /** For this scenario. */
  readonly seconds: number;
  /** The time of a turn beside its warm-up and the measured time. */
  readonly betweenSeconds: number;
}

/** The measured time of each turn of the next round; 0: the round is left out. */
export const planSeconds = (
  options: Pick<Options, 'quick' | 'rounds' | 'secondsMax' | 'warmupSeconds' | 'measureSeconds'>,
  left: Left,
): number => {
  const { measureSeconds, warmupSeconds } = options;
  if (options.secondsMax === 0) return measureSeconds;
  if (left.seconds <= 0 && left.round > roundsMin[options.quick ? 'quick' : 'full']) return 0;
  const turns = (options.rounds - left.round + 1) * left.turns;
  const least = Math.min(measureSeconds, measureSecondsMin[options.quick ? 'quick' : 'full']);
  const affordable = left.seconds / turns - warmupSeconds - left.betweenSeconds;
  return Math.min(measureSeconds, Math.max(least, affordable));
};
