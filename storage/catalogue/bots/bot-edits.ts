/**
 * Adding, changing, moving and deleting bots. Each is one transaction.
 *
 * Whoever touches a bot locks the teams concerned first, in the order of their ids, and then its row; what
 * the caller may do is judged again from what is read then, so of two who move or delete it at once the
 * second one is judged by what the first one left. Called by catalogue.ts; caches, sessions in memory and
 * the hot store are the caller's to tell.
 */
import { v7 as uuidv7 } from 'uuid';
import { findMissing, type Member, type TeamActor } from '../../../engine/rules/members.ts';
import type { Permission } from '../../../engine/rules/permissions.ts';
import { deleteListing } from '../../ledger/adjust.ts';
import type { Sql, Transaction } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { createSerializationFailure, retrySerializable } from '../../sql/retry.ts';
import { endSessionsOf } from '../people/sessions.ts';
import { openListing } from '../shared/listings.ts';
import { insertMissingPerson } from '../shared/people.ts';
import type { LinkRow } from '../shared/profiles.ts';
import { giveVanity } from '../shared/vanity.ts';
import { lockTeam } from '../teams/team-edits.ts';
import { type BotPerson, noteBotPerson, readBotName } from './bot-people.ts';

export interface BotFields {
  readonly extraLinks: readonly LinkRow[];
  readonly invite: string;
  readonly library: string;
  readonly long: string;
  readonly nsfw: boolean;
  readonly prefix: string;
  readonly short: string;
  readonly tags: readonly string[];
}
/** `null` leaves a field as it is. */
export type BotChange = { readonly [Field in keyof BotFields]: BotFields[Field] | null } & {
  readonly captchaOptOut: boolean | null;
};
export interface NewBot extends BotFields {
  readonly botId: string;
  readonly clientId: string;
  readonly staffNote: string | null;
  /** The team that is to own it; `null`: the user who adds it. */
  readonly teamId: string | null;
  /** What a look-up said about it; `null` without one. */
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
export type BotCreation = BotOutcome | { readonly kind: 'bot_taken' | 'client_taken' };
/** `stayed`: the team owns it already. */
export type BotTransfer = { readonly kind: 'moved' } | { readonly kind: 'stayed' } | BotRefusal;

export interface BotEdits {
  /** Pending, with a vanity code from its name. */
  create(bot: NewBot, actor: TeamActor): Promise<BotCreation>;
  edit(request: BotRequest, change: BotChange): Promise<BotOutcome>;
  /** Also its sessions and vanity code; its votes become void. The same id later is another bot. */
  remove(request: BotRequest): Promise<BotOutcome>;
  /** To a team. Its sessions end; everything else stays. */
  transfer(request: BotRequest<TeamActor>, teamId: string): Promise<BotTransfer>;
}

export const createBotEdits = (sql: Sql): BotEdits => {
  const inOne = <Result>(operation: string, task: (transaction: Transaction) => Promise<Result>) =>
    asStorage(operation, () => retrySerializable(() => sql.begin(task))) as Promise<Result>;
  return {
    create: (bot, actor) => inOne('bots.create', (transaction) => createBot(transaction, bot, actor)),
    edit: (request, change) => inOne('bots.edit', (transaction) => editBot(transaction, request, change)),
    remove: (request) => inOne('bots.remove', (transaction) => deleteBot(transaction, request)),
    transfer: (request, teamId) =>
      inOne('bots.transfer', (transaction) => transferBot(transaction, request, teamId)),
  };
};

/** Members of the teams that exist, all locked. In the order of ids, so that two of us never cross. */
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
  /** Members of its team, and of the other team that was asked for. */
  readonly teams: ReadonlyMap<string, readonly Member[]>;
}

/** The bot, its team and `otherTeam` locked; `null` when there is no such bot. */
const lockBot = async (
  transaction: Transaction,
  id: string,
  otherTeam?: string,
): Promise<LockedBot | null> => {
  const [seen] = await transaction<{ team_id: string | null }[]>`
    select team_id from bots where bot_id = ${id}`;
  if (seen === undefined) return null;
  const wanted = [seen.team_id, otherTeam].filter((team) => typeof team === 'string');
  const teams = await lockTeams(transaction, wanted);
  const [bot] = await transaction<Omit<LockedBot, 'teams'>[]>`
    select bot_id as id, owner_id as "ownerId", team_id as "teamId" from bots
    where bot_id = ${id} for update`;
  if (bot === undefined) return null;
  if (bot.teamId !== seen.team_id) throw createSerializationFailure('the bot changed its owner meanwhile');
  return { ...bot, teams };
};

/** The permission that the actor lacks on the bot; `null` when he has it. Limits of tokens count. */
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

