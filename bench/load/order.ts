/**
 * What the suite and a load worker say to each other. Plain data only.
 */
import type { ScenarioName } from '../scenarios/scenario.ts';

/** One round against one server. */
export interface Order {
  readonly scenario: ScenarioName;
  readonly url: string;
  readonly round: number;
  readonly connections: number;
  readonly warmupSeconds: number;
  readonly measureSeconds: number;
}

export interface LoadResult {
  readonly requestsPerSecond: number;
  readonly requests: number;
  /** Answers of the whole round, by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Connections that failed and requests without an answer. */
  readonly errors: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Share of the measured time in which the generator was computing, 0 to 1. */
  readonly generatorBusy: number;
}

/** From the worker: the measured time begins, ends; the round is over. */
export type Report =
  | { readonly kind: 'begun' }
  | { readonly kind: 'ended' }
  | { readonly kind: 'done'; readonly result: LoadResult }
  | { readonly kind: 'failed'; readonly words: string };
