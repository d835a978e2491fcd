/**
 * From the body of a stats post to the engine's post, with every integer to the digit.
 *
 * Parsing rounds integers beyond 2^53. Only then is the text parsed a second time, with the source of each
 * number; the ordinary post never pays for it. Throws `validation_failed`.
 */
import type { StatsPost } from '../../engine/engine.ts';
import { statsIntegerMax } from '../../engine/limits.ts';
import { invalid } from '../invalid.ts';
import { type App, type Caller, type Reply, text } from '../route.ts';
import type { StatsBody } from '../schema/bots.ts';
import { callerOf } from './request.ts';

/** A body whose numbers beyond 2^53 are bigints, or `null` when they have a fraction that parsing lost. */
interface ExactBody {
  readonly servers?: number | bigint | null;
  readonly shard_list?: readonly (number | bigint | null)[];
  readonly shards?: number | bigint | null;
  readonly users?: number | bigint | null;
}

const jsonNumber = /^(-?[0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/** The whole number that a JSON number's text says, `null` when it has a fraction. Its double is finite. */
const wholeNumberOf = (source: string): bigint | null => {
  const [, whole = '0', fraction = '', exponent = '0'] = jsonNumber.exec(source) ?? [];
  const digits = whole + fraction;
  const shift = Number(exponent) - fraction.length;
  if (shift >= 0) return BigInt(digits + '0'.repeat(shift));
  return /^0*$/.test(digits.slice(shift)) ? BigInt(digits.slice(0, shift)) : null;
};

const parseExactly = (text: string): ExactBody => {
  type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
  const reviver: Reviver = (_key, value, { source = '' }) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value) || !Number.isInteger(value)) return value;
    return wholeNumberOf(source);
  };
  // The third parameter is part of Node 22 but not yet of the library types.
  return JSON.parse(text, reviver as (key: string, value: unknown) => unknown) as ExactBody;
};

const digitsOf = (value: number | bigint | null, pointer: string): string => {
  const why =
    value === null
      ? 'must be a whole number'
      : typeof value === 'bigint' && value > statsIntegerMax
        ? `must be ${statsIntegerMax} or less`
        : '';
  if (why === '') return String(value);
  throw invalid('body', { [pointer]: why });
};

const isRounded = (value: number | undefined): boolean => value !== undefined && !Number.isSafeInteger(value);

/** The post of a checked body; `bodyText` is the body as sent. */
export const statsPostOf = (body: StatsBody, bodyText: string): StatsPost => {
  const rounded =
    isRounded(body.servers) ||
    isRounded(body.shards) ||
    isRounded(body.users) ||
    (body.shard_list?.some(isRounded) ?? false);
  const exact: ExactBody = rounded ? parseExactly(bodyText) : body;
  return {
    servers: exact.servers === undefined ? undefined : digitsOf(exact.servers, '/servers'),
    shards: exact.shards === undefined ? undefined : digitsOf(exact.shards, '/shards'),
    users: exact.users === undefined ? undefined : digitsOf(exact.users, '/users'),
    shardList: exact.shard_list?.map((value, index) => digitsOf(value, `/shard_list/${index}`)),
    status: body.status,
  };
};

const recorded = text(JSON.stringify({ message: 'Stats recorded.', context: {} }));

/** `POST /bots/stats`. Hot when it resolves. */
export const recordStats = (
  app: App,
  request: { readonly caller: Caller | null; readonly body: StatsBody; readonly bodyText: string },
): Promise<Reply> => {
  const post = statsPostOf(request.body, request.bodyText);
  return app.engine.postStats(callerOf(request).id, post).then(toRecorded);
};

const toRecorded = (): Reply => recorded;
