/**
 * Folds uptime checks into the totals.
 *
 * There is a virtual check at every multiple of `checkMs` since the epoch; nothing runs at those times. A
 * fold adds all checks since the last fold at once: a check counts while the bot is listed, and passes if the
 * last stats post is fresh and the status is not `offline`. Checks during a downtime of the whole fleet do
 * not count. Pure, never goes backwards, and takes as long for a month as for a minute. For bots only.
 * storage/catalogue/boards/uptime.ts has the same rule in SQL.
 *
 * In Lua, too: 2-rules.lua (ARCHITECTURE.md, *Rules in two languages*).
 */

import type { UptimeRules } from './items.ts';
import type { Facts, Totals } from './state.ts';

/** Counts the multiples of `checkMs` in (fromMs, toMs]. */
const countChecks = (fromMs: number, toMs: number, checkMs: number): number =>
  toMs <= fromMs ? 0 : Math.floor(toMs / checkMs) - Math.floor(fromMs / checkMs);

/** Counts the checks in (fromMs, toMs] outside downtimes, which are disjoint and sorted, oldest first. */
const countChecksOutsideDowntime = (fromMs: number, toMs: number, rules: UptimeRules): number => {
  let count = countChecks(fromMs, toMs, rules.checkMs);
  for (let index = rules.downtimes.length - 1; index >= 0 && count > 0; index--) {
    const downtime = rules.downtimes[index];
    if (downtime === undefined || downtime.toMs <= fromMs) break;
    // [from, to) in whole milliseconds is (from − 1, to − 1].
    const downFromMs = Math.max(fromMs, downtime.fromMs - 1);
    count -= countChecks(downFromMs, Math.min(toMs, downtime.toMs - 1), rules.checkMs);
  }
  return count;
};

/**
 * Returns the state with all checks up to `nowMs` added; the same object if there are none. Must run before
 * any change of facts, status or last post, because the checks use the values that were valid until then.
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
  // Listed since an unknown time and never checked: counting starts now, not in 1970.
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
