/**
 * Folding uptime checks into the totals.
 *
 * Checks happen, in thought, at every multiple of `checkMs` since the epoch; nothing runs at those times. A
 * fold adds all checks since the last one at once: a check counts while the bot is listed, and passes when
 * the last stats post is fresh and the status is not `offline`. Checks inside an outage of the whole fleet
 * are not counted. Pure, never backwards, and as quick for a month as for a minute. Only meaningful for bots.
 */

import type { Facts, Totals } from './state.ts';
import type { UptimeRules } from './windows.ts';

/** Multiples of `checkMs` in (fromMs, toMs]. */
const countChecks = (fromMs: number, toMs: number, checkMs: number): number =>
  toMs <= fromMs ? 0 : Math.floor(toMs / checkMs) - Math.floor(fromMs / checkMs);

/**
 * Checks in (fromMs, toMs] outside outages. Outages are disjoint and sorted, so the walk stops at the first
 * too old.
 */
const countChecksOutsideDowntime = (fromMs: number, toMs: number, rules: UptimeRules): number => {
  let count = countChecks(fromMs, toMs, rules.checkMs);
  for (let index = rules.downtimes.length - 1; index >= 0 && count > 0; index--) {
    const outage = rules.downtimes[index];
    if (outage === undefined || outage.toMs <= fromMs) break;
    // [from, to) in whole milliseconds is (from − 1, to − 1].
    const lostFromMs = Math.max(fromMs, outage.fromMs - 1);
    count -= countChecks(lostFromMs, Math.min(toMs, outage.toMs - 1), rules.checkMs);
  }
  return count;
};

/**
 * The state with all checks up to `nowMs` folded in; the same object when there is none. Must run before any
 * change of facts, status or last post, so that the past is judged by what held then.
 */
export const foldUptime = <State extends Totals & { readonly facts: Facts }>(
  state: State,
  nowMs: number,
  rules: UptimeRules,
): State => {
  const lastCheckMs = Math.floor(nowMs / rules.checkMs) * rules.checkMs;
  if (!state.facts.listed || lastCheckMs <= state.uptimeCheckedMs) return state;
  const sinceMs = Math.max(state.uptimeCheckedMs, state.facts.listedSinceMs);
  if (lastCheckMs <= sinceMs) return state;
  // Listed since an unknown time and never checked: counting starts here rather than in 1970.
  if (sinceMs === 0) return { ...state, uptimeCheckedMs: lastCheckMs };
  const freshUntilMs = state.lastStatsPostMs + rules.freshMs;
  const passing = state.lastStatsPostMs > 0 && state.status !== 'offline';
  return {
    ...state,
    totalUptime: state.totalUptime + countChecksOutsideDowntime(sinceMs, lastCheckMs, rules),
    uptime:
      state.uptime +
      (passing ? countChecksOutsideDowntime(sinceMs, Math.min(lastCheckMs, freshUntilMs), rules) : 0),
    uptimeCheckedMs: lastCheckMs,
  };
};
