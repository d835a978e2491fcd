/**
 * What the platform and the directory know about an application, and what that means for adding its bot.
 *
 * A look-up that fails is named and never an error of ours. Only what the look-up service says about a bot is
 * kept as its user object: the platform's public endpoint does not know bots.
 */
import type { BotPerson, KnownBot } from '../../storage/catalogue/bot-people.ts';
import type { BotAbout } from '../clients/bot-lookup.ts';
import type { Told } from '../clients/calm.ts';
import { invalid } from '../invalid.ts';
import { type App, ok, type Reply } from '../route.ts';
import type { BotMeta } from '../schema/bot-meta.ts';
import { exactInteger } from './values.ts';

const personOf = (bot: NonNullable<BotAbout['bot']>, atMs: number): BotPerson => ({
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
  const told = await app.botLookup.service(ids.clientId);
  if (told.kind === 'failed') return null;
  if (told.kind === 'unknown') {
    throw invalid('body', {
      '/client_id': 'must be the id of an application; it may differ from the id of its bot',
    });
  }
  const { bot } = told.value;
  if (bot === null) throw invalid('body', { '/bot_id': 'must be a bot; this application has none' });
  if (bot.id !== ids.botId)
    throw invalid('body', { '/bot_id': `must be ${bot.id}, the bot of this application` });
  return personOf(bot, told.atMs);
};

interface Findings {
  readonly service: Told<BotAbout>;
  /** Asked only when the service failed. */
  readonly platform: Told<BotAbout> | null;
}

const errorsOf = ({ service, platform }: Findings): Record<string, string> => {
  const errors: Record<string, string> = {};
  if (service.kind !== 'told') errors.lookup = `The look-up service ${service.words}.`;
  else if (service.value.bot === null) errors.bot = 'The application has no bot.';
  if (platform !== null && platform.kind !== 'told') errors.platform = `The platform ${platform.words}.`;
  return errors;
};

const metaOf = (
  findings: Findings,
  ids: { readonly clientId: string; readonly botId: string },
  known: KnownBot | null,
): BotMeta => {
  const { service, platform } = findings;
  const told = service.kind === 'told' ? service : platform;
  const about = told?.kind === 'told' ? told.value : null;
  return {
    avatar: about?.bot?.avatar || known?.avatar || '',
    bot_id: ids.botId,
    bot_public: about?.public ?? false,
    client_id: ids.clientId,
    description: about?.description ?? known?.short ?? '',
    fallback: platform?.kind === 'told',
    fetch_errors: errorsOf(findings),
    flags: [...(about?.bot?.flags ?? known?.flags ?? [])],
    guild_count: about?.bot?.servers ?? exactInteger(known?.servers ?? '0'),
    list_type: known?.type ?? '',
    name: about?.name || about?.bot?.username || known?.username || '',
    tags: [...(about?.tags ?? known?.tags ?? [])],
  };
};

/** Keeps what the look-up told about a listed bot. */
const keep = async (app: App, clientId: string, told: Told<BotAbout>): Promise<void> => {
  if (told.kind !== 'told' || told.value.bot === null) return;
  const { bot } = told.value;
  const kept = await app.catalogue.bots.noteLookup({ clientId, botId: bot.id }, personOf(bot, told.atMs));
  if (kept) app.catalogue.bots.drop(bot.id);
};

/** `GET /bots/{client_id}/meta`. Takes as long as both look-ups may; their failures are in the reply. */
export const showBotMeta = async (
  app: App,
  clientId: string,
  fallbackBotId: string | undefined,
): Promise<Reply> => {
  const service = await app.botLookup.service(clientId);
  const platform = service.kind === 'failed' ? await app.botLookup.platform(clientId) : null;
  await keep(app, clientId, service);
  const sure = service.kind === 'told' ? (service.value.bot?.id ?? '') : null;
  const botId = sure ?? (service.kind === 'failed' ? fallbackBotId : undefined) ?? null;
  const known = await app.catalogue.bots.known({ clientId, botId });
  const shown = sure ?? known?.bot_id ?? botId ?? (service.kind === 'failed' ? clientId : '');
  return ok(metaOf({ service, platform }, { clientId, botId: shown }, known));
};
