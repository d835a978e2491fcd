/**
 * Creates, edits, transfers and deletes bots. Each edit is one transaction.
 *
 * A transaction locks the bot's id first, so that its owner stays the same, then the teams concerned, in the
 * order of their ids, and then the bot's row. It checks
 * the actor's permissions against the locked rows, so of two concurrent edits the second is judged by what
 * the first one left. The caller updates caches, sessions in memory and the hot store.
 */
import { v7 as uuidv7 } from 'uuid';
import { findMissing, type Member, type TeamActor } from '../../../engine/rules/members.ts';
import type { Permission } from '../../../engine/rules/permissions.ts';
import { bindTransactions, type Sql, type Transaction } from '../../sql/client.ts';
import type { ListingDescription } from '../shared/index-rows.ts';
import { endSessionsOf, openListing, removeListing } from '../shared/listings.ts';
import { insertMissingPerson } from '../shared/people.ts';
import type { LinkRow } from '../shared/profiles.ts';
import { giveVanity } from '../shared/vanity.ts';
import { lockTeam } from '../teams/team-edits.ts';
import { disableTransferred } from '../webhooks/endpoints.ts';
import { type BotPerson, readBotName, upsertBotPerson } from './bot-people.ts';

export interface BotFields extends ListingDescription {
  readonly extraLinks: readonly LinkRow[];
  readonly library: string;
  readonly prefix: string;
}
/** `null` leaves a field as it is. */
export type BotChange = { readonly [Field in keyof BotFields]: BotFields[Field] | null } & {
  readonly captchaOptOut: boolean | null;
};
export interface NewBot extends BotFields {
  readonly botId: string;
  readonly clientId: string;
  readonly staffNote: string | null;
  /** The team that will own the bot; `null`: the user who adds it. */
  readonly teamId: string | null;
  /** The platform's answer about the bot; `null` without a lookup. */
  readonly person: BotPerson | null;
}
/** Who acts: a user, a team by its token, or the bot itself. */
export type BotActor =
  | TeamActor
  | { readonly kind: 'bot'; readonly id: string; readonly limits: readonly string[] };
export interface BotRequest<Actor extends BotActor = BotActor> {
  readonly botId: string;
  readonly actor: Actor;
}

export type BotRefusal =
  | { readonly kind: 'unknown_bot' | 'unknown_team' }
  | { readonly kind: 'permission_missing'; readonly permission: Permission };
export type BotOutcome = { readonly kind: 'done' } | BotRefusal;
/** What the listing has after an edit. */
export type BotEdit =
  | { readonly kind: 'done'; readonly listing: Readonly<Record<string, unknown>> }
  | BotRefusal;
export type BotCreation = BotOutcome | { readonly kind: 'bot_taken' | 'client_taken' };
/** `stayed`: the team already owns the bot. */
export type BotTransfer = { readonly kind: 'moved' } | { readonly kind: 'stayed' } | BotRefusal;

/** Every change is ledger when it resolves. */
export const createBotEdits = (sql: Sql) =>
  bindTransactions('bots', sql, {
    create: createBot,
    edit: editBot,
    remove: deleteBot,
    transfer: transferBot,
  });

