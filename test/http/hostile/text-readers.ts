/**
 * What reads text from outside besides expressions: packages, functions of the platform, parsers of our own.
 *
 * text-readers.test.ts fails for a package or a function that the product uses and that is not here, and
 * judges the expressions of the packages; faults/cases/http-text-readers.fault.ts gives each reader hostile
 * texts, once and twice as long.
 */
import bowser from 'bowser';
import ipaddr from 'ipaddr.js';
import Format from 'typebox/format';
import { measureVisibleLength } from '../../../engine/rules/text.ts';
import { parseToken } from '../../../engine/rules/token.ts';
import { findVanityCodeFault, toSlug } from '../../../engine/rules/vanity.ts';
import { renderBadgeSvg, renderCardSvg } from '../../../http/api/badges/badge-pictures.ts';
import { toStatsPost } from '../../../http/api/bots/stats.ts';
import { parseMetrics } from '../../../http/api/history/history-points.ts';
import { parseSearch } from '../../../http/api/search.ts';
import { checkKey } from '../../../http/api/shared/once.ts';
import { groupByRequest } from '../../../http/client/log.ts';
import type { VoteLogResult } from '../../../http/client/types.ts';
import { parseLogCursor } from '../../../http/feed/cursor.ts';
import { parseFeedQuery, parseMessage } from '../../../http/feed/requests.ts';
import { findAddressFault } from '../../../http/outbound/guarded-address.ts';
import { parseRetryAfterMs } from '../../../http/outbound/retry-after.ts';
import { findFormatFault, isWebhookSecret } from '../../../http/outbound/webhooks/formats.ts';
import { chooseMediaType } from '../../../http/request/call.ts';
import { parseBody } from '../../../http/request/check.ts';
import { createMatcher } from '../../../http/request/match.ts';
import { findSuccessor } from '../../../http/request/retired-paths.ts';
import { escapeMarkup, removeControls } from '../../../http/response/document.ts';
import { parseTrustedProxies, toClientAddress } from '../../../http/server/client-address.ts';
import { decodeText, RequestHeaders, takeHeader } from '../../../http/server/wire.ts';
import { escapeUnsafe } from '../../../ops/log/log.ts';
import { computeSkeleton } from '../../../storage/catalogue/operator/look-alikes.ts';
import { checkLine } from '../../../storage/import/check.ts';

type Read = (text: string) => unknown;

const forStores = 'speaks to the stores; texts are parameters there';
const fromUs = 'gets what we or the operator wrote';

/** Packages: the files whose expressions see text from outside, or why none does. */
export const packages: Readonly<Record<string, readonly string[] | string>> = {
  bowser: ['bowser/es5.js'],
  'ipaddr.js': ['ipaddr.js/lib/ipaddr.js'],
  typebox: 'its expressions are the patterns of our schemas, which expressions.test.ts judges',
  ajv: 'its expressions are the patterns of our schemas, which expressions.test.ts judges',
  'badge-maker': ['badge-maker/lib/*.js', 'anafanafo/index.js', 'css-color-converter/lib/*.js'],
  oauth4webapi: ['oauth4webapi/build/index.js'],
  'web-push': ['web-push/src/*.js'],
  undici: ['undici/lib/core/util.js', 'undici/lib/dispatcher/client*.js'],
  uuid: ['uuid/dist/*.js'],
  'markdown-it': 'its work is bounded by counted steps: test/http/markdown',
  'uWebSockets.js': 'is no JavaScript; header-bytes.test.ts and framing.test.ts are about it',
  pino: fromUs,
  'prom-client': fromUs,
  'node-cron': fromUs,
  'lru-cache': 'matches no text',
  '@electric-sql/pglite': forStores,
  '@electric-sql/pglite-socket': forStores,
  ioredis: forStores,
  redis: forStores,
  lmdb: forStores,
  msgpackr: forStores,
  postgres: forStores,
  postgrator: forStores,
  uplot: 'draws numbers',
  '@resvg/resvg-js': 'is no JavaScript; draws names and short texts',
  node: 'the platform, below',
  'cli-progress': fromUs,
  'csv-parse': 'reads what an operator imports, byte by byte, within a bound for each row',
};

