/**
 * The guard of the private listener: what it knows about a call before its route is matched.
 */
import type { Exchange } from '../server/exchange.ts';

/** The part of a request that a guard sees. */
export interface GuardedCall {
  readonly exchange: Pick<Exchange, 'headers'>;
  readonly clientAddress: string;
  /** Monotonic time, ms. */
  readonly startedMs: number;
  /** The guard writes the name of the operator here. */
  operator: string;
}
