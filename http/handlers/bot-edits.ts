/**
 * Adds, changes, transfers and deletes bots for clients.
 *
 * Passes checked bodies to the catalogue and turns its outcomes into replies or errors. After a commit it
 * drops the cached profile, and the cached sessions if the change ended tokens. A deletion is delivered to
 * the engine before the reply is sent. A new bot is not announced: the engine looks up unknown entities in
 * SQL.
 */
import { DomainError } from '../../engine/errors.ts';
import type { TeamActor } from '../../engine/rules/members.ts';
import type { BotActor, BotCreation, BotRefusal } from '../../storage/catalogue/bots/bot-edits.ts';
import { createPermissionError } from '../auth/authorise.ts';
import { type App, type Caller, noContent, type Reply } from '../route.ts';
import type { BotBody, BotSettingsBody } from '../schema/bot-edits.ts';
import { lookUpNewBot } from './bot-meta.ts';
import { createNotFoundError } from './convert.ts';
import { notifyAfterCommit } from './notify-after-commit.ts';

const toOwnerActor = ({ kind, id, limits }: Caller): TeamActor => ({
  kind: kind === 'team' ? 'team' : 'user',
  id,
  limits,
});
const toBotActor = (caller: Caller): BotActor =>
  caller.kind === 'bot' ? { kind: 'bot', id: caller.id, limits: caller.limits } : toOwnerActor(caller);

const createTakenError = (pointer: string, message: string): DomainError =>
  new DomainError('already_exists', message, { [pointer]: 'is taken' });

const toBotError = (outcome: Exclude<BotCreation, { kind: 'done' }> | BotRefusal): DomainError => {
  switch (outcome.kind) {
    case 'bot_taken':
      return createTakenError('/bot_id', 'The directory already has this bot.');
    case 'client_taken':
      return createTakenError('/client_id', 'The directory already has a bot with this client id.');
    case 'unknown_bot':
      return createNotFoundError('bot');
    case 'unknown_team':
      return createNotFoundError('team');
    case 'permission_missing':
      return createPermissionError(outcome.permission);
  }
};

/** The team that will own a new bot: the named team, else the calling team; `null`: the calling user. */
const chooseTeamId = (caller: Caller, namedTeamId: string | undefined): string | null =>
  namedTeamId || (caller.kind === 'team' ? caller.id : null);

/** `PUT /bots`. *Ledger*, and visible on every node, when it resolves. A failed look-up does not matter. */
export const createBot = async (app: App, caller: Caller, body: BotBody): Promise<Reply> => {
  const ids = { botId: body.bot_id, clientId: body.client_id || body.bot_id };
  const person = await lookUpNewBot(app, ids);
  const outcome = await app.catalogue.bots.edits.create(
    {
      ...ids,
      extraLinks: body.extra_links ?? [],
      invite: body.invite,
      library: body.library,
      long: body.long,
      nsfw: body.nsfw ?? false,
      prefix: body.prefix,
      short: body.short,
      staffNote: body.staff_note ?? null,
      tags: body.tags,
      teamId: chooseTeamId(caller, body.team_owner),
      person,
    },
    toOwnerActor(caller),
  );
  if (outcome.kind !== 'done') throw toBotError(outcome);
  app.catalogue.bots.drop(body.bot_id);
  return noContent;
};

/** `PATCH /bots/{id}/settings`: absent fields keep their value. *Ledger* when it resolves. */
export const editBot = async (
  app: App,
  target: { readonly botId: string; readonly caller: Caller },
  body: BotSettingsBody,
): Promise<Reply> => {
  const request = { botId: target.botId, actor: toBotActor(target.caller) };
  const outcome = await app.catalogue.bots.edits.edit(request, {
    captchaOptOut: body.captcha_opt_out ?? null,
    extraLinks: body.extra_links ?? null,
    invite: body.invite ?? null,
    library: body.library ?? null,
    long: body.long ?? null,
    nsfw: body.nsfw ?? null,
    prefix: body.prefix ?? null,
    short: body.short ?? null,
    tags: body.tags ?? null,
  });
  if (outcome.kind !== 'done') throw toBotError(outcome);
  app.catalogue.bots.drop(target.botId);
  return noContent;
};

/** `DELETE /bots/{id}`. When it resolves, the bot is gone on every node and its tokens are refused. */
export const deleteBot = async (app: App, botId: string, caller: Caller): Promise<Reply> => {
  await app.engine.waitForFlush('bot', botId);
  const outcome = await app.catalogue.bots.edits.remove({ botId, actor: toBotActor(caller) });
  if (outcome.kind !== 'done') throw toBotError(outcome);
  app.catalogue.bots.drop(botId);
  app.sessions.forgetTarget('bot', botId);
  await notifyAfterCommit(app.engine.deliverAdjustments('bot', botId));
  return noContent;
};

/**
 * `PATCH /users/{uid}/bots/{bid}/teams`. When it resolves, the bot's old tokens are refused. Webhooks get the
 * votes that were accepted before.
 */
export const transferBot = async (
  app: App,
  target: { readonly botId: string; readonly caller: Caller },
  teamId: string,
): Promise<Reply> => {
  const request = { botId: target.botId, actor: toOwnerActor(target.caller) };
  await app.engine.waitForFlush('bot', target.botId);
  const outcome = await app.catalogue.bots.edits.transfer(request, teamId);
  if (outcome.kind === 'stayed') return noContent;
  if (outcome.kind !== 'moved') throw toBotError(outcome);
  app.catalogue.bots.drop(target.botId);
  app.sessions.forgetTarget('bot', target.botId);
  app.webhooks.onEdited();
  return noContent;
};
