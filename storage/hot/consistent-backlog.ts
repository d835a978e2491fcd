/**
 * Which part of a shard's backlog may go to SQL together, when there is no room for all of it.
 *
 * Rows of votes and the totals that count them must not part: a store that is emptied afterwards gets both
 * from SQL. Pure. Called by both hot stores.
 */
import type { Backlog } from '../../engine/ports.ts';

/** What was read of one shard in one moment, and whether more was there. */
export interface PeekedBacklog extends Backlog {
  readonly moreEntities: boolean;
  readonly moreVotes: boolean;
}

/** `limit`: how many the caller asked for of all shards, none of a kind that he does not want. */
export const keepConsistent = (
  { entities, votes, moreEntities, moreVotes }: PeekedBacklog,
  limit: { readonly entities: number; readonly votes: number },
): Backlog => {
  if (limit.entities === 0 || limit.votes === 0) return { entities, votes };
  if (moreVotes) return { entities: [], votes };
  if (!moreEntities) return { entities, votes };
  const taken = new Set(entities.map(({ ref }) => ref.address));
  return { entities, votes: votes.filter(({ ref }) => taken.has(ref.address)) };
};
