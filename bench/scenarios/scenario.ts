/**
 * What a scenario is: a name, and the requests that each connection sends in turn.
 *
 * Requests are made before a round starts, so that the load generator only copies bytes while it measures.
 * Deterministic in its seed. Never opens a socket. Used by the suite and, in the worker threads, by the
 * load.
 */
import { createRandom } from '../../ops/demo/random.ts';
import type { Directory } from '../servers/directory.ts';

export interface LoadRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Round {
  readonly directory: Directory;
  /** What is drawn by chance depends on it. */
  readonly round: number;
  /** Seconds of earlier rounds: what may happen only once must not repeat itself. */
  readonly usedSeconds: number;
  readonly connection: number;
  readonly connections: number;
  /** Warm-up and measurement together. */
  readonly seconds: number;
}

export interface Scenario {
  readonly name: LoadScenarioName;
  readonly summary: string;
  /** The peers that are measured beside ours and the bare server. */
  readonly peers: readonly PeerName[];
  /** A new connection for every request. */
  readonly reconnects?: boolean;
  /** The ring of requests that one connection sends. */
  requestsOf(round: Round): LoadRequest[];
}

export const scenarioNames = ['stats', 'read', 'page', 'vote', 'index', 'mixed', 'churn', 'idle'] as const;
export type ScenarioName = (typeof scenarioNames)[number];
/** Those that are requests per second; `idle` holds connections and is measured on its own. */
export type LoadScenarioName = Exclude<ScenarioName, 'idle'>;

export const peerNames = ['fastify-redis', 'fastify-sql', 'express-sql'] as const;
export type PeerName = (typeof peerNames)[number];

/** Numbers from 0 to below 1, the same for the same connection and round. */
export const chanceOf = ({ round, connection }: Round): (() => number) =>
  createRandom(round * 100_003 + connection).next;

/** A rank from 0 to below `count`, the low ones far more often: the first percent gets a third of all. */
const skewed = (chance: () => number, count: number): number => Math.floor(count * chance() ** 4);

/** One of `list`, skewed. */
export const pickSkewed = <Item>(chance: () => number, list: readonly Item[]): Item =>
  list[skewed(chance, list.length)] as Item;

/**
 * One of `list`, skewed so little that no token reaches its limit of posts: the first tenth gets a quarter of
 * all, and of a thousand tokens none more than one post in 250.
 */
export const pickPoster = <Item>(chance: () => number, list: readonly Item[]): Item => {
  const drawn = chance();
  return list[Math.floor(list.length * (0.25 * drawn + 0.75 * drawn * drawn))] as Item;
};
