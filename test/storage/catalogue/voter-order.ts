/**
 * Random changes of votes, and the list of voters according to one plain statement.
 */
import { randomUUID } from 'node:crypto';
import type { Random } from '../../../bench/shared/random.ts';
import type { EntityRef } from '../../../engine/ids.ts';
import { resetVotes } from '../../../storage/ledger/adjust.ts';
import { voidVote } from '../../../storage/ledger/void-votes.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { locks } from '../../../storage/sql/locks.ts';

/** So few that many votes share one. */
const timestamps = 40;
const dayMs = 86_400_000;
const firstMs = Date.UTC(2026, 2, 1);

/** Inserts votes as a flush does: one statement that holds the lock on votes shared. */
export const addVotes = (
  sql: Sql,
  ref: EntityRef,
  { random, votes }: { readonly random: Random; readonly votes: number },
): Promise<unknown> => {
  const rows = Array.from({ length: votes }, () => ({
    itag: randomUUID(),
    created_at: new Date(firstMs + random.below(timestamps) * dayMs),
    incarnation: ref.incarnation,
    target_type: ref.kind,
    target_id: ref.id,
    author: `voter${random.below(60)}`,
    upvote: random.below(5) > 0,
    vote_num: 0,
    immutable: random.below(8) === 0,
  }));
  return sql.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock_shared(${locks.votes})`;
    await transaction`insert into votes ${transaction(rows)}`;
  });
};

/** Adds votes, makes one void, or makes many void by a reset. */
export const changeVotes = async (sql: Sql, ref: EntityRef, random: Random): Promise<void> => {
  const kind = random.below(20);
  if (kind < 12) await addVotes(sql, ref, { random, votes: 1 + random.below(6) });
  else if (kind < 19) {
    const [vote] = await sql<{ itag: string }[]>`
      select itag from votes where incarnation = ${ref.incarnation}
      order by md5(itag::text || ${kind}) limit 1`;
    if (vote !== undefined) await voidVote(sql, vote.itag, random.below(2) ? 'operator' : 'redeemed');
  } else {
    const scope = random.below(2) ? 'all' : ref.incarnation;
    await resetVotes(sql, {
      scope,
      atMs: firstMs + random.below(timestamps / 2) * dayMs,
      reason: 'operator',
    });
  }
};

/** Reads all voters in order with one plain statement. */
export const plainVoters = async (sql: Sql, ref: EntityRef): Promise<readonly string[]> => {
  const rows = await sql<{ author: string }[]>`
    select author from (
      select distinct on (author) author, created_at, itag from vote_rows
      where incarnation = ${ref.incarnation} and target_type = ${ref.kind} and target_id = ${ref.id}
        and not void
      order by author, created_at desc, itag desc) as newest
    order by created_at desc, itag desc`;
  return rows.map((row) => row.author);
};
