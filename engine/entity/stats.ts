/**
 * Merges a stats post into an entity's totals.
 *
 * Pure. Absent fields keep their value; 0 is a value. All fields of one post become visible together. Uptime
 * must be folded before a post is merged, because the fold uses the status and the last post that were valid
 * until then.
 *
 * In Lua, too: slot-layout.ts (`mergePost`) (ARCHITECTURE.md, *Rules in two languages*).
 */
import { compile, type PostedFields, postedNames } from './fields.ts';
import type { Totals } from './state.ts';

const mergePosted = postedNames.map((name) => `${name}: post.${name} ?? state.${name}`).join();
const merge = compile<(state: Totals, post: PostedFields, lastStatsPostMs: number) => Totals>(
  `(state, post, lastStatsPostMs) => ({ ...state, ${mergePosted}, lastStatsPostMs })`,
);

/** Returns the totals after a post at `postedMs`. The time of the last post never goes back. */
export const mergeStats = <State extends Totals>(state: State, post: PostedFields, postedMs: number): State =>
  merge(state, post, Math.max(state.lastStatsPostMs, postedMs)) as State;

/** Whether the post says more than the status: then it has the last word on all totals. */
export const hasTotals = (post: PostedFields): boolean =>
  postedNames.some((name) => name !== 'status' && post[name] !== undefined);
