/**
 * From the body of a stats post to the engine's post, with every integer to the digit.
 *
 * Parsing rounds integers beyond 2^53. Only then is the text parsed a second time, with its numbers as
 * strings (a reviver, which sees the source of each, takes twice as long); the ordinary post never pays for
 * it. Throws `validation_failed`.
 */
import type { StatsPost } from '../../engine/engine.ts';
import { statsIntegerMax } from '../../engine/limits.ts';
import { findStringEnd } from '../request/body.ts';
import { createValidationError } from '../response/validation-error.ts';
import { type App, type Caller, type Reply, replyText } from '../route.ts';
import type { StatsBody } from '../schema/bots.ts';
import { requireCaller } from './request-values.ts';

/** The integers of a body, each as its number or as the digits that were sent. */
interface ExactBody {
  readonly servers?: number | string;
  readonly shard_list?: readonly (number | string)[];
  readonly shards?: number | string;
  readonly users?: number | string;
}

const jsonNumber = /^(-?[0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/** The whole number that a JSON number's text says, `null` when it has a fraction. Its double is finite. */
const parseWholeNumber = (source: string): bigint | null => {
  const [, whole = '0', fraction = '', exponent = '0'] = jsonNumber.exec(source) ?? [];
  const digits = whole + fraction;
  const shift = Number(exponent) - fraction.length;
  if (shift >= 0) return BigInt(digits + '0'.repeat(shift));
  return /^0*$/.test(digits.slice(shift)) ? BigInt(digits.slice(0, shift)) : null;
};

const jsonNumbers = /-?[0-9][0-9.eE+-]*/g;

/** The same text with every number as a string. It was parsed before, so it is JSON. */
const quoteNumbers = (text: string): string => {
  let quoted = '';
  let from = 0;
  for (let start = text.indexOf('"'); start !== -1; start = text.indexOf('"', from)) {
    const end = findStringEnd(text, start) + 1;
    quoted += text.slice(from, start).replace(jsonNumbers, '"$&"') + text.slice(start, end);
    from = end;
  }
  return quoted + text.slice(from).replace(jsonNumbers, '"$&"');
};

/** At most as many digits as the largest integer has: such numbers are compared as text. */
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

/** The post of a checked body; `bodyText` is the body as sent. */
export const toStatsPost = (body: StatsBody, bodyText: string): StatsPost => {
  const rounded =
    isRounded(body.servers) ||
    isRounded(body.shards) ||
    isRounded(body.users) ||
    (body.shard_list?.some(isRounded) ?? false);
  const exact: ExactBody = rounded ? JSON.parse(quoteNumbers(bodyText)) : body;
  return {
    servers: exact.servers === undefined ? undefined : toDigits(exact.servers, '/servers'),
    shards: exact.shards === undefined ? undefined : toDigits(exact.shards, '/shards'),
    users: exact.users === undefined ? undefined : toDigits(exact.users, '/users'),
    shardList: exact.shard_list?.map((value, index) => toDigits(value, `/shard_list/${index}`)),
    status: body.status,
  };
};

const recordedReply = replyText(JSON.stringify({ message: 'Stats recorded.', context: {} }));

/** `POST /bots/stats`. Hot when it resolves. */
export const recordStats = (
  app: App,
  request: { readonly caller: Caller | null; readonly body: StatsBody; readonly bodyText: string },
): Promise<Reply> => {
  const post = toStatsPost(request.body, request.bodyText);
  return app.engine.postStats(requireCaller(request).id, post).then(toRecordedReply);
};

const toRecordedReply = (): Reply => recordedReply;
