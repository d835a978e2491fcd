/**
 * What a scenario is: a name, and the requests that each connection sends in turn.
 *
 * Requests are built before a round starts, so that the load generator only copies bytes while it measures.
 * Deterministic in its seed. Opens no socket.
 */
import { createRandom } from '../shared/random.ts';
import type { Directory } from './directory.ts';

export interface LoadRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Round {
  readonly directory: Directory;
  /** Seeds all random choices. */
  readonly round: number;
  /** Seconds of earlier rounds: what may happen only once must not be repeated. */
  readonly usedSeconds: number;
  readonly connection: number;
  readonly connections: number;
  /** Warm-up and measurement together. */
  readonly seconds: number;
  /** Every bot gets as many requests as every other; default: few get most. */
  readonly isUniform?: boolean;
}

export interface Scenario {
  readonly summary: string;
  /** The peers to measure besides Rollcall and the bare server. */
  readonly peers?: readonly PeerName[];
  /** A new connection for every request. */
  readonly reconnects?: boolean;
  /** The requests that one connection sends in a cycle. */
  requestsOf(round: Round): LoadRequest[];
}

export const scenarioNames = [
  'stats',
  'parts',
  'read',
  'page',
  'vote',
  'index',
  'badges',
  'listing',
  'search',
  'mixed',
  'churn',
  'idle',
] as const;
export type ScenarioName = (typeof scenarioNames)[number];
/**
 * The scenarios that measure requests per second; `idle` keeps connections open and is measured separately.
 */
export type LoadScenarioName = Exclude<ScenarioName, 'idle'>;

export const peerNames = ['fastify-redis', 'fastify-sql'] as const;
export type PeerName = (typeof peerNames)[number];

/** Creates numbers from 0 to below 1, the same for the same connection and round. */
export const createChances = ({ round, connection }: Round): (() => number) =>
  createRandom(round * 100_003 + connection).next;

/** An address of a visitor behind a proxy. */
export const createAddress = (chance: () => number): string =>
  `10.${[0, 0, 0].map(() => Math.floor(chance() * 256)).join('.')}`;

type Skew = Pick<Round, 'isUniform'>;

/** Picks one of `list`, the first ones far more often: the first percent gets a third of all. */
export const pickSkewed = <Item>(chance: () => number, list: readonly Item[], { isUniform }: Skew): Item =>
  list[Math.floor(list.length * chance() ** (isUniform ? 1 : 4))] as Item;

/**
 * Picks one of `list`, skewed so little that no token reaches its limit of posts: the first tenth gets a
 * quarter of all, and of a thousand tokens none more than one post in 250.
 */
export const pickPoster = <Item>(chance: () => number, list: readonly Item[], { isUniform }: Skew): Item => {
  const drawn = chance();
  const skewed = 0.25 * drawn + 0.75 * drawn * drawn;
  return list[Math.floor(list.length * (isUniform ? drawn : skewed))] as Item;
};
