/**
 * Bots as clients add, change, move and delete them.
 *
 * Passes checked bodies to the catalogue and turns its outcomes into replies or errors. After a change is
 * committed it drops what this node cached; what ends tokens ends them here too; after a deletion the engine
 * hears of it before the answer goes. A new bot needs no telling: the engine asks SQL about what it does not
 * know.
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

const createTakenError = (pointer: string, words: string): DomainError =>
  new DomainError('already_exists', words, { [pointer]: 'is taken' });

const toBotError = (outcome: Exclude<BotCreation, { kind: 'done' }> | BotRefusal): DomainError => {
  switch (outcome.kind) {
    case 'bot_taken':
      return createTakenError('/bot_id', 'This bot is listed already.');
    case 'client_taken':
      return createTakenError('/client_id', 'A bot with this client id is listed already.');
    case 'unknown_bot':
      return createNotFoundError('bot');
    case 'unknown_team':
      return createNotFoundError('team');
    case 'permission_missing':
      return createPermissionError(outcome.permission);
  }
};

/** The team that is to own a new bot: the one named, the caller if it is one; `null`: the user who calls. */
const chooseTeamId = (caller: Caller, named: string | undefined): string | null =>
  named || (caller.kind === 'team' ? caller.id : null);

/** `PUT /bots`: known everywhere when this resolves. A look-up that fails does not keep a bot out. */
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

/** `PATCH /bots/{id}/settings`: absent fields stay as they are. */
export const editBot = async (
  app: App,
  who: { readonly botId: string; readonly caller: Caller },
  body: BotSettingsBody,
): Promise<Reply> => {
  const request = { botId: who.botId, actor: toBotActor(who.caller) };
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
  app.catalogue.bots.drop(who.botId);
  return noContent;
};

/** `DELETE /bots/{id}`: its tokens are dead and it is unknown everywhere when this resolves. */
export const deleteBot = async (app: App, botId: string, caller: Caller): Promise<Reply> => {
  await app.engine.waitForFlush('bot', botId);
  const outcome = await app.catalogue.bots.edits.remove({ botId, actor: toBotActor(caller) });
  if (outcome.kind !== 'done') throw toBotError(outcome);
  app.catalogue.bots.drop(botId);
  app.sessions.forgetTarget('bot', botId);
  await notifyAfterCommit(app.engine.deliverAdjustments('bot', botId));
  return noContent;
};

/** `PATCH /users/{uid}/bots/{bid}/teams`: the bot's tokens are dead when this resolves. */
export const transferBot = async (
  app: App,
  who: { readonly botId: string; readonly caller: Caller },
  teamId: string,
): Promise<Reply> => {
  const request = { botId: who.botId, actor: toOwnerActor(who.caller) };
  const outcome = await app.catalogue.bots.edits.transfer(request, teamId);
  if (outcome.kind === 'stayed') return noContent;
  if (outcome.kind !== 'moved') throw toBotError(outcome);
  app.catalogue.bots.drop(who.botId);
  app.sessions.forgetTarget('bot', who.botId);
  return noContent;
};
