/**
 * The rule of engine/entity/uptime.ts in SQL: the checks since those that the totals contain are added, so a
 * bot that is silent has the same uptime on its board as on its page.
 *
 * Costs the same for a month of silence and any number of downtimes.
 */
import type { UptimeRules } from '../../../engine/entity/items.ts';
import { limits } from '../../../engine/limits.ts';
import type { Fragment, Queryable } from '../../sql/client.ts';

/** Downtimes are read from SQL, as nodes do when they start. */
export type CheckRules = Pick<UptimeRules, 'checkMs' | 'freshMs'>;

/** Later than every time of a check: the end of the list of downtimes. */
const neverMs = 9_000_000_000_000_000;

/**
 * Builds a table of one row, `down`: the downtimes as arrays in ascending order, and how many checks are in
 * all downtimes before each.
 */
export const buildDowntimes = (sql: Queryable, { checkMs }: CheckRules): Fragment => sql`(
  select array_agg(from_ms order by from_ms) as begins, array_agg(to_ms order by from_ms) as ends,
    array_agg(checks_before order by from_ms) as checks_before
  from (
    select from_ms, to_ms, coalesce(sum(to_ms / ${checkMs}::bigint - from_ms / ${checkMs}::bigint) over (
      order by from_ms rows between unbounded preceding and 1 preceding), 0)::bigint as checks_before
    from (
      (select (extract(epoch from from_at) * 1000)::bigint - 1 as from_ms,
          (extract(epoch from to_at) * 1000)::bigint - 1 as to_ms
        from outages order by from_at desc limit ${limits.downtimesMax})
      union all select ${neverMs}::bigint, ${neverMs}::bigint) as listed) as summed)`;

/** Builds the number of checks from 1970 to `timeMs` outside downtimes. */
const buildChecks = (sql: Queryable, { checkMs }: CheckRules, timeMs: Fragment): Fragment => {
  const next: Fragment = sql`[width_bucket(${timeMs}, down.ends) + 1]`;
  return sql`(${timeMs} / ${checkMs}::bigint - down.checks_before${next}
    - greatest(0, ${timeMs} / ${checkMs}::bigint - down.begins${next} / ${checkMs}::bigint))`;
};

/**
 * Builds a lateral table `checks` with `total` and `passed`: all checks up to `atMs`. Needs `totals`, `down`,
 * and `listed` with the column `listed_since`. `offset 0` keeps Postgres from computing the inner table again
 * wherever it is used.
 */
export const buildUptime = (sql: Queryable, rules: CheckRules, atMs: number): Fragment => {
  const lastMs = Math.floor(atMs / rules.checkMs) * rules.checkMs;
  const freshUntil: Fragment = sql`least(${lastMs}::bigint, last_stats_post_ms + ${rules.freshMs}::bigint)`;
  const added = (untilMs: Fragment): Fragment => sql`case when since_ms between 1 and ${lastMs - 1}
    then greatest(0, ${buildChecks(sql, rules, untilMs)} - before) else 0 end`;
  return sql`(
    select total_uptime + ${added(sql`${lastMs}::bigint`)} as total,
      uptime + case when last_stats_post_ms > 0 and status <> 'offline' then ${added(freshUntil)} else 0 end
        as passed
    from (
      select since_ms, ${buildChecks(sql, rules, sql`since_ms`)} as before
      from (
        select greatest(totals.uptime_checked_ms,
          round(date_part('epoch', listed.listed_since) * 1000)::bigint) as since_ms offset 0) as since
      offset 0) as known)`;
};