/** Expressions of packages that are slow on some text, and why such a text does not reach them. */
export const slowOnes: Readonly<Record<string, string>> = {
  '/^\\s+(.*)$/': 'oauth4webapi applies it to a header, which has no line breaks',
  '/%.+$/': 'ipaddr.js applies it to what has one zone of letters and digits, at its end',
};

/** In marks of several classes one after the other, it sorts each by steps: only for short texts. */
const sorts = 'of names and short texts, whose schemas bound them';

/** A host's marks are sorted, too: addresses are bounded by schemas, and where services send them. */
const addressMax = 512;

/** Functions of the platform: how each is called with a text, or why no long text reaches it. */
export const platform: Readonly<Record<string, Read | string>> = {
  'JSON.parse': (text) => JSON.parse(text),
  URL: (text) => new URL(`https://${text.slice(0, addressMax)}`),
  'URL.canParse': (text) => URL.canParse(`https://a.b/${text}`),
  'URL.parse': (text) => URL.parse(`https://a.b/?${text}`),
  URLSearchParams: (text) => [...new URLSearchParams(text)],
  decodeURIComponent: (text) => decodeURIComponent(text),
  'Date.parse': (text) => Date.parse(text),
  Date: (text) => new Date(text),
  TextDecoder: (text) => new TextDecoder().decode(Buffer.from(text)),
  TextDecoderStream: 'the same decoder as TextDecoder',
  'URL.createObjectURL': 'reads no text',
  'URL.revokeObjectURL': 'reads no text',
  atob: (text) => atob(text),
  BigInt: 'of digits that an expression counts: at most 20',
  'Intl.Segmenter': (text) => [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)][0],
  'Intl.NumberFormat': 'formats numbers',
  'Intl.RelativeTimeFormat': 'formats numbers',
  normalize: sorts,
  localeCompare: sorts,
  toLocaleString: 'formats numbers',
  toWellFormed: (text) => text.toWellFormed(),
  isWellFormed: (text) => text.isWellFormed(),
};
/** Where it is called; each text is bounded before. */
export const normalised: readonly string[] = [
  'engine/rules/vanity.ts',
  'http/site/cards/draw.ts',
  'storage/catalogue/operator/look-alikes.ts',
];

const proxies = parseTrustedProxies(['10.0.0.0/8', '::/0']);
const matcher = createMatcher([{ route: { method: 'GET', path: '/bots/{id}/votes/{uid}' } }] as never);
const twice = (text: string): string => text + text;
const toVote = (author: string): VoteLogResult => ({ created_at: '', author }) as VoteLogResult;
const nameMax = 64;

