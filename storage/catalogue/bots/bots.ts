/**
 * Bots in SQL: the profile of one bot.
 *
 * Profiles have no counters: those come from the engine. A bot is listed when its type is `approved` or
 * `certified`.
 */
import type { Queryable } from '../../sql/client.ts';
import { buildPersonColumn, type PersonRow } from '../shared/people.ts';
import { buildNameCondition, buildProfileColumns, type ListingProfile } from '../shared/profiles.ts';

export interface BotProfile extends ListingProfile {
  readonly approval_note: string;
  readonly captcha_opt_out: boolean;
  readonly cert_reason: string;
  readonly claimed_by: string;
  readonly client_id: string;
  readonly itag: string;
  readonly last_claimed: Date | null;
  readonly last_lookup: Date | null;
  readonly library: string;
  readonly owner_id: string | null;
  readonly owner: PersonRow | null;
  readonly person: PersonRow | null;
  readonly prefix: string;
  readonly premium_period_hours: number;
  readonly start_premium_period: Date | null;
  readonly team_id: string | null;
}

/** Finds by id or vanity code. Leaves out names that no bot has; in any order. */
export const findBots = (sql: Queryable, names: readonly string[]): Promise<readonly BotProfile[]> =>
  sql<BotProfile[]>`
    select ${buildProfileColumns(sql, 'bot')}, bots.approval_note, bots.captcha_opt_out, bots.cert_reason,
      bots.claimed_by, bots.client_id, bots.itag, bots.last_claimed, bots.last_lookup, bots.library,
      bots.owner_id, bots.prefix, bots.premium_period_hours, bots.start_premium_period, bots.team_id,
      ${buildPersonColumn(sql, 'bots.owner_id')} as owner, ${buildPersonColumn(sql, 'bots.bot_id')} as person
    from bots
    where ${buildNameCondition(sql, 'bot', names)}`;