/** Locks the teams that exist, in the order of ids (no deadlock). Resolves to their members. */
const lockTeams = async (
  transaction: Transaction,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly Member[]>> => {
  const teams = new Map<string, readonly Member[]>();
  for (const id of [...new Set(ids)].sort()) {
    const members = await lockTeam(transaction, id);
    if (members !== null) teams.set(id, members);
  }
  return teams;
};

interface LockedBot {
  readonly id: string;
  readonly ownerId: string | null;
  readonly teamId: string | null;
  /** Members of its team and of the other team that was locked. */
  readonly teams: ReadonlyMap<string, readonly Member[]>;
}

/**
 * Locks the bot's id, its team, `otherTeam` and the bot; `null` when there is no such bot. Edits of one bot
 * queue at its id: without that, its team would have to be locked before it is known.
 */
const lockBot = async (
  transaction: Transaction,
  id: string,
  otherTeam?: string,
): Promise<LockedBot | null> => {
  await transaction`select pg_advisory_xact_lock(hashtextextended(${`bot ${id}`}, 0))`;
  const [owned] = await transaction<{ team_id: string | null }[]>`
    select team_id from bots where bot_id = ${id}`;
  if (owned === undefined) return null;
  const teamIds = [owned.team_id, otherTeam].filter((team) => typeof team === 'string');
  const teams = await lockTeams(transaction, teamIds);
  const [bot] = await transaction<Omit<LockedBot, 'teams'>[]>`
    select bot_id as id, owner_id as "ownerId", team_id as "teamId" from bots
    where bot_id = ${id} for update`;
  return bot === undefined ? null : { ...bot, teams };
};

/** Returns `permission` if the actor lacks it on the bot, else `null`. The limits of a token count. */
const findMissingPermission = (
  bot: LockedBot,
  actor: BotActor,
  permission: Permission,
): Permission | null => {
  if (actor.kind === 'bot') return actor.id === bot.id ? null : permission;
  if (bot.teamId === null) return actor.kind === 'user' && actor.id === bot.ownerId ? null : permission;
  if (actor.kind === 'team' && actor.id !== bot.teamId) return permission;
  return findMissing(bot.teams.get(bot.teamId) ?? [], actor, [permission]);
};

const createRefusal = (permission: Permission): BotRefusal => ({ kind: 'permission_missing', permission });

/** Checks that the future owner exists and may own the bot; `null` when it may. */
const checkOwner = async (
  transaction: Transaction,
  teamId: string | null,
  actor: TeamActor,
): Promise<BotRefusal | null> => {
  if (teamId === null) {
    await insertMissingPerson(transaction, actor.id);
    return null;
  }
  const members = await lockTeam(transaction, teamId);
  if (members === null) return { kind: 'unknown_team' };
  const permission = findMissing(members, actor, ['add_bots']);
  return permission === null ? null : createRefusal(permission);
};

/** Creates a pending bot with a vanity code made from its name. */
const createBot = async (transaction: Transaction, bot: NewBot, actor: TeamActor): Promise<BotCreation> => {
  const refusal = await checkOwner(transaction, bot.teamId, actor);
  if (refusal !== null) return refusal;
  const target = { kind: 'bot', id: bot.botId } as const;
  const incarnation = await openListing(transaction, target);
  if (incarnation === null) return { kind: 'bot_taken' };
  const name = await readBotName(transaction, bot.botId, bot.person);
  const vanityRef = await giveVanity(transaction, target, name);
  const inserted = await transaction`
    insert into bots (bot_id, incarnation, client_id, itag, vanity_ref, owner_id, team_id, library, prefix,
      short, long, invite, tags, extra_links, nsfw, staff_note, last_lookup)
    values (${bot.botId}, ${incarnation}, ${bot.clientId}, ${uuidv7()}, ${vanityRef},
      ${bot.teamId === null ? actor.id : null}, ${bot.teamId}, ${bot.library}, ${bot.prefix}, ${bot.short},
      ${bot.long}, ${bot.invite}, ${bot.tags as string[]}::text[],
      ${JSON.stringify(bot.extraLinks)}::text::jsonb, ${bot.nsfw}, ${bot.staffNote},
      ${bot.person === null ? null : new Date(bot.person.atMs)})
    on conflict (client_id) do nothing returning bot_id`;
  if (inserted.length === 0) {
    await transaction`delete from vanity where itag = ${vanityRef}`;
    await transaction`delete from totals where incarnation = ${incarnation}`;
    return { kind: 'client_taken' };
  }
  if (bot.person !== null) await upsertBotPerson(transaction, bot.botId, bot.person);
  return { kind: 'done' };
};

const editBot = async (
  transaction: Transaction,
  { botId, actor }: BotRequest,
  change: BotChange,
): Promise<BotEdit> => {
  const bot = await lockBot(transaction, botId);
  if (bot === null) return { kind: 'unknown_bot' };
  const permission = findMissingPermission(bot, actor, 'edit_bots');
  if (permission !== null) return createRefusal(permission);
  const links = change.extraLinks === null ? null : JSON.stringify(change.extraLinks);
  const [listing = {}] = await transaction`
    update bots set captcha_opt_out = coalesce(${change.captchaOptOut}, captcha_opt_out),
      extra_links = coalesce(${links}::text::jsonb, extra_links), invite = coalesce(${change.invite}, invite),
      library = coalesce(${change.library}, library), long = coalesce(${change.long}, long),
      nsfw = coalesce(${change.nsfw}, nsfw), prefix = coalesce(${change.prefix}, prefix),
      short = coalesce(${change.short}, short),
      tags = coalesce(${change.tags as string[] | null}::text[], tags), updated_at = now()
    where bot_id = ${botId} returning invite, library, long, prefix, short, tags, extra_links`;
  return { kind: 'done', listing };
};

/** Deletes a bot in the caller's transaction. Resolves to whether the bot existed. */
export const removeBot = async (transaction: Transaction, botId: string): Promise<boolean> => {
  if ((await lockBot(transaction, botId)) === null) return false;
  await removeListing(transaction, { kind: 'bot', id: botId });
  return true;
};

/** Deletes the bot, its sessions and its vanity code; its votes become void. Its id may be listed again. */
const deleteBot = async (transaction: Transaction, { botId, actor }: BotRequest): Promise<BotOutcome> => {
  const bot = await lockBot(transaction, botId);
  if (bot === null) return { kind: 'unknown_bot' };
  const permission = findMissingPermission(bot, actor, 'delete_bots');
  if (permission !== null) return createRefusal(permission);
  await removeListing(transaction, { kind: 'bot', id: botId });
  return { kind: 'done' };
};

/** Gives the bot to a team. Its sessions end; everything else stays. */
const transferBot = async (
  transaction: Transaction,
  { botId, actor }: BotRequest<TeamActor>,
  teamId: string,
): Promise<BotTransfer> => {
  const bot = await lockBot(transaction, botId, teamId);
  if (bot === null) return { kind: 'unknown_bot' };
  const members = bot.teams.get(teamId);
  if (members === undefined) return { kind: 'unknown_team' };
  const permission =
    findMissingPermission(bot, actor, 'delete_bots') ?? findMissing(members, actor, ['add_bots']);
  if (permission !== null) return createRefusal(permission);
  if (bot.teamId === teamId) return { kind: 'stayed' };
  await transaction`
    update bots set team_id = ${teamId}, owner_id = null, updated_at = now() where bot_id = ${botId}`;
  await disableTransferred(transaction, { kind: 'bot', id: botId });
  await endSessionsOf(transaction, { kind: 'bot', id: botId });
  return { kind: 'moved' };
};
