/**
 * Carries out what operators decide about listings. After a commit, and before the reply, every node drops
 * the cached profile, and the engine sends the new facts (listed, vote-banned, premium) to the hot store.
 */
import type { EntityKind, Target } from '../../engine/ids.ts';
import type { ReviewedTarget } from '../../storage/catalogue/bots/listing-edits.ts';
import type { Review } from '../../storage/catalogue/shared/listings.ts';
import { type BotBody, createBot } from '../api/bot-edits.ts';
import { deleteTeam } from '../api/members.ts';
import { deletePack } from '../api/packs.ts';
import type { App } from '../app.ts';
import type { Caller } from '../auth/auth.ts';
import { createNotFoundError, createValidationError, requireFound } from '../response/errors.ts';
import { type Reply, replyMessage } from '../response/reply.ts';
import type { AddBotBody, PremiumBody, ServerBody } from './schema.ts';

const dropProfile = (app: App, kind: EntityKind, id: string): void => {
  if (kind !== 'pack') app.catalogue[`${kind}s`].drop(id);
};

/** Drops the cached profile and updates the facts in the hot store. *Hot* when it resolves. */
const refreshListing = async (app: App, kind: EntityKind, id: string): Promise<void> => {
  dropProfile(app, kind, id);
  await app.engine.refreshFacts(kind, id);
  await app.catalogue.reminders.markDue(kind, id); // A wait may end sooner now.
};

const replyChanged = async (
  app: App,
  { kind, id, exists }: { kind: EntityKind; id: string; exists: boolean },
  change: string,
): Promise<Reply> => {
  if (!exists) throw createNotFoundError(kind);
  await refreshListing(app, kind, id);
  return replyMessage(`${kind} ${id} ${change}.`);
};

/** Each browser of the owner gets a message. */
export const reviewListing = async (app: App, listing: ReviewedTarget, verdict: Review): Promise<Reply> => {
  const exists = await app.catalogue.operator.listings.review(listing, verdict);
  return replyChanged(app, { ...listing, exists }, `is ${verdict.type}`);
};

export const setPremium = async (app: App, listing: ReviewedTarget, body: PremiumBody): Promise<Reply> => {
  const startAt = body.start_at === undefined ? null : new Date(body.start_at);
  const period = { hours: body.hours, startAt, now: new Date(app.clock.nowMs()) };
  const exists = await app.catalogue.operator.listings.setPremium(listing, period);
  return replyChanged(
    app,
    { ...listing, exists },
    body.hours === 0
      ? 'is no longer premium'
      : `is premium for ${body.hours} h${body.start_at ? ` from ${body.start_at}` : ''}`,
  );
};

export const setVoteBan = async (app: App, listing: Target, banned: boolean): Promise<Reply> => {
  const exists = await app.catalogue.operator.listings.setVoteBan(listing, banned);
  return replyChanged(
    app,
    { ...listing, exists },
    banned ? 'cannot receive votes' : 'can receive votes again',
  );
};

/** Records the reviewer of a bot; an empty `userId` removes the claim. */
export const claimBot = async (app: App, id: string, userId: string): Promise<Reply> => {
  const exists = await app.catalogue.operator.listings.claim(id, userId);
  return replyChanged(
    app,
    { kind: 'bot', id, exists },
    userId === '' ? 'is no longer claimed' : `is claimed by ${userId}`,
  );
};

/** Adds a server (`pending`), or replaces all its fields except the type. */
export const putServer = async (app: App, id: string, body: ServerBody): Promise<Reply> => {
  const outcome = await app.catalogue.operator.listings.putServer(id, {
    teamId: body.team_owner,
    name: body.name,
    avatar: body.avatar ?? '',
    short: body.short,
    long: body.long ?? '',
    invite: body.invite ?? '',
    tags: body.tags ?? [],
    nsfw: body.nsfw ?? false,
    state: body.state ?? 'public',
    totalMembers: body.total_members ?? 0,
    onlineMembers: body.online_members ?? 0,
  });
  if (outcome === 'unknown_team') {
    throw createValidationError('body', { '/team_owner': 'must be the id of a team' });
  }
  // A change of the team ends the sessions of the server.
  app.sessions.forgetTarget('server', id);
  return replyChanged(app, { kind: 'server', id, exists: true }, `is ${outcome}`);
};

/** When it resolves, the listing is gone on every node, its votes are void and its tokens are refused. */
export const removeListing = async (app: App, { kind, id }: ReviewedTarget): Promise<Reply> => {
  await app.engine.waitForFlush(kind, id);
  if (!(await app.catalogue.operator.listings.remove({ kind, id }))) throw createNotFoundError(kind);
  dropProfile(app, kind, id);
  app.sessions.forgetTarget(kind, id);
  await app.engine.deliverAdjustments(kind, id);
  return replyMessage(`${kind} ${id} is deleted.`);
};

/** A caller without permission limits, as which the operator acts. */
const createCaller = (kind: 'user' | 'team', id: string): Caller => ({
  kind,
  id,
  limits: [],
  sessionId: '',
  sessionType: 'login',
  voteBanned: false,
});

const checkOwner = ({ owner = '', team_owner: team = '' }: AddBotBody): void => {
  if ((owner === '') !== (team === '')) return;
  throw createValidationError('body', { '/owner': 'exactly one of /owner and /team_owner must be given' });
};

/** Adds a pending bot, as its owner would. *Ledger* when it resolves. */
export const addBot = async (app: App, id: string, body: AddBotBody): Promise<Reply> => {
  checkOwner(body);
  const { owner, team_owner: team, ...fields } = body;
  const bot: BotBody = { ...fields, bot_id: id };
  await createBot(app, team ? createCaller('team', team) : createCaller('user', owner ?? ''), bot);
  return replyMessage(`bot ${id} is added and pending.`);
};

/** Rejects while the team owns bots or servers. When it resolves, the team is gone on every node. */
export const removeTeam = async (app: App, id: string): Promise<Reply> => {
  await deleteTeam(app, { params: { tid: id }, caller: createCaller('team', id) });
  return replyMessage(`team ${id} is deleted.`);
};

/** When it resolves, the pack is gone on every node. */
export const removePack = async (app: App, url: string): Promise<Reply> => {
  const pack = requireFound((await app.catalogue.packs.find(url)).packs[0], 'pack');
  await deletePack(app, { uid: pack.owner_id, id: pack.url });
  return replyMessage(`pack ${pack.url} is deleted.`);
};
