/**
 * Goes through all listings of the directory by incarnation, in short steps, so that no other statement waits
 * long: the embedded SQL runs one at a time.
 */
import { runInSteps, type StepOptions } from '../../history/steps.ts';
import type { Sql } from '../../sql/client.ts';

/** A range of incarnations: above `after`, up to and including `upto`. */
export interface IncarnationRange {
  readonly after: number | string;
  readonly upto: number | string;
}

/** Runs `work` for each range. Rejects when the signal aborts. */
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
