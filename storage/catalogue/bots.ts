/**
 * Bots in SQL: one bot's profile, the bots of a team and the random pick.
 *
 * Profiles carry no counters: those come from the engine. Lists carry totals as last flushed. Listed means
 * `approved` or `certified`. One statement per function; callers are catalogue.ts and its caches.
 */
import type { Queryable } from '../sql/client.ts';
import type { Cacheable } from './cache.ts';
import { type IndexBotRow, indexBots, premiumUntil } from './index-rows.ts';
import { type PersonRow, personColumn } from './people.ts';

export interface LinkRow {
  readonly name: string;
  readonly value: string;
}
export interface BotProfile extends Cacheable {
  readonly approval_note: string;
  readonly captcha_opt_out: boolean;
  readonly cert_reason: string;
  readonly claimed_by: string;
  readonly client_id: string;
  readonly created_at: Date;
  readonly extra_links: readonly LinkRow[];
  readonly invite: string;
  readonly itag: string;
  readonly last_claimed: Date | null;
  readonly last_lookup: Date | null;
  readonly library: string;
  readonly long: string;
  readonly nsfw: boolean;
  readonly owner_id: string | null;
  readonly owner: PersonRow | null;
  readonly person: PersonRow | null;
  readonly prefix: string;
  readonly premium_period_hours: number;
  readonly premium_until: Date | null;
  readonly short: string;
  readonly start_premium_period: Date | null;
  readonly tags: readonly string[];
  readonly team_id: string | null;
  readonly type: string;
  readonly updated_at: Date;
  readonly vanity_ref: string;
  readonly vote_banned: boolean;
}

/** By id, else by vanity code. */
export const findBot = async (sql: Queryable, word: string): Promise<BotProfile | null> => {
  const rows = await sql<BotProfile[]>`
    select bots.bot_id as id, vanity.code as vanity,
      4096 + 2 * length(bots.long) + octet_length(bots.extra_links::text) as "weightBytes",
      bots.approval_note, bots.captcha_opt_out, bots.cert_reason, bots.claimed_by, bots.client_id,
      bots.created_at, bots.extra_links, bots.invite, bots.itag, bots.last_claimed, bots.last_lookup,
      bots.library, bots.long, bots.nsfw, bots.owner_id, bots.prefix, bots.premium_period_hours, bots.short,
      bots.start_premium_period, bots.tags, bots.team_id, bots.type, bots.updated_at, bots.vanity_ref,
      bots.vote_banned, ${premiumUntil(sql, 'bots')} as premium_until,
      ${personColumn(sql, 'owner')} as owner, ${personColumn(sql, 'person')} as person
    from bots
    join vanity on vanity.itag = bots.vanity_ref
    left join users as owner on owner.id = bots.owner_id
    left join users as person on person.id = bots.bot_id
    where bots.bot_id = coalesce(
      (select bot_id from bots where bot_id = ${word}),
      (select target_id from vanity where code = lower(${word}) and target_type = 'bot'))`;
  return rows[0] ?? null;
};

/** Every bot of a team, newest first, whatever its type. */
export const listTeamBots = (
  sql: Queryable,
  teamId: string,
  rowsMax: number,
): Promise<readonly IndexBotRow[]> =>
  indexBots(
    sql,
    sql`select id, row_number() over () as place from (
      select bot_id as id from bots where team_id = ${teamId}
      order by created_at desc, bot_id desc limit ${rowsMax}) as mine`,
  );

/** Up to this many listed bots, the pick is exactly uniform; above, it is drawn by listing number. */
const exactPickMax = 2_000;
/** Draws per bot wanted: enough that duplicates and gaps hardly ever leave too few. */
const drawsPerBot = 6;

/**
 * `wanted` listed bots in random order, another choice each call. Sorting a million rows for six would take
 * seconds, so large directories draw listing numbers and take the next listed bot of each; a bot after a gap
 * is then a little likelier.
 */
export const pickBots = (sql: Queryable, wanted: number, listed: number): Promise<readonly IndexBotRow[]> => {
  if (listed <= exactPickMax) {
    return indexBots(
      sql,
      sql`select bot_id as id, random() as place from bots where type in ('approved', 'certified')
        order by 2 limit ${wanted}`,
    );
  }
  return indexBots(
    sql,
    sql`select distinct on (drawn.id) drawn.id, random() as place from (
      select found.id from (
        select low + floor(random() * (high - low + 1))::bigint as point, draw
        from (select min(incarnation) as low, max(incarnation) as high from bots) as bounds,
          generate_series(1, ${wanted * drawsPerBot}::int) as draw) as points
      cross join lateral (
        select bot_id as id from bots
        where incarnation >= points.point and type in ('approved', 'certified')
        order by incarnation limit 1) as found) as drawn`,
  ).then((rows) => rows.slice(0, wanted));
};