/** Parsers that see text from outside; those behind a schema with a length also see longer texts here. */
export const parsers: Readonly<Record<string, Read>> = {
  'User-Agent': (text) => bowser.parse(text),
  'an address': (text) => [ipaddr.isValid(text), ipaddr.IPv6.isValid(`::${text}`), ipaddr.isValidCIDR(text)],
  'X-Forwarded-For': (text) => toClientAddress('10.0.0.1', text, proxies),
  'X-Forwarded-For, IPv6': (text) => toClientAddress('10.0.0.1', `::%a${text}`, proxies),
  Accept: (text) => chooseMediaType(text, ['application/json', 'text/html']),
  'headers of one connection': (text) => {
    const headers = new RequestHeaders();
    for (const name of ['connection', 'transfer-encoding', 'if-none-match', 'accept', 'content-length'])
      for (const part of text.split(',')) takeHeader(headers, name, part);
  },
  'Idempotency-Key': (text) => checkKey({ headers: { idempotencyKey: text } } as never),
  'Retry-After': (text) => parseRetryAfterMs({ 'retry-after': text, date: text }),
  'a token': (text) => [parseToken(text), parseToken(`rc_user_${text}`)],
  'a path': (text) => matcher.find('GET', `/bots/${text}/votes/${text}`),
  'a path of another directory': (text) => [findSuccessor(text), findSuccessor(`/api/v1/bots/${text}`)],
  'a body': (text) => parseBody(text),
  'a body with a text': (text) => parseBody(`{"a":"${text}"}`),
  'stats with a long number': (text) => toStatsPost({ servers: 1e30 }, `{"servers":1e30,"a":"${text}"`),
  'bytes of a body': (text) => decodeText(Buffer.from(text)),
  uuid: (text) => Format.IsUuid(text),
  'date-time': (text) => Format.IsDateTime(`2026-01-01T00:00:00${text}`),
  'visible length': (text) => measureVisibleLength(text),
  'a vanity code': (text) => findVanityCodeFault(text),
  'a name as a code': (text) => toSlug(text.slice(0, nameMax)),
  'a name that looks like another': (text) => computeSkeleton(text.slice(0, nameMax)),
  'words of a search': (text) => parseSearch({ q: text }),
  'tags of a search': (text) => parseSearch({ tags: text }),
  'metrics of a history': (text) => parseMetrics('bot', text),
  'a badge': (text) =>
    renderBadgeSvg({ style: 'flat', label: text, message: text, color: text, labelColor: text }),
  'a card': (text) => renderCardSvg({ name: text, values: [], status: null }),
  'a cursor': (text) => parseLogCursor(text),
  'a subscription': (text) => parseFeedQuery({ targets: text, channels: text }, text),
  'a message of a follower': (text) => parseMessage(`{"op":"subscribe","targets":["${text}"]}`),
  'a webhook': (text) => [
    findFormatFault('discord', `https://a.b/${text}`),
    isWebhookSecret(`whsec_${text}`),
  ],
  'an address to send to': (text) => [
    findAddressFault(text.slice(0, addressMax), 'public'),
    findAddressFault(`https://${text.slice(0, addressMax)}`, 'any'),
  ],
  'a line of an import': (text) => checkLine(text),
  'a record of an import': (text) => checkLine(`{"kind":"user","user_id":"${text}","a":${text}`),
  'text of a page': (text) => escapeMarkup(removeControls(text)),
  'a line of the log': (text) => escapeUnsafe(text),
  'votes in the client': (text) => groupByRequest(Array.from(text, () => toVote('1'))),
  'votes of many in the client': (text) =>
    groupByRequest(Array.from(twice(text), (_, at) => toVote(`${at % 1_000}`))),
};

/** What hostile texts are made of: repeated, after some beginning. */
export const fragments: readonly string[] = [
  ...['a', ' ', '\t', '.', 'a.', '-', '_', '/', '\\', '"', '\\"', "'", ',', ';', ':', '::', '1:', '%', '%41'],
  ...[
    '0',
    '1',
    '1.',
    '1e',
    '[',
    ']',
    '[1,',
    '{"a":',
    '(',
    ')',
    '&',
    '=',
    'a=b&',
    '<',
    '>',
    '@',
    '#',
    '?',
    '+',
  ],
  ...[
    '; ',
    'a/',
    '*/*,',
    'a/b;q=',
    ';q=0',
    ';q=0.1;',
    '/1 ',
    'Mozilla/5.0 (',
    'Android ',
    'Version/1.',
    'like ',
  ],
  ...['Windows NT ', 'Mac OS X 1_', 'iPhone OS ', 'opera ', 'SamsungBrowser/', 'Chrome/1 ', 'bot ', 'Build/'],
  ...['\n', '\r\n', '\n\n', '\u0001', '\u00a0', '\u2028', '\u3164', '\u200d', '\u0301', '\u0334\u0323', 'é'],
  ...[
    'あ',
    '🦊',
    '🇦',
    '👩\u200d',
    'क्',
    'ﷺ',
    'İ',
    '\\u0000',
    '\\\\',
    '\ud800',
    'xn--',
    'xn--a.',
    '::ffff:',
    'q',
  ],
  ...['whsec_', 'rc_user_', '00:00', 'T', 'Z', '-1', '123456789', 'bot/1,', '1.2,', 'close,', 'W/"a",', ', '],
];
export const beginnings: readonly string[] = ['', 'a', '"'];
