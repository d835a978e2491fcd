/**
 * What operators decide about listings. After a change is committed the profile is dropped everywhere and the
 * engine sends the new facts (listed, vote-banned, premium) to the hot store, before the answer goes.
 */
import type { EntityKind } from '../../../engine/ids.ts';
import type { ListingType, Review, Reviewed } from '../../../storage/catalogue/listing-edits.ts';
import { invalid } from '../../invalid.ts';
import { type App, type Caller, message, ok, type Reply } from '../../route.ts';
import type { BotBody } from '../../schema/bot-edits.ts';
import type { AddBotBody, PremiumBody, ServerBody } from '../../schema/operator.ts';
import { afterwards } from '../afterwards.ts';
import { createBot } from '../bot-edits.ts';
import { deletePack } from '../pack-edits.ts';
import { deleteTeam } from '../team-edits.ts';
import { notFound, timestamp } from '../values.ts';
import { momentOf } from './moment.ts';

const dropProfile = (app: App, kind: EntityKind, id: string): void => {
  if (kind === 'bot') app.catalogue.bots.drop(id);
  if (kind === 'server') app.catalogue.servers.drop(id);
  if (kind === 'team') app.catalogue.teams.drop(id);
};

/** Tells everybody who may know the listing. Hot when it resolves. */
const told = async (app: App, kind: EntityKind, id: string): Promise<void> => {
  dropProfile(app, kind, id);
  await app.engine.refresh(kind, id);
  await app.catalogue.reminders.lookAgain(kind, id); // A wait may end sooner now.
};

const changed = async (
  app: App,
  { kind, id, found }: { readonly kind: EntityKind; readonly id: string; readonly found: boolean },
  words: string,
): Promise<Reply> => {
  if (!found) throw notFound(kind);
  await afterwards(told(app, kind, id));
  return message(`${kind} ${id} ${words}.`);
};

export const review = async (
  app: App,
  target: { readonly kind: Reviewed; readonly id: string },
  verdict: Review,
): Promise<Reply> => {
  const { kind, id } = target;
  const found = await app.catalogue.operator.listings.review(kind, id, verdict);
  return changed(app, { kind, id, found }, `is ${verdict.type}`);
};

export const setPremium = async (
  app: App,
  target: { readonly kind: Reviewed; readonly id: string },
  body: PremiumBody,
): Promise<Reply> => {
  const { kind, id } = target;
  const startAt = body.start_at === undefined ? null : momentOf('/start_at', body.start_at);
  const found = await app.catalogue.operator.listings.setPremium(kind, id, { hours: body.hours, startAt });
  return changed(
    app,
    { kind, id, found },
    body.hours === 0 ? 'is not premium' : `is premium for ${body.hours} h`,
  );
};

export const setVoteBan = async (
  app: App,
  target: { readonly kind: EntityKind; readonly id: string },
  banned: boolean,
): Promise<Reply> => {
  const { kind } = target;
  const id = kind === 'pack' ? target.id.toLowerCase() : target.id;
  const found = await app.catalogue.operator.listings.setVoteBan(kind, id, banned);
  return changed(app, { kind, id, found }, banned ? 'takes no votes' : 'takes votes again');
};

/** `''` lets go. */
export const claimBot = async (app: App, id: string, userId: string): Promise<Reply> => {
  const found = await app.catalogue.operator.listings.claim(id, userId);
  return changed(
    app,
    { kind: 'bot', id, found },
    userId === '' ? 'is claimed by nobody' : `is claimed by ${userId}`,
  );
};

export const showBotsOfType = async (app: App, type: ListingType, page: number): Promise<Reply> => {
  const rows = await app.catalogue.operator.listings.bots(type, page);
  return ok({ bots: rows.map((row) => ({ ...row, created_at: timestamp(row.created_at) })) });
};

/** Adds a server (`pending`), or changes all its fields but the type. */
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
    throw invalid('body', { '/team_owner': 'there is no such team' });
  }
  // With another team its sessions ended.
  app.sessions.forgetTarget('server', id);
  return changed(app, { kind: 'server', id, found: true }, `is ${outcome}`);
};

/** Unknown everywhere when this resolves; its votes are void, its tokens dead. */
export const removeListing = async (
  app: App,
  target: { readonly kind: Reviewed; readonly id: string },
): Promise<Reply> => {
  const { kind, id } = target;
  await app.engine.flushed(kind, id);
  if (!(await app.catalogue.operator.listings.remove(kind, id))) throw notFound(kind);
  dropProfile(app, kind, id);
  app.sessions.forgetTarget(kind, id);
  await afterwards(app.engine.deliver(kind, id));
  return message(`${kind} ${id} is deleted.`);
};

/** Somebody who may do everything he is asked to: whose limits the operator has none of. */
const actingFor = (kind: 'user' | 'team', id: string): Caller => ({
  kind,
  id,
  limits: [],
  sessionId: '',
  sessionType: 'login',
  voteBanned: false,
});

const checkOwner = ({ owner = '', team_owner: team = '' }: AddBotBody): void => {
  if ((owner === '') !== (team === '')) return;
  throw invalid('body', { '/owner': 'must be given, or /team_owner, and not both' });
};

/** As its owner would add it: pending. Ledger when it resolves. */
export const addBot = async (app: App, id: string, body: AddBotBody): Promise<Reply> => {
  checkOwner(body);
  const { owner, team_owner: team, ...fields } = body;
  const bot: BotBody = { ...fields, bot_id: id };
  await createBot(app, team ? actingFor('team', team) : actingFor('user', owner ?? ''), bot);
  return message(`bot ${id} is added, pending.`);
};

/** Refused while it owns bots or servers. Unknown everywhere when this resolves. */
export const removeTeam = async (app: App, id: string): Promise<Reply> => {
  await deleteTeam(app, id, actingFor('team', id));
  return message(`team ${id} is deleted.`);
};

/** Unknown everywhere when this resolves. */
export const removePack = async (app: App, url: string): Promise<Reply> => {
  const [pack] = (await app.catalogue.packs.find(url)).packs;
  if (pack === undefined) throw notFound('pack');
  await deletePack(app, { uid: pack.owner_id, id: pack.url });
  return message(`pack ${pack.url} is deleted.`);
};
