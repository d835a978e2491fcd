/**
 * Changes of listings that only operators make: type, premium, claim, vote ban, and servers as a whole.
 *
 * Each change is one transaction. It raises the listing's revision if it changes what the engine reads, so
 * the engine can tell newer facts from older ones. The caller drops caches and refreshes the engine.
 */
import { v7 as uuidv7 } from 'uuid';
import type { Target } from '../../../engine/ids.ts';
import { listingTables } from '../../ledger/adjust.ts';
import { bindTransactions, type Queryable, type Sql, type Transaction } from '../../sql/client.ts';
import { bindStorage } from '../../sql/errors.ts';
import { hasRow, readValue } from '../../sql/rows.ts';
import { type ListingDescription, listedTypes } from '../shared/index-rows.ts';
import { endSessionsOf, listingKeys, openListing, type Review, removeListing } from '../shared/listings.ts';
import { giveVanity } from '../shared/vanity.ts';
import { enqueueReview, type ReviewedListing } from '../votes/push.ts';
import { disableTransferred } from '../webhooks/endpoints.ts';
import { removeBot } from './bot-edits.ts';

export interface ReviewedTarget extends Target {
  readonly kind: 'bot' | 'server';
}
export interface PremiumPeriod {
  /** 0 ends the period. */
  readonly hours: number;
  /** `null` starts it now. */
  readonly startAt: Date | null;
  /** By this node's clock, which SQL's may be ahead of or behind: for both a period from now on has begun. */
  readonly now: Date;
}
export interface ServerFields extends ListingDescription {
  readonly teamId: string;
  readonly name: string;
  readonly avatar: string;
  readonly state: 'public' | 'private' | 'unlisted';
  readonly totalMembers: number;
  readonly onlineMembers: number;
}

/** Stores the verdict about a bot. The note is its `approval_note`, or for `certified` its `cert_reason`. */
const reviewBot = (sql: Queryable, id: string, { type, note }: Review) => sql<ReviewedListing[]>`
  update bots set type = ${type}, revision = revision + 1, updated_at = now(),
    approval_note = case when ${type} = 'certified' then approval_note else ${note} end,
    cert_reason = case when ${type} = 'certified' then ${note} else '' end,
    claimed_by = '', last_claimed = null,
    listed_since = case when ${type} = any(${listedTypes as string[]}) then coalesce(listed_since, now()) end
  where bot_id = ${id} returning incarnation, owner_id, team_id`;

/** Stores the verdict about a server, which has no field for the note. */
const reviewServer = (sql: Queryable, id: string, { type }: Review) => sql<ReviewedListing[]>`
  update servers set type = ${type}, revision = revision + 1, updated_at = now()
  where server_id = ${id} returning incarnation, null as owner_id, team_id`;

/** Records the verdict, and queues the messages that tell the owner. */
const reviewListing = async (
  transaction: Transaction,
  { kind, id }: ReviewedTarget,
  review: Review,
): Promise<boolean> => {
  const [listing] = await (kind === 'bot' ? reviewBot : reviewServer)(transaction, id, review);
  if (listing === undefined) return false;
  await enqueueReview(transaction, listing, review);
  return true;
};

const addServer = async (transaction: Transaction, id: string, fields: ServerFields): Promise<boolean> => {
  const incarnation = await openListing(transaction, { kind: 'server', id });
  if (incarnation === null) return false;
  const vanity = await giveVanity(transaction, { kind: 'server', id }, fields.name);
  await transaction`
    insert into servers (server_id, incarnation, itag, vanity_ref, team_id, name, short)
    values (${id}, ${incarnation}, ${uuidv7()}, ${vanity}, ${fields.teamId}, ${fields.name},
      ${fields.short})`;
  return true;
};

/**
 * Adds a server, or replaces all its fields except the type. `unknown_team` changes nothing. The server's
 * sessions end if its team changes.
 */
const putServer = async (
  transaction: Transaction,
  id: string,
  fields: ServerFields,
): Promise<'added' | 'changed' | 'unknown_team'> => {
  const teams = await transaction`select from teams where id = ${fields.teamId} for share`;
  if (teams.length === 0) return 'unknown_team';
  const added = await addServer(transaction, id, fields);
  // The same lock as for a deletion: a concurrent session is either created before, or sees the new team.
  const [server] = await transaction<{ team: string }[]>`
    select team_id as team from servers where server_id = ${id} for update`;
  if (server !== undefined && server.team !== fields.teamId) {
    await endSessionsOf(transaction, { kind: 'server', id });
    await disableTransferred(transaction, { kind: 'server', id });
  }
  await transaction`
    update servers set team_id = ${fields.teamId}, name = ${fields.name}, avatar = ${fields.avatar},
      short = ${fields.short}, long = ${fields.long}, invite = ${fields.invite},
      tags = ${fields.tags as string[]}, nsfw = ${fields.nsfw}, state = ${fields.state},
      total_members = ${fields.totalMembers}, online_members = ${fields.onlineMembers},
      revision = revision + 1, updated_at = now()
    where server_id = ${id}`;
  return added ? 'added' : 'changed';
};

const removeServer = async (transaction: Transaction, id: string): Promise<boolean> => {
  const [server] = await transaction`select from servers where server_id = ${id} for update`;
  if (server === undefined) return false;
  await removeListing(transaction, { kind: 'server', id });
  return true;
};

/** Deletes the listing, its sessions, vanity code and reminders; its votes become void. */
const removeReviewed = (transaction: Transaction, { kind, id }: ReviewedTarget): Promise<boolean> =>
  (kind === 'bot' ? removeBot : removeServer)(transaction, id);

/** Reads what the owner wrote to the reviewers; `''` for nothing. */
const readStaffNote = async (sql: Queryable, botId: string): Promise<string> =>
  (await readValue<string>(sql`select staff_note from bots where bot_id = ${botId}`)) ?? '';

/** The first of its two revisions is that of the facts until premium begins. */
const setPremium = (sql: Queryable, { kind, id }: ReviewedTarget, { hours, startAt, now }: PremiumPeriod) =>
  hasRow(sql`
    update ${sql(listingTables[kind])} set premium_period_hours = ${hours}, revision = revision + 2,
      start_premium_period =
        case when ${hours} > 0 then coalesce(${startAt}::timestamptz, least(${now}, now())) end
    where ${sql(listingKeys[kind])} = ${id} returning 1`);

const setVoteBan = (sql: Queryable, { kind, id }: Target, banned: boolean) =>
  hasRow(sql`
    update ${sql(listingTables[kind])} set vote_banned = ${banned}, revision = revision + 1
    where ${sql(listingKeys[kind])} = ${id} returning 1`);

/** Claims a bot for review; the user id `''` releases the claim. */
const claim = (sql: Queryable, botId: string, userId: string) =>
  hasRow(sql`
    update bots set claimed_by = ${userId}, last_claimed = case when ${userId} <> '' then now() end
    where bot_id = ${botId} returning 1`);

/** Each change but `putServer` resolves to whether the listing exists; all are ledger when they resolve. */
export const createListingEdits = (sql: Sql) => ({
  ...bindTransactions('listings', sql, { review: reviewListing, putServer, remove: removeReviewed }),
  ...bindStorage('listings', sql, { readStaffNote, setPremium, setVoteBan, claim }),
});
