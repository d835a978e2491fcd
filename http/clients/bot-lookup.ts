/**
 * What the chat platform says about a bot, by the id of its application: from a look-up service, and from the
 * platform's own public endpoint, which knows less.
 *
 * Both are optional, and neither is trusted: texts are cut and cleaned, addresses must be https, and an
 * answer about another application than the one asked for is a failure. Called by the handlers that add bots
 * and show their metadata; what a failure means there is theirs to say.
 */
import { type Static, type TSchema, Type } from 'typebox';
import type { Clock } from '../../engine/ports.ts';
import type { OutsideMeters, OutsideService } from '../outside-meters.ts';
import { type Calm, createCalm, type Told } from './calm.ts';
import { type Answer, fetchJson } from './fetch-json.ts';

export interface BotAbout {
  readonly name: string;
  readonly description: string;
  /** Anybody may add it to a server. */
  readonly public: boolean;
  readonly tags: readonly string[];
  /** The bot of the application; `null` when it has none, or nobody says. */
  readonly bot: {
    readonly id: string;
    readonly username: string;
    readonly displayName: string;
    readonly avatar: string;
    readonly flags: readonly string[];
    readonly servers: number;
  } | null;
}

export interface BotLookup {
  /** Asks the look-up service: `bot` is `null` only if the application has none. At most `lookupMs`. */
  readonly service: Calm<BotAbout>;
  /** Asks the platform: `bot` is always `null`. At most `lookupMs`. */
  readonly platform: Calm<BotAbout>;
}

export interface BotLookupOptions {
  /** Addresses with `{id}` where the application's id goes; `''` is off. */
  readonly serviceUrl: string;
  readonly platformUrl: string;
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  readonly timeLimitMs?: number;
  readonly restMs?: number;
  readonly meters?: OutsideMeters;
}

/** One look-up, from connecting to the last byte. */
const lookupMs = 5_000;
const answerBytesMax = 65_536;
const keepMs = 60_000;
const keptMax = 1_000;
const askingMax = 32;
const failuresMax = 3;
const restMs = 10_000;

const orNothing = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]));
const Application = Type.Object({
  id: Type.String(),
  name: orNothing(Type.String()),
  description: orNothing(Type.String()),
  bot_public: orNothing(Type.Boolean()),
  tags: orNothing(Type.Array(Type.String())),
});
const ServiceAnswer = Type.Object({
  data: Type.Object({
    application: Application,
    bot: orNothing(
      Type.Object({
        id: Type.String({ pattern: '^[0-9]{15,20}$' }),
        username: Type.String(),
        global_name: orNothing(Type.String()),
        avatarURL: orNothing(Type.String()),
        public_flags_array: orNothing(Type.Array(Type.String())),
        approximate_guild_count: orNothing(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
      }),
    ),
  }),
});

/** At most so many characters, without control characters and halves of pairs, which SQL cannot keep. */
const clean = (text: string | null | undefined, charactersMax: number): string =>
  [
    ...(text ?? '')
      .toWellFormed()
      .replace(/\p{Cc}+/gu, ' ')
      .trim(),
  ]
    .slice(0, charactersMax)
    .join('');
const words = (list: readonly string[] | null | undefined): readonly string[] =>
  (list ?? []).slice(0, 32).map((word) => clean(word, 64));
const httpsOnly = (address: string | null | undefined): string =>
  address && address.length <= 512 && URL.canParse(address) && new URL(address).protocol === 'https:'
    ? new URL(address).href
    : '';

const applicationOf = (application: Static<typeof Application>) => ({
  name: clean(application.name, 128),
  description: clean(application.description, 4_096),
  public: application.bot_public ?? false,
  tags: words(application.tags),
});

const aboutOf = ({ data: { application, bot } }: Static<typeof ServiceAnswer>): BotAbout => ({
  ...applicationOf(application),
  bot: bot
    ? {
        id: bot.id,
        username: clean(bot.username, 128) || bot.id,
        displayName: clean(bot.global_name, 128) || clean(bot.username, 128) || bot.id,
        avatar: httpsOnly(bot.avatarURL),
        flags: words(bot.public_flags_array),
        servers: bot.approximate_guild_count ?? 0,
      }
    : null,
});

interface Source<Schema extends TSchema> {
  readonly name: OutsideService;
  readonly url: string;
  readonly schema: Schema;
  readonly idOf: (answer: Static<Schema>) => string;
  readonly read: (answer: Static<Schema>) => BotAbout;
}

const ask = async <Schema extends TSchema>(
  source: Source<Schema>,
  clientId: string,
  timeLimitMs: number,
): Promise<Answer<BotAbout>> => {
  const url = source.url.replaceAll('{id}', encodeURIComponent(clientId));
  const answer = await fetchJson(source.schema, { url, timeLimitMs, answerBytesMax });
  if (answer.kind !== 'ok') return answer;
  if (source.idOf(answer.value) !== clientId) {
    return { kind: 'malformed', reason: 'the answer is about another application' };
  }
  return { kind: 'ok', value: source.read(answer.value) };
};

const off: Calm<BotAbout> = () =>
  Promise.resolve<Told<BotAbout>>({ kind: 'failed', words: 'is not configured' });

const createSource = <Schema extends TSchema>(
  source: Source<Schema>,
  { clock, timeLimitMs = lookupMs, restMs: rest = restMs, meters }: BotLookupOptions,
): Calm<BotAbout> =>
  source.url === ''
    ? off
    : createCalm({
        clock,
        ask: (clientId) => ask(source, clientId, timeLimitMs),
        observe: (outcome, milliseconds) => meters?.asked(source.name, outcome, milliseconds),
        ...{ timeLimitMs, keepMs, keptMax, askingMax, failuresMax, restMs: rest },
      });

/** Wires both. Holds what was told lately, so one per process. */
export const createBotLookup = (options: BotLookupOptions): BotLookup => ({
  service: createSource(
    {
      name: 'lookup',
      url: options.serviceUrl,
      schema: ServiceAnswer,
      idOf: (answer) => answer.data.application.id,
      read: aboutOf,
    },
    options,
  ),
  platform: createSource(
    {
      name: 'platform',
      url: options.platformUrl,
      schema: Application,
      idOf: (answer) => answer.id,
      read: (answer) => ({ ...applicationOf(answer), bot: null }),
    },
    options,
  ),
});
