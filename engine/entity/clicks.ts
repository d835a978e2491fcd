/**
 * Counting page views, unique views and invite clicks.
 *
 * Pure. A visitor counts once for the life of the hot store; the set of visitors is the store's, here is only
 * the rule. Above `visitorsMax` unique views stand still while clicks go on, so the set stays bounded. A
 * counter at its maximum refuses: `null` is returned and nothing changes. Called by `apply.ts`.
 */
import { limits } from '../limits.ts';
import type { Totals } from './state.ts';

/** Whether a visitor not seen before is remembered and counted. */
export const canCountVisitor = (state: Totals, visitorsMax: number): boolean =>
  state.uniqueClicks < visitorsMax && state.uniqueClicks <= state.clicks;

/** One page view; `unique` says that the visitor is counted with it. */
export const countClick = <State extends Totals>(state: State, unique: boolean): State | null =>
  state.clicks >= limits.counterMax
    ? null
    : { ...state, clicks: state.clicks + 1, uniqueClicks: state.uniqueClicks + (unique ? 1 : 0) };

export const countInvite = <State extends Totals>(state: State): State | null =>
  state.inviteClicks >= limits.counterMax ? null : { ...state, inviteClicks: state.inviteClicks + 1 };
