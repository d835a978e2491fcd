/**
 * Counts page views, unique views and invite clicks.
 *
 * Pure. A visitor counts once per entity for the life of the hot store, which keeps the set of visitors; this
 * file has only the rule. At `visitorsMax` unique views stop growing while clicks go on, so the set is
 * bounded. If a counter is at its maximum, the functions return `null` and nothing changes.
 *
 * In Lua, too: 3-items.lua (ARCHITECTURE.md, *Rules in two languages*).
 */
import { limits } from '../limits.ts';
import type { Totals } from './state.ts';

/** Whether a new visitor may be recorded and counted. */
export const canCountVisitor = (state: Totals, visitorsMax: number): boolean =>
  state.uniqueClicks < visitorsMax && state.uniqueClicks <= state.clicks;

/** Counts a page view, and a unique view if `unique`. */
export const countClick = <State extends Totals>(state: State, unique: boolean): State | null =>
  state.clicks >= limits.counterMax
    ? null
    : { ...state, clicks: state.clicks + 1, uniqueClicks: state.uniqueClicks + (unique ? 1 : 0) };

/** Counts an invite click. */
export const countInvite = <State extends Totals>(state: State): State | null =>
  state.inviteClicks >= limits.counterMax ? null : { ...state, inviteClicks: state.inviteClicks + 1 };
