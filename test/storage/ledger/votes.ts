/**
 * Inserts many past votes as rows in one statement, for tests that need them.
 */
import type { EntityRef } from '../../../engine/ids.ts';
import type { Sql } from '../../../storage/sql/client.ts';

/**
 * Upvotes, then downvotes, each of its own voter, one second apart, the newest a day ago. Writes
 * rows only; the caller sets the totals.
 */
export const addCountedVotes = async (
  sql: Sql,
  ref: EntityRef,
  { upvotes, downvotes }: { readonly upvotes: number; readonly downvotes: number },
): Promise<void> => {
  const all = upvotes + downvotes;
  await sql`
    insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num)
    select gen_random_uuid(), now() - interval '10 days' - make_interval(secs => ${all}::int - number),
      ${ref.incarnation}, ${ref.kind}, ${ref.id}, 'voter' || number, number <= ${upvotes}::int, 0
    from generate_series(1, ${all}::int) as number`;
};