const refuseMissing = (permission: Permission): BotRefusal => ({ kind: 'permission_missing', permission });

/** Makes sure that the one who is to own it is there and may; `null` when all is well. */
const refuseOwner = async (
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
  return permission === null ? null : refuseMissing(permission);
};

const createBot = async (transaction: Transaction, bot: NewBot, actor: TeamActor): Promise<BotCreation> => {
  const refusal = await refuseOwner(transaction, bot.teamId, actor);
  if (refusal !== null) return refusal;
  const target = { kind: 'bot', id: bot.botId } as const;
  const incarnation = await openListing(transaction, target);
  if (incarnation === null) return { kind: 'bot_taken' };
  const name = await readBotName(transaction, bot.botId, bot.person);
  const vanityRef = await giveVanity(transaction, target, name);
  const made = await transaction`
    insert into bots (bot_id, incarnation, client_id, itag, vanity_ref, owner_id, team_id, library, prefix,
      short, long, invite, tags, extra_links, nsfw, staff_note, last_lookup)
    values (${bot.botId}, ${incarnation}, ${bot.clientId}, ${uuidv7()}, ${vanityRef},
      ${bot.teamId === null ? actor.id : null}, ${bot.teamId}, ${bot.library}, ${bot.prefix}, ${bot.short},
      ${bot.long}, ${bot.invite}, ${bot.tags as string[]}::text[],
      ${JSON.stringify(bot.extraLinks)}::text::jsonb, ${bot.nsfw}, ${bot.staffNote},
      ${bot.person === null ? null : new Date(bot.person.atMs)})
    on conflict (client_id) do nothing returning bot_id`;
  if (made.length === 0) {
    await transaction`delete from vanity where itag = ${vanityRef}`;
    await transaction`delete from totals where incarnation = ${incarnation}`;
    return { kind: 'client_taken' };
  }
  if (bot.person !== null) await noteBotPerson(transaction, bot.botId, bot.person);
  return { kind: 'done' };
};

const editBot = async (
  transaction: Transaction,
  { botId, actor }: BotRequest,
  change: BotChange,
): Promise<BotOutcome> => {
  const bot = await lockBot(transaction, botId);
  if (bot === null) return { kind: 'unknown_bot' };
  const permission = findMissingPermission(bot, actor, 'edit_bots');
  if (permission !== null) return refuseMissing(permission);
  const links = change.extraLinks === null ? null : JSON.stringify(change.extraLinks);
  await transaction`
    update bots set captcha_opt_out = coalesce(${change.captchaOptOut}, captcha_opt_out),
      extra_links = coalesce(${links}::text::jsonb, extra_links), invite = coalesce(${change.invite}, invite),
      library = coalesce(${change.library}, library), long = coalesce(${change.long}, long),
      nsfw = coalesce(${change.nsfw}, nsfw), prefix = coalesce(${change.prefix}, prefix),
      short = coalesce(${change.short}, short),
      tags = coalesce(${change.tags as string[] | null}::text[], tags), updated_at = now()
    where bot_id = ${botId}`;
  return { kind: 'done' };
};

/** The bot is locked, so no session is made meanwhile. */
const endBot = async (transaction: Transaction, botId: string): Promise<void> => {
  await endSessionsOf(transaction, { kind: 'bot', id: botId });
  await deleteListing(transaction, { kind: 'bot', id: botId });
  await transaction`delete from vanity where target_type = 'bot' and target_id = ${botId}`;
};

/**
 * Ends a listing inside the caller's transaction, with everything that hangs on it: sessions, votes (void),
 * totals and what refers to them, and the vanity code. Resolves to whether there was one.
 */
export const removeBot = async (transaction: Transaction, botId: string): Promise<boolean> => {
  if ((await lockBot(transaction, botId)) === null) return false;
  await endBot(transaction, botId);
  return true;
};

const deleteBot = async (transaction: Transaction, { botId, actor }: BotRequest): Promise<BotOutcome> => {
  const bot = await lockBot(transaction, botId);
  if (bot === null) return { kind: 'unknown_bot' };
  const permission = findMissingPermission(bot, actor, 'delete_bots');
  if (permission !== null) return refuseMissing(permission);
  await endBot(transaction, botId);
  return { kind: 'done' };
};

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
  if (permission !== null) return refuseMissing(permission);
  if (bot.teamId === teamId) return { kind: 'stayed' };
  await transaction`
    update bots set team_id = ${teamId}, owner_id = null, updated_at = now() where bot_id = ${botId}`;
  await endSessionsOf(transaction, { kind: 'bot', id: botId });
  return { kind: 'moved' };
};
