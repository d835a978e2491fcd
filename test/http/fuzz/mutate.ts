/**
 * Mutates requests in one to three places: tokens, paths, queries, bodies, headers, methods.
 *
 * Every mutation is a pure function of a request and the random source, so a seed and a number repeat a
 * request.
 */
import type { Random } from '../../../bench/shared/random.ts';

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `undefined` for no body. */
  readonly body?: string;
}

type Mutation = (sent: Sent, random: Random) => Sent;

/** Values that often break programs. */
const nastyValues: readonly unknown[] = [
  null,
  true,
  '',
  ' ',
  0,
  -1,
  -0,
  1.5,
  1e3,
  1e308,
  2 ** 53,
  18_446_744_073_709_552_000,
  18_446_744_073_709_556_000,
  '5',
  'x'.repeat(5_000),
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\u202eevil',
  '👩‍👩‍👧‍👦'.repeat(20),
  "'; drop table bots; --",
  '../../etc/passwd',
  '//evil.example',
  'line\r\nSet-Cookie: a=b',
  [],
  [[]],
  {},
  { __proto__: null, constructor: { prototype: 1 } },
  Array.from({ length: 200 }, (_, index) => index),
  ['a', 'a'],
  [null],
];

const nastySegments: readonly string[] = [
  '%00',
  '%2f',
  '%2e%2e',
  '..',
  '.',
  '%ff',
  '%',
  '%F0%9F%91%BB',
  '@all',
  '%40all',
  '@',
  'bots',
  'users',
  '%0d%0aX-Evil:1',
  ';a=b',
  '0',
  '-1',
  '999999999999999999999999',
  'x'.repeat(600),
  // As long as an id may be, of characters of two, three and four bytes.
  encodeURIComponent('é'.repeat(128)),
  encodeURIComponent('一'.repeat(128)),
  encodeURIComponent('👻'.repeat(128)),
  'servers.json',
  'card.svg',
  'votes.png',
  '%C2%A0',
];

const nastyQueries: readonly string[] = [
  'page=0',
  'page=-1',
  'page=1e3',
  'page=99999999999999999999',
  'page=',
  'page=1&page=2',
  'page[]=1',
  'page=%00',
  'target=page',
  'target=invite&target=page',
  'include=long,,,long',
  `team_includes=${'a,'.repeat(40)}`,
  'targets=',
  'targets=bot,server,team_member,nothing',
  'upvote=TRUE',
  'upvote=',
  'votes=-1',
  'votes=1.5',
  'votes=1e3',
  'votes=99999999999999999999',
  'itag=true',
  'itag=%ff',
  'style=plastic',
  'style=flat&label=%3C/svg%3E%3Cscript%3E&compact=true',
  'label=%01%EF%BF%BF%E2%80%AEx&color=fff',
  'color=red;url(x)',
  'compact=1',
  '=&=&&',
  '%',
];

const nastyBodies: readonly string[] = [
  '',
  '{',
  'null',
  '[]',
  '"text"',
  '12',
  '{"a":1}x',
  '{"a":1,}',
  "{'a':1}",
  '// comment\n{}',
  '\ufeff{}',
  '{"__proto__":{"admin":true}}',
  '{"servers":1,"servers":2}',
  '{"servers":1e400}',
  `{"servers":${'9'.repeat(400)}}`,
  `${'['.repeat(40)}${']'.repeat(40)}`,
  `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
  '{"short":"\\ud800"}',
  '{"short":"\\u0000"}',
];

const nastyHeaders: readonly (readonly [string, string])[] = [
  ['content-encoding', 'gzip'],
  ['content-type', 'text/plain; charset=utf-16'],
  ['if-none-match', '*'],
  ['if-none-match', '"x", W/"y"'],
  ['x-request-id', 'short'],
  ['x-request-id', '<script>alert(1)</script>'],
  ['x-forwarded-for', 'garbage, 1.2.3.4:80, [::1]'],
  ['accept', 'application/xml'],
  ['origin', 'null'],
  ['origin', 'https://evil.example'],
  ['range', 'bytes=0-1'],
  ['user-agent', 'x'.repeat(1_000)],
];

const nastyTokens: readonly string[] = [
  '',
  'User',
  'User ',
  'Bearer abc',
  'rc_user_1_',
  'rc_bot_1_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
  `rc_user_${'9'.repeat(400)}_x`,
  'null',
  'rc_user__x',
];

const withoutTokens = (headers: Sent['headers']): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !/auth/.test(name)));

const spoilToken: Mutation = (sent, random) => {
  const name = random.pick(['authorization', 'user-auth', 'bot-auth', 'server-auth', 'team-auth']);
  return { ...sent, headers: { ...withoutTokens(sent.headers), [name]: random.pick(nastyTokens) } };
};

const addSecondToken: Mutation = (sent, random) => ({
  ...sent,
  headers: { ...sent.headers, 'team-auth': random.pick(nastyTokens) },
});

const dropToken: Mutation = (sent) => ({ ...sent, headers: withoutTokens(sent.headers) });

const spoilPath: Mutation = (sent, random) => {
  const [path = '/', ...query] = sent.path.split('?');
  const segments = path.split('/');
  segments[1 + random.below(Math.max(1, segments.length - 1))] = random.pick(nastySegments);
  return { ...sent, path: [segments.join('/'), ...query].join('?') };
};

const stretchPath: Mutation = (sent, random) => ({
  ...sent,
  path: random.pick([`${sent.path}/`, `/${sent.path}`, `${sent.path}/x`, `${sent.path}?`, `${sent.path}#x`]),
});

const spoilQuery: Mutation = (sent, random) => ({
  ...sent,
  path: `${sent.path.split('?')[0]}?${random.pick(nastyQueries)}`,
});

const replaceBody: Mutation = (sent, random) => ({ ...sent, body: random.pick(nastyBodies) });

const spoilField: Mutation = (sent, random) => {
  if (sent.body === undefined) return replaceBody(sent, random);
  try {
    const fields = JSON.parse(sent.body) as Record<string, unknown>;
    const name = random.pick([...Object.keys(fields), 'extra']);
    const { [name]: _, ...rest } = fields;
    const spoilt = random.below(4) === 0 ? rest : { ...rest, [name]: random.pick(nastyValues) };
    return { ...sent, body: JSON.stringify(spoilt) };
  } catch {
    return sent;
  }
};

const addHeader: Mutation = (sent, random) => {
  const [name, value] = random.pick(nastyHeaders);
  return { ...sent, headers: { ...sent.headers, [name]: value } };
};

const changeMethod: Mutation = (sent, random) => ({
  ...sent,
  method: random.pick(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']),
});

const mutations: readonly Mutation[] = [
  spoilToken,
  addSecondToken,
  dropToken,
  spoilPath,
  stretchPath,
  spoilQuery,
  replaceBody,
  spoilField,
  spoilField,
  spoilField,
  addHeader,
  changeMethod,
];

/** Mutates a request in one to three places; one request in five stays valid. */
export const mutate = (sent: Sent, random: Random): Sent => {
  let spoilt = sent;
  const times = random.below(5) === 0 ? 0 : 1 + random.below(3);
  for (let index = 0; index < times; index += 1) spoilt = random.pick(mutations)(spoilt, random);
  return spoilt;
};
