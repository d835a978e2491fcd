/**
 * What the platform and the directory know about an application, and what that means for adding its bot.
 *
 * A look-up that fails is named and never an error of ours. Only what the look-up service says about a bot is
 * kept as its user object: the platform's public endpoint does not know bots.
 */
import type { BotPerson, KnownBot } from '../../storage/catalogue/bots/bot-people.ts';
import type { BotDetails } from '../outbound/bot-lookup.ts';
import type { LookupResult } from '../outbound/service-lookup.ts';
import { createValidationError } from '../response/validation-error.ts';
import { type App, type Reply, replyOk } from '../route.ts';
import type { BotMeta } from '../schema/bot-meta.ts';
import { toExactInteger } from './convert.ts';

const toBotPerson = (bot: NonNullable<BotDetails['bot']>, atMs: number): BotPerson => ({
  username: bot.username,
  displayName: bot.displayName,
  avatar: bot.avatar,
  flags: bot.flags,
  atMs,
});

/**
 * What the look-up service says about a bot that is to be added; `null` when it says nothing. Throws
 * `validation_failed` when it is sure that this is no bot, or another one.
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
  /** Asked only when the service failed. */
  readonly platform: LookupResult<BotDetails> | null;
}

const describeLookupErrors = ({ service, platform }: BotLookupResults): Record<string, string> => {
  const errors: Record<string, string> = {};
  if (service.kind !== 'told') errors.lookup = `The look-up service ${service.words}.`;
  else if (service.value.bot === null) errors.bot = 'The application has no bot.';
  if (platform !== null && platform.kind !== 'told') errors.platform = `The platform ${platform.words}.`;
  return errors;
};

const toBotMeta = (
  findings: BotLookupResults,
  ids: { readonly clientId: string; readonly botId: string },
  known: KnownBot | null,
): BotMeta => {
  const { service, platform } = findings;
  const result = service.kind === 'told' ? service : platform;
  const about = result?.kind === 'told' ? result.value : null;
  return {
    avatar: about?.bot?.avatar || known?.avatar || '',
    bot_id: ids.botId,
    bot_public: about?.public ?? false,
    client_id: ids.clientId,
    description: about?.description ?? known?.short ?? '',
    fallback: platform?.kind === 'told',
    fetch_errors: describeLookupErrors(findings),
    flags: [...(about?.bot?.flags ?? known?.flags ?? [])],
    guild_count: about?.bot?.servers ?? toExactInteger(known?.servers ?? '0'),
    list_type: known?.type ?? '',
    name: about?.name || about?.bot?.username || known?.username || '',
    tags: [...(about?.tags ?? known?.tags ?? [])],
  };
};

/** Keeps what the look-up told about a listed bot. */
const storeLookup = async (app: App, clientId: string, result: LookupResult<BotDetails>): Promise<void> => {
  if (result.kind !== 'told' || result.value.bot === null) return;
  const { bot } = result.value;
  const kept = await app.catalogue.bots.noteLookup(
    { clientId, botId: bot.id },
    toBotPerson(bot, result.atMs),
  );
  if (kept) app.catalogue.bots.drop(bot.id);
};

/** `GET /bots/{client_id}/meta`. Takes as long as both look-ups may; their failures are in the reply. */
export const showBotMeta = async (
  app: App,
  clientId: string,
  fallbackBotId: string | undefined,
): Promise<Reply> => {
  const service = await app.botLookup.queryService(clientId);
  const platform = service.kind === 'failed' ? await app.botLookup.queryPlatform(clientId) : null;
  await storeLookup(app, clientId, service);
  const sure = service.kind === 'told' ? (service.value.bot?.id ?? '') : null;
  const botId = sure ?? (service.kind === 'failed' ? fallbackBotId : undefined) ?? null;
  const known = await app.catalogue.bots.known({ clientId, botId });
  const shown = sure ?? known?.bot_id ?? botId ?? (service.kind === 'failed' ? clientId : '');
  return replyOk(toBotMeta({ service, platform }, { clientId, botId: shown }, known));
};
