/**
 * Reads both stores of a data folder that no node has open, and compares them with each other and the log.
 *
 * Opens and closes the stores itself; changes nothing in them.
 */

import type { VoteRows } from '../../../bench/prove/judge.ts';
import { emptyTotals, type Totals } from '../../../engine/entity/state.ts';
import type { EntityRef } from '../../../engine/ids.ts';
import type { HotStore } from '../../../engine/ports.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import type { Stores } from '../../../storage/open.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { openAtRest, type Target } from '../../support/directory.ts';
import { keyOf } from './load.ts';

export interface AtRest {
  readonly rows: readonly VoteRows[];
  /** What the two stores say differently, in words. */
  readonly differences: readonly string[];
  /** Rows that SQL would not take. */
  readonly deadLetters: number;
}

/** Accepted requests to vote, void ones too, one entry for all rows of a request. */
const readVoteRows = async (sql: Sql): Promise<readonly VoteRows[]> => {
  const rows = await sql<
    { target: string; user: string; at_ms: number; upvote: boolean; numbers: number[] }[]
  >`
    select target_type || '/' || target_id as target, author as user, upvote,
      (extract(epoch from created_at) * 1000)::bigint as at_ms,
      array_agg(vote_num::int order by vote_num) as numbers
    from votes group by target_type, target_id, author, upvote, created_at`;
  return rows.map(({ at_ms, ...row }) => ({ ...row, atMs: at_ms }));
};

interface Counted {
  readonly upvotes: number;
  readonly downvotes: number;
}

const countRows = async (sql: Sql, ref: EntityRef): Promise<Counted> => {
  const [row] = await sql<Counted[]>`
    select count(*) filter (where upvote) as upvotes, count(*) filter (where not upvote) as downvotes
    from votes where incarnation = ${ref.incarnation} and not void`;
  return row ?? { upvotes: 0, downvotes: 0 };
};

/** The vote log of a listing has every row, numbered from 1 without holes. */
const compareLog = async (sql: Sql, ref: EntityRef): Promise<string[]> => {
  const [row] = await sql<{ head: number; rows: number; numbers: number; newest: number }[]>`
    select max(votes_logged) as head, count(itag) as rows, count(distinct log_number) as numbers,
      coalesce(max(log_number), 0) as newest
    from totals left join votes using (incarnation) where incarnation = ${ref.incarnation}`;
  const { head = 0, rows = 0, numbers = 0, newest = 0 } = row ?? {};
  if (rows === head && numbers === head && newest === head) return [];
  const details = `${rows} rows, ${numbers} numbers up to ${newest}, ${head} logged`;
  return [`${ref.kind}/${ref.id}: the vote log has ${details}`];
};

const compareOne = async (
  stores: Pick<Stores, 'sql'>,
  store: HotStore,
  target: Target,
): Promise<string[]> => {
  const name = keyOf(target);
  const [reply] = await store.load([target]);
  const [row] = await createLedger(stores.sql).find([target]);
  if (reply?.outcome !== 'found')
    return row === null || reply?.outcome === 'absent' ? [] : [`${name}: only in SQL`];
  if (row === null || row === undefined) return [`${name}: only in the hot store`];
  const found: string[] = [];
  for (const field of Object.keys(emptyTotals) as (keyof Totals)[]) {
    const [hot, sql] = [reply.state[field], row.totals[field]];
    if (hot !== sql) found.push(`${name}: ${field} is ${hot} in the hot store, ${sql} in SQL`);
  }
  const counted = await countRows(stores.sql, reply.ref);
  for (const field of ['upvotes', 'downvotes'] as const) {
    if (counted[field] !== reply.state[field])
      found.push(`${name}: ${reply.state[field]} ${field} hot, ${counted[field]} rows in SQL`);
  }
  return [...found, ...(await compareLog(stores.sql, reply.ref))];
};

/** Compares open stores at rest. */
export const inspect = async (
  stores: Pick<Stores, 'sql'>,
  hot: HotStore,
  targets: readonly Target[],
): Promise<AtRest> => {
  const backlog = await hot.countBacklog();
  const differences =
    backlog.entities + backlog.votes === 0
      ? []
      : [`not flushed: ${backlog.entities} entities, ${backlog.votes} votes`];
  for (const target of targets) differences.push(...(await compareOne(stores, hot, target)));
  const deadLetters = await stores.sql`select from dead_letters`;
  const known = new Set(targets.map(keyOf));
  const rows = (await readVoteRows(stores.sql)).filter(({ target }) => known.has(target));
  return { rows, differences, deadLetters: deadLetters.length };
};

/** Opens the folder of a node that was stopped cleanly, and compares its stores. */
export const readAtRest = async (dataDir: string, targets: readonly Target[]): Promise<AtRest> => {
  const stores = await openAtRest(dataDir);
  try {
    return await inspect(stores, stores.hot, targets);
  } finally {
    await stores.close();
  }
};
