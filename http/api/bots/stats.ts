/**
 * Converts the body of a stats post for the engine, with every integer exact.
 *
 * `JSON.parse` rounds integers beyond 2^53. Only a body with such an integer is parsed a second time, with
 * these as strings; ordinary posts do not pay for it. Throws `validation_failed`.
 */
import type { StatsPost } from '../../../engine/engine.ts';
import { limits, statsIntegerMax } from '../../../engine/limits.ts';
import { parseExact } from '../../../engine/tools/exact-json.ts';
import type { App } from '../../app.ts';
import type { Caller } from '../../auth/auth.ts';
import { requireCaller } from '../../auth/authorise.ts';
import { createValidationError } from '../../response/errors.ts';
import { type Reply, replyText } from '../../response/reply.ts';
import type { BodyLimits } from '../../route.ts';
import type { StatsBody } from './schema.ts';

/** A full `shard_list` of 20-digit numbers takes 344,000 bytes; real clients also send unknown fields. */
export const statsBodyLimits: BodyLimits = {
  bytesMax: 393_216,
  fieldsMax: 64,
  valuesMax: limits.shardListEntriesMax + 1_024,
};

/** The integers of a body, each as a number or as the digits that were sent. */
interface ExactBody {
  readonly servers?: number | string;
  readonly shard_list?: readonly (number | string)[];
  readonly shards?: number | string;
  readonly users?: number | string;
}

const jsonNumber = /^(-?[0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/** Parses the text of a JSON number; `null` if it has a fraction. Its value as a double must be finite. */
const parseWholeNumber = (source: string): bigint | null => {
  const [, whole = '0', fraction = '', exponent = '0'] = jsonNumber.exec(source) ?? [];
  const digits = whole + fraction;
  if (/^-?0+$/.test(digits)) return 0n; // Of zero, every exponent is finite.
  const shift = Number(exponent) - fraction.length;
  if (shift >= 0) return BigInt(digits + '0'.repeat(shift));
  return /^0*$/.test(digits.slice(shift)) ? BigInt(digits.slice(0, shift)) : null;
};

/** Numbers with at most as many digits as the largest integer: they can be compared as text. */
const plainDigits = /^(0|[1-9][0-9]{0,19})$/;

const largest = String(statsIntegerMax);

const toDigits = (number: number | string, pointer: string): string => {
  const source = String(number);
  if (plainDigits.test(source) && (source.length < largest.length || source <= largest)) return source;
  const value = parseWholeNumber(source);
  if (value === null) throw createValidationError('body', { [pointer]: 'must be a whole number' });
  if (value > statsIntegerMax)
    throw createValidationError('body', { [pointer]: `must be ${statsIntegerMax} or less` });
  return String(value);
};

const isRounded = (value: number | undefined): boolean => value !== undefined && !Number.isSafeInteger(value);

/** Builds the engine's post from a checked body; `bodyText` is the body as it was sent. */
export const toStatsPost = (body: StatsBody, bodyText: string): StatsPost => {
  const isAnyRounded =
    isRounded(body.servers) ||
    isRounded(body.shards) ||
    isRounded(body.users) ||
    (body.shard_list?.some(isRounded) ?? false);
  const exact: ExactBody = isAnyRounded ? (parseExact(bodyText, () => true) as ExactBody) : body;
  return {
    servers: exact.servers === undefined ? undefined : toDigits(exact.servers, '/servers'),
    shards: exact.shards === undefined ? undefined : toDigits(exact.shards, '/shards'),
    users: exact.users === undefined ? undefined : toDigits(exact.users, '/users'),
    shardList: exact.shard_list?.map((value, index) => toDigits(value, `/shard_list/${index}`)),
    status: body.status,
  };
};

const buildReply = (context: Record<string, string>, message = 'Stats recorded.'): Reply =>
  replyText(JSON.stringify({ message, context }));

const recordedReply = buildReply({});

/** The bot was in mode `sharded` until now (bot-shards.ts). */
const endedReply = buildReply({ mode: 'totals' });

const hasStats = ({ servers, shards, users, shardList, status }: StatsPost): boolean =>
  (servers ?? shards ?? users ?? shardList ?? status) !== undefined;

const namesMax = 5;
const nameLengthMax = 40;
const unknownMessage =
  'No number has changed: this body has none of the fields servers, users, shards, shard_list and status.';

/** The reply to a body without any known field: `{}` is a sign of life, other names are a mistake. */
const buildReplyToUnknown = (body: StatsBody): Reply => {
  const names = Object.keys(body).slice(0, namesMax);
  if (names.length === 0) return recordedReply;
  const ignored = names.map((name) => name.slice(0, nameLengthMax)).join(', ');
  return buildReply({ ignored }, unknownMessage);
};

/** `POST /bots/stats`. *Hot* when it resolves. */
export const recordStats = (
  app: App,
  request: { readonly caller: Caller | null; readonly body: StatsBody; readonly bodyText: string },
): Promise<Reply> => {
  const post = toStatsPost(request.body, request.bodyText);
  return app.engine.postStats(requireCaller(request).id, post).then(({ endsParts }) => {
    app.counts.statsPosts += 1;
    if (!hasStats(post)) return buildReplyToUnknown(request.body);
    return endsParts ? endedReply : recordedReply;
  });
};
