/**
 * Values of replies: times and votes as the wire shows them. Pure.
 */
import type { HotState } from '../../engine/entity/state.ts';

export const toTimestamp = (date: Date): string => date.toISOString();
export const toTimestampOrNull = (date: Date | null): string | null => date?.toISOString() ?? null;

/** JSON text of a time in ms; 0 means never and gives `null`. */
export const renderTimestamp = (atMs: number): string =>
  atMs === 0 ? 'null' : `"${new Date(atMs).toISOString()}"`;

/** Upvotes minus downvotes. */
export const computeVotes = (state: HotState): number => state.upvotes - state.downvotes;
