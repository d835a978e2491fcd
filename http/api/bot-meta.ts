/**
 * Shows what the platform and the directory know about an application (contract §2.7), and checks a bot
 * before it is added.
 *
 * A failed look-up is named in the reply; it is never an error of the request. Only the look-up service's
 * data is stored as the bot's user object, because the platform's public endpoint does not know bots.
 */
import { type Static, Type } from 'typebox';
import type { BotPerson, KnownBot } from '../../storage/catalogue/bots/bot-people.ts';
import type { App } from '../app.ts';
import type { BotDetails } from '../outbound/bot-lookup.ts';
import type { LookupResult } from '../outbound/service-lookup.ts';
import { createValidationError } from '../response/errors.ts';
import { replyOk } from '../response/reply.ts';
import { buildCount, buildFlag, buildText, buildTextList } from './shared/common.ts';
import { toExactInteger } from './shared/convert.ts';
import { buildObject, buildPicture } from './shared/example.ts';
import { platformId } from './shared/patterns.ts';

const buildPlatformId = (description: string) =>
  Type.String({ pattern: platformId, description, examples: ['815553000470478850'] });

export const BotMetaParams = Type.Object({
  client_id: buildPlatformId('Id of the application on the platform.'),
});

export const BotMetaQuery = Type.Object({
  fallback_bot_id: Type.Optional(
    buildPlatformId('Id of the bot. It is used if the look-up service does not answer.'),
  ),
});

export const BotMeta = buildObject({
  avatar: buildPicture('Address of the picture; empty if it is not known.'),
  bot_id: buildText('815553000470478850', 'Empty when the application has no bot.'),
  bot_public: buildFlag('Whether any user may add the bot to a server; also `false` if unknown.', true),
  client_id: buildText('815553000470478850', 'Id of the application, as in the path.'),
  description: buildText(
    'Keeps watch over your server, day and night.',
    "The application's own words about itself; empty if they are not known.",
  ),
  fallback: Type.Boolean({
    description: "True if the look-up service failed and the platform's public endpoint answered instead.",
  }),
  fetch_errors: Type.Record(Type.String(), Type.String(), {
    description: 'Why the `lookup` service or the `platform` failed; `bot` if the application has no bot.',
  }),
  flags: buildTextList('Marks that the platform gave the account; usually `[]`.', []),
  guild_count: buildCount(
    1200,
    'Servers the bot is in: an estimate of the platform, else as it posted; 0 if unknown.',
  ),
  list_type: buildText(
    'approved',
    'The `type` of the bot in this directory; empty if the directory does not have it.',
  ),
  name: buildText('lighthouse', 'Name of the application; empty if it is not known.'),
  tags: buildTextList('Tags of the application; `[]` if they are not known.', ['moderation']),
});
export type BotMeta = Static<typeof BotMeta>;

const toBotPerson = (bot: NonNullable<BotDetails['bot']>, atMs: number): BotPerson => ({
  username: bot.username,
  displayName: bot.displayName,
  avatar: bot.avatar,
  flags: bot.flags,
  atMs,
});

/**
 * Looks up a bot that a client wants to add; `null` if the look-up service fails. Rejects with
 * `validation_failed` if the service knows that the application has no bot, or another bot.
 */
export const lookUpNewBot = async (
  app: Pick<App, 'botLookup'>,
  ids: { readonly clientId: string; readonly botId: string },
): Promise<BotPerson | null> => {
  const result = await app.botLookup.queryService(ids.clientId);
  if (result.kind === 'failed') return null;
  if (result.kind === 'unknown') {
    throw createValidationError('body', {
      '/client_id': 'must be the id of an application; it may differ from the id of its bot',
    });
  }
  const { bot } = result.value;
  if (bot === null)
    throw createValidationError('body', { '/bot_id': 'must be a bot; this application has none' });
  if (bot.id !== ids.botId)
    throw createValidationError('body', { '/bot_id': `must be ${bot.id}, the bot of this application` });
  return toBotPerson(bot, result.atMs);
};

interface BotLookupResults {
  readonly service: LookupResult<BotDetails>;
  /** `null` if the service answered: the platform is only queried after the service failed. */
  readonly platform: LookupResult<BotDetails> | null;
}

const describeLookupErrors = ({ service, platform }: BotLookupResults): Record<string, string> => {
  const errors: Record<string, string> = {};
  if (service.kind !== 'found') errors.lookup = `The look-up service ${service.message}.`;
  else if (service.value.bot === null) errors.bot = 'The application has no bot.';
  if (platform !== null && platform.kind !== 'found') errors.platform = `The platform ${platform.message}.`;
  return errors;
};

const toBotMeta = (
  results: BotLookupResults,
  ids: { readonly clientId: string; readonly botId: string },
  known: KnownBot | null,
): BotMeta => {
  const { service, platform } = results;
  const result = service.kind === 'found' ? service : platform;
  const details = result?.kind === 'found' ? result.value : null;
  return {
    avatar: details?.bot?.avatar || known?.avatar || '',
    bot_id: ids.botId,
    bot_public: details?.public ?? false,
    client_id: ids.clientId,
    description: details?.description ?? known?.short ?? '',
    fallback: platform?.kind === 'found',
    fetch_errors: describeLookupErrors(results),
    flags: [...(details?.bot?.flags ?? known?.flags ?? [])],
    guild_count: details?.bot?.servers ?? toExactInteger(known?.servers ?? '0'),
    list_type: known?.type ?? '',
    name: details?.name || details?.bot?.username || known?.username || '',
    tags: [...(details?.tags ?? known?.tags ?? [])],
  };
};

/** Stores the result of a look-up if the directory has the bot. */
const storeLookup = async (app: App, clientId: string, result: LookupResult<BotDetails>): Promise<void> => {
  if (result.kind !== 'found' || result.value.bot === null) return;
  const { bot } = result.value;
  const isStored = await app.catalogue.bots.noteLookup(
    { clientId, botId: bot.id },
    toBotPerson(bot, result.atMs),
  );
  if (isStored) app.catalogue.bots.drop(bot.id);
};

/** `GET /bots/{client_id}/meta`. Waits for up to two look-ups; the reply names those that failed. */
export const showBotMeta = async (app: App, clientId: string, fallbackBotId: string | undefined) => {
  const service = await app.botLookup.queryService(clientId);
  const platform = service.kind === 'failed' ? await app.botLookup.queryPlatform(clientId) : null;
  await storeLookup(app, clientId, service);
  const lookedUpBotId = service.kind === 'found' ? (service.value.bot?.id ?? '') : null;
  const botId = lookedUpBotId ?? (service.kind === 'failed' ? fallbackBotId : undefined) ?? null;
  const known = await app.catalogue.bots.known({ clientId, botId });
  const shownBotId = lookedUpBotId ?? known?.bot_id ?? botId ?? (service.kind === 'failed' ? clientId : '');
  return replyOk(toBotMeta({ service, platform }, { clientId, botId: shownBotId }, known));
};
