/**
 * What of a backlog fits into a limit.
 */
import type { Backlog } from '../../engine/ports.ts';

interface Room {
  readonly entities: number;
  readonly votes: number;
}

/** Takes what fits: an entity only with all its waiting votes, and votes only with their entity. */
export const takeFitting = (whole: Backlog, room: Room, limit: Room): Backlog => {
  const entities = whole.entities.slice(0, room.entities);
  const votes = whole.votes.slice(0, room.votes);
  if (limit.entities === 0 || limit.votes === 0) return { entities, votes };
  if (votes.length < whole.votes.length) return { entities: [], votes };
  if (entities.length === whole.entities.length) return { entities, votes };
  const taken = entities.map(({ ref }) => ref.address);
  return { entities, votes: votes.filter(({ ref }) => taken.includes(ref.address)) };
};
