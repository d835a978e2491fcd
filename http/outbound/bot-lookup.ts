/**
 * Looks up a bot by the id of its application: at a look-up service, and at the chat platform's own public
 * endpoint, which knows less.
 *
 * Both are optional, and neither is trusted: texts are shortened and cleaned, URLs must be https, and an
 * answer about another application is a failure.
 */
import { type Static, type TSchema, Type } from 'typebox';
import type { Clock } from '../../engine/ports.ts';
import { isVisiblyLong, refusedInNames } from '../../engine/rules/text.ts';
import type { BotPerson } from '../../storage/catalogue/bots/bot-people.ts';
import type { OutboundMeters, OutboundService } from '../telemetry/counts.ts';
import { type FetchResult, fetchJson } from './fetch-json.ts';
import { createServiceLookup, type LookupResult, type ServiceLookup } from './service-lookup.ts';

export interface BotDetails {
  readonly name: string;
  readonly description: string;
  /** Any user may add it to a server. */
  readonly public: boolean;
  readonly tags: readonly string[];
  /** The bot of the application; `null` when it has none, or the source does not say. */
  readonly bot: (Omit<BotPerson, 'atMs'> & { readonly id: string; readonly servers: number }) | null;
}

export interface BotLookupOptions {
  /** URL templates with `{id}` for the application's id; `''` disables the source. */
  readonly serviceUrl: string;
  readonly platformUrl: string;
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  readonly timeLimitMs?: number;
  readonly openMs?: number;
  readonly meters?: OutboundMeters;
}

/** Time limit of one look-up, from connecting to the last byte. */
const lookupMs = 5_000;
const answerBytesMax = 65_536;
/** As in the users of an import. */
const nameCharactersMax = 64;
const avatarLengthMax = 512;
const cacheMs = 60_000;
const cacheEntriesMax = 1_000;
const inFlightMax = 32;

const toOptional = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]));
const Application = Type.Object({
  id: Type.String(),
  name: toOptional(Type.String()),
  description: toOptional(Type.String()),
  bot_public: toOptional(Type.Boolean()),
  tags: toOptional(Type.Array(Type.String())),
});
const ServiceAnswer = Type.Object({
  data: Type.Object({
    application: Application,
    bot: toOptional(
      Type.Object({
        id: Type.String({ pattern: '^[0-9]{15,20}$' }),
        username: Type.String(),
        global_name: toOptional(Type.String()),
        avatarURL: toOptional(Type.String()),
        public_flags_array: toOptional(Type.Array(Type.String())),
        approximate_guild_count: toOptional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
      }),
    ),
  }),
});

const refused = new RegExp(`[\\p{Cc}${refusedInNames}]+`, 'gu');
/** Shortens a text and removes what no name may have, and lone surrogates, which SQL cannot store. */
const clean = (text: string | null | undefined, charactersMax: number): string =>
  [...(text ?? '').toWellFormed().replace(refused, ' ').trim()].slice(0, charactersMax).join('');
/** A name of a user: without a visible character it is none. */
const cleanName = (text: string | null | undefined): string => {
  const name = clean(text, nameCharactersMax);
  return isVisiblyLong(name, 1) ? name : '';
};
const cleanList = (list: readonly string[] | null | undefined): readonly string[] =>
  (list ?? []).slice(0, 32).flatMap((text) => clean(text, 64) || []);
const toHttpsAddress = (address: string | null | undefined): string => {
  // The parser's time grows faster than a host's length.
  const url = address && address.length <= avatarLengthMax ? URL.parse(address) : null;
  return url?.protocol === 'https:' && url.href.length <= avatarLengthMax ? url.href : '';
};

const toApplicationDetails = (application: Static<typeof Application>) => ({
  name: clean(application.name, 128),
  description: clean(application.description, 4_096),
  public: application.bot_public ?? false,
  tags: cleanList(application.tags),
});

const toBotDetails = ({ data: { application, bot } }: Static<typeof ServiceAnswer>): BotDetails => ({
  ...toApplicationDetails(application),
  bot: bot
    ? {
        id: bot.id,
        username: cleanName(bot.username) || bot.id,
        displayName: cleanName(bot.global_name) || cleanName(bot.username) || bot.id,
        avatar: toHttpsAddress(bot.avatarURL),
        flags: cleanList(bot.public_flags_array),
        servers: bot.approximate_guild_count ?? 0,
      }
    : null,
});

interface LookupSource<Schema extends TSchema> {
  readonly name: OutboundService;
  readonly url: string;
  readonly schema: Schema;
  readonly readId: (answer: Static<Schema>) => string;
  readonly toDetails: (answer: Static<Schema>) => BotDetails;
}

const queryBot = async <Schema extends TSchema>(
  source: LookupSource<Schema>,
  clientId: string,
  timeLimitMs: number,
): Promise<FetchResult<BotDetails>> => {
  const url = source.url.replaceAll('{id}', encodeURIComponent(clientId));
  const answer = await fetchJson(source.schema, { url, timeLimitMs, answerBytesMax });
  if (answer.kind !== 'ok') return answer;
  if (source.readId(answer.value) !== clientId) {
    return { kind: 'malformed', reason: 'the answer is about another application' };
  }
  return { kind: 'ok', value: source.toDetails(answer.value) };
};

const disabledLookup: ServiceLookup<BotDetails> = () =>
  Promise.resolve<LookupResult<BotDetails>>({ kind: 'failed', message: 'is not configured', isBusy: false });

const createLookup = <Schema extends TSchema>(
  source: LookupSource<Schema>,
  { clock, timeLimitMs = lookupMs, openMs, meters }: BotLookupOptions,
): ServiceLookup<BotDetails> =>
  source.url === ''
    ? disabledLookup
    : createServiceLookup({
        clock,
        query: (clientId) => queryBot(source, clientId, timeLimitMs),
        recordCall: (outcome, milliseconds) => meters?.recordCall(source.name, outcome, milliseconds),
        timeLimitMs,
        cacheMs,
        cacheEntriesMax,
        inFlightMax,
        openMs,
      });

/** Wires both sources. It owns their caches, so create one per process. */
export const createBotLookup = (options: BotLookupOptions) => ({
  /** Queries the look-up service: `bot` is `null` only if the application has none. At most `lookupMs`. */
  queryService: createLookup(
    {
      name: 'lookup',
      url: options.serviceUrl,
      schema: ServiceAnswer,
      readId: (answer) => answer.data.application.id,
      toDetails: toBotDetails,
    },
    options,
  ),
  /** Queries the platform: `bot` is always `null`. At most `lookupMs`. */
  queryPlatform: createLookup(
    {
      name: 'platform',
      url: options.platformUrl,
      schema: Application,
      readId: (answer) => answer.id,
      toDetails: (answer) => ({ ...toApplicationDetails(answer), bot: null }),
    },
    options,
  ),
});
export type BotLookup = ReturnType<typeof createBotLookup>;
