/**
 * The messages between the suite and a load generator. Plain data only.
 */
import type { Placement } from '../machine/places.ts';
import type { LoadScenarioName } from '../scenarios/scenario.ts';

/** One round against one server. */
export interface Order {
  readonly scenario: LoadScenarioName;
  readonly url: string;
  /** Rounds with the same number send the same requests. */
  readonly round: number;
  /** Seconds of earlier rounds: their votes must not be sent again. */
  readonly usedSeconds: number;
  readonly connections: number;
  readonly warmupSeconds: number;
  readonly measureSeconds: number;
  /** Open loop: requests per second over all connections, whether or not answers come; 0: closed loop. */
  readonly rate: number;
  /** Where the generator runs; `null`: where the system places it. */
  readonly placement: Placement | null;
}

/** The percentiles of every round's result. */
export const percentiles = [50, 75, 90, 95, 99, 99.5, 99.9, 99.99] as const;
/** Width of one point of the throughput over time. */
export const sliceSeconds = 0.1;

export interface LoadResult {
  readonly requestsPerSecond: number;
  readonly requests: number;
  /** Answers other than 2xx by status (wrk knows only `other`); `no answer`: requests without one. */
  readonly failures: Readonly<Record<string, number>>;
  /** Received, headers included. */
  readonly bytes: number;
  /** Milliseconds at each of `percentiles`. */
  readonly latencyMs: readonly number[];
  /** Answers in each slice of the measured time; empty when the generator does not report them. */
  readonly perSlice: readonly number[];
  /** Share of the measured time in which the generator was computing, 0 to 1. */
  readonly generatorBusy: number;
}

/** From the generator: the measured time begins, ends; the round is over. */
export type Report =
  | { readonly kind: 'begun' }
  | { readonly kind: 'ended' }
  | { readonly kind: 'done'; readonly result: LoadResult }
  | { readonly kind: 'failed'; readonly message: string };

/** Called when the measured time begins and ends, so that the servers' CPU is read at the same moments. */
export interface Watch {
  begun(): void;
  ended(): void;
}
export const unwatched: Watch = { begun: () => {}, ended: () => {} };
export interface Load {
  readonly name: 'autocannon' | 'wrk';
  /** One order at a time. Rejects when the generator fails or is closed. */
  measure(order: Order, watch: Watch): Promise<LoadResult>;
  /** Idempotent. */
  close(): Promise<void>;
}
