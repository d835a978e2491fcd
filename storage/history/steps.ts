/**
 * Runs long work on all listings in short steps, so that other statements never wait long for one of them.
 *
 * A step takes a number of listings that follows from how long the steps before took: the embedded SQL has
 * one thread, and a listing costs it more than a server.
 */

import type { Sql } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';

/** Where a step begins, and how many listings it takes. */
export interface StepRange {
  /** The position of the step before; larger numbers are decimal strings. */
  readonly after: number | string;
  readonly limit: number;
}

export interface StepResult {
  /** The position after which the next step continues. */
  readonly position: StepRange['after'];
  readonly isLast: boolean;
  /** How many rows it wrote or changed. */
  readonly rows?: number;
}

export interface StepOptions {
  readonly monotonicMs: () => number;
  /** Aborted when the work should end early. */
  readonly signal: AbortSignal;
}

/** How long a step should take; one that takes longer is followed by a smaller one. */
const stepMs = 25;
const listings = { min: 100, first: 1_000, max: 20_000 };

/**
 * Calls `step` until it has done the last one. Resolves to the rows of all steps. Throws the signal's reason
 * when it is aborted.
 */
export const runInSteps = async (
  { monotonicMs, signal }: StepOptions,
  from: StepRange['after'],
  step: (range: StepRange) => Promise<StepResult>,
): Promise<number> => {
  let after = from;
  let limit = listings.first;
  let rows = 0;
  for (;;) {
    signal.throwIfAborted();
    const startedMs = monotonicMs();
    const result = await asStorage('listings.step', () => step({ after, limit }));
    rows += result.rows ?? 0;
    if (result.isLast) return rows;
    after = result.position;
    const factor = stepMs / Math.max(1, monotonicMs() - startedMs);
    limit = Math.round(Math.min(listings.max, Math.max(listings.min, limit * Math.min(2, factor))));
  }
};

/** A range of incarnations: above `after`, up to and including `upto`. */
export interface IncarnationRange {
  readonly after: number | string;
  readonly upto: number | string;
}

/** Runs `work` for each range of all listings. Rejects when the signal aborts. */
export const runInRanges = (
  sql: Sql,
  options: StepOptions,
  work: (range: IncarnationRange) => Promise<unknown>,
) =>
  runInSteps(options, 0, async ({ after, limit }) => {
    const [row] = await sql<{ upto: number | null; listings: number }[]>`
      select max(incarnation) as upto, count(*) as listings from (
        select incarnation from totals where incarnation > ${after}::bigint
        order by incarnation limit ${limit}) as next`;
    const { upto = null, listings = 0 } = row ?? {};
    if (upto !== null) await work({ after, upto });
    return { position: upto ?? after, isLast: listings < limit };
  });
