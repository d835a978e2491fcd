/**
 * Chooses the part of a shard's backlog that may go to SQL together, when the limit does not admit all of it.
 *
 * Totals must never reach SQL without the rows of all votes they count: a hot store that is emptied later
 * reads both from SQL. Pure.
 */
import type { Backlog } from '../../engine/ports.ts';

/**
 * Drops those entries of one shard's read that must wait for a later read. `more…`: the shard has more of
 * that kind than was read. `limit` is the caller's limit over all shards; 0 excludes a kind.
 */
export const keepConsistent = (
  { entities, votes, moreEntities, moreVotes }: Backlog & { moreEntities: boolean; moreVotes: boolean },
  limit: { readonly entities: number; readonly votes: number },
): Backlog => {
  if (limit.entities === 0 || limit.votes === 0) return { entities, votes };
  if (moreVotes) return { entities: [], votes };
  if (!moreEntities) return { entities, votes };
  const addresses = new Set(entities.map(({ ref }) => ref.address));
  return { entities, votes: votes.filter(({ ref }) => addresses.has(ref.address)) };
};
