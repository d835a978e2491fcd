/**
 * Text that must always be refused, sent in every place of every route that accepts text: each string of each
 * body (found in the schemas), each parameter of each path, each value of each query, and the headers.
 *
 * A NUL, half a surrogate pair and bytes that are not UTF-8 are refused; line breaks never end a header;
 * blanks and invisible characters do not count where there is a minimum.
 */
import type { TSchema } from 'typebox';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { TokenKind } from '../../../engine/rules/token.ts';
import { routes } from '../../../http/api/table.ts';
import { listParameterNames } from '../../../http/request/match.ts';
import type { AnyRoute } from '../../../http/route.ts';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { type Answer, openWorld } from '../api/world.ts';
import { expected } from '../authorisation/expected.ts';
import { addPeople, newPeople } from '../authorisation/people.ts';
import { sampleOf } from '../authorisation/requests.ts';
import { raw } from '../raw.ts';

const test = suite('hostile texts');
const tokens = new Map<TokenKind, string>();

const world = await openWorld();
const people = await addPeople(world.sql, newPeople());
for (const kind of ['user', 'bot', 'server', 'team'] as const) {
  tokens.set(kind, await world.token(kind, people[kind]));
}
test.after(() => world.close());

const kindFor = (route: AnyRoute): TokenKind => expected[route.name]?.kinds[0] ?? 'user';
const sample = (route: AnyRoute) => sampleOf(route, people, kindFor(route));
let requests = 0;
/** A new address for every request, so that no rate limit applies. */
const address = (): string => {
  requests += 1;
  return `198.${18 + (requests >> 16)}.${(requests >> 8) & 255}.${requests & 255}`;
};
const tokenFor = (route: AnyRoute): string => tokens.get(kindFor(route)) ?? '';

interface Shape {
  readonly type?: string;
  readonly minLength?: number;
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly patternProperties?: Readonly<Record<string, Shape>>;
}

/** Values with `text` in one place each: every string below `shape`, members of lists and of maps as well. */
const placesOf = (shape: Shape, text: string): unknown[] => {
  if (shape.anyOf !== undefined) return shape.anyOf.flatMap((each) => placesOf(each, text));
  if (shape.type === 'string') return [text];
  if (shape.items !== undefined) return placesOf(shape.items, text).map((value) => [value]);
  const named = Object.entries(shape.properties ?? {});
  const inNamed = named.flatMap(([name, each]) => placesOf(each, text).map((value) => ({ [name]: value })));
  const inMaps = Object.values(shape.patternProperties ?? {}).flatMap((each) => [
    ...placesOf(each, text).map((value) => ({ word: value })),
    { [text]: 'word' },
  ]);
  return [...inNamed, ...inMaps];
};

/** Sends the sample request of a route with these fields in its body. */
const sendSpoilt = (route: AnyRoute, fields: object): Promise<Answer> => {
  const { path, body } = sample(route);
  const headers = { 'x-forwarded-for': address() };
  return world.ask(route.method, path, {
    token: tokenFor(route),
    body: { ...(body as object), ...fields },
    headers,
  });
};

const refusedTexts: readonly [string, string][] = [
  ['a NUL', 'Words and \u0000 more words.'],
  ['half a surrogate pair', 'Words and \ud83d more words.'],
];
for (const [name, text] of refusedTexts) {
  test(`${name} in any text of any body → 400`, async () => {
    let places = 0;
    for (const route of routes) {
      if (route.body === undefined) continue;
      for (const spoilt of placesOf(route.body as TSchema as Shape, text)) {
        const reply = await sendSpoilt(route, spoilt as object);
        assert.equal([reply.status, reply.json.context.code], [400, 'malformed_json'], route.name);
        places += 1;
      }
    }
    assert.ok(places > 50, String(places));
  });
}

/** `shape` without the strings that may be empty. */
const withMinimum = (shape: Shape): Shape => {
  if (shape.anyOf !== undefined) return { anyOf: shape.anyOf.map(withMinimum) };
  if (shape.type === 'string') return (shape.minLength ?? 0) > 0 ? shape : {};
  if (shape.items !== undefined) return { items: withMinimum(shape.items) };
  const named = Object.entries(shape.properties ?? {}).map(([name, each]) => [name, withMinimum(each)]);
  return { properties: Object.fromEntries(named) };
};

for (const [name, character] of [
  ['blanks', ' '],
  ['ideographic blanks', '\u3000'],
  ['invisible characters', '\u200b'],
] as const) {
  test(`${name} alone, in any text of any body that has a minimum → 400 naming it`, async () => {
    let places = 0;
    for (const route of routes) {
      if (route.body === undefined) continue;
      const shape = withMinimum(route.body as TSchema as Shape);
      // Enough of them for every minimum but the longest, and not too many for most maxima.
      for (const spoilt of placesOf(shape, character.repeat(30))) {
        const reply = await sendSpoilt(route, spoilt as object);
        assert.equal([reply.status, reply.json.context.code], [400, 'validation_failed'], route.name);
        const [field] = Object.keys(spoilt as object);
        const named = Object.keys(reply.json.context).some((pointer) => pointer.startsWith(`/${field}`));
        assert.ok(named, `${route.name} ${field}`);
        places += 1;
      }
    }
    assert.ok(places > 20, String(places));
  });
}

test('bytes that are not UTF-8 in a body of any route → 400', async () => {
  const host = `Host: a\r\nConnection: close\r\n`;
  for (const route of routes.filter(({ body }) => body !== undefined)) {
    for (const bytes of ['\xc0\xaf', '\xe0\x80\xaf', '\xed\xa0\x80', '\xf8\x88\x80\x80\x80', '\xff']) {
      const text = `{"name":"${bytes}"}`;
      const from = `Authorization: ${tokenFor(route)}\r\nX-Forwarded-For: ${address()}\r\n`;
      const head = `${route.method} ${sample(route).path} HTTP/1.1\r\n${host}${from}`;
      const answer = await raw(world.port, `${head}Content-Length: ${text.length}\r\n\r\n${text}`);
      assert.match(answer.text, /^HTTP\/1\.1 400 /, route.name);
      assert.match(answer.text, /"code":"malformed_json"/, route.name);
    }
  }
});

const segments = [
  '%00',
  'a%00b',
  '%0d%0aX-Evil:1',
  '%c0%af',
  '%ed%a0%80',
  '%ff',
  '%',
  '%2f',
  '%2e%2e',
  '..',
  '',
];
test('no parameter of a path holds a control character, half a character, a slash or a way up', async () => {
  for (const route of routes) {
    for (const name of listParameterNames(route.path)) {
      for (const segment of segments) {
        const path = route.path.replace(`{${name}}`, segment).replaceAll(/\{[a-z_]+\}/g, 'word');
        const request = `${route.method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
        const { text } = await raw(world.port, request);
        assert.match(text, /^HTTP\/1\.1 (404|405) /, `${route.method} ${path}: ${text}`);
        assert.not.match(text, /\r\nX-Evil/i);
      }
    }
  }
});

/** As long as an id may be, of characters of two, three and four bytes. */
const longIds = ['é', '一', '👻'].map((character) => character.repeat(128));
test('an id of 128 characters of any bytes is unknown, on any parameter of a path', async () => {
  const requests: Promise<void>[] = [];
  for (const route of routes) {
    for (const name of listParameterNames(route.path)) {
      for (const [type, id] of longIds.flatMap((id) => [['bot', id] as const, ['teams', id] as const])) {
        const filled = route.path.replace(`{${name}}`, encodeURIComponent(id));
        const path = filled.replaceAll('{target_type}', type).replaceAll(/\{[a-z_]+\}/g, '7');
        const from = { token: tokenFor(route), headers: { 'x-forwarded-for': address() } };
        const sent = route.body === undefined ? from : { ...from, body: sample(route).body };
        requests.push(
          world.ask(route.method, path, sent).then(({ status, text }) => {
            assert.ok(status < 500, `${route.method} ${path} → ${status} ${text}`);
          }),
        );
        if (requests.length >= 32) await Promise.all(requests.splice(0));
      }
    }
  }
  await Promise.all(requests);
});

test('listings with such ids are read and voted for, and no other request fails', async () => {
  const token = tokens.get('user') ?? '';
  for (const [index, id] of longIds.entries()) {
    await addUser(world.sql, id);
    await addBot(world.sql, id, { owner_id: id, vanity: `long-${index}` });
    const path = `/bots/${encodeURIComponent(id)}`;
    const replies = await Promise.all([
      world.ask('GET', path, { headers: { 'x-forwarded-for': address() } }),
      world.ask('GET', `/users/${encodeURIComponent(id)}${path}/votes`),
      ...Array.from({ length: 8 }, () => world.ask('GET', `/bots/${people.bot}`)),
    ]);
    assert.equal([...new Set(replies.map(({ status }) => status))], [200]);
    const vote = () => world.ask('PUT', `/users/${people.user}${path}/votes?upvote=true`, { token });
    assert.equal([(await vote()).status, (await vote()).status], [204, 429]);
  }
});

test('no value of a query or header breaks anything', async () => {
  const words = [
    '%00',
    '%0d%0aX-Evil:1',
    '%ed%a0%80',
    '%ff',
    '%',
    'x'.repeat(2_000),
    '%F0%9F%91%BB',
    '__proto__',
  ];
  for (const route of routes) {
    const named = Object.keys((route.query as Shape | undefined)?.properties ?? {});
    const names = route.method === 'GET' ? [...named, '__proto__', 'constructor'] : named;
    for (const name of names) {
      for (const word of words) {
        const path = `${sample(route).path.split('?')[0]}?${name}=${word}`;
        const from = { token: tokenFor(route), headers: { 'x-forwarded-for': address() } };
        const { status, headers } = await world.ask(route.method, path, from);
        assert.ok(status < 500, `${path} → ${status}`);
        assert.is(headers.get('x-evil'), null);
      }
    }
  }
});

test('no reply repeats the origin or allows credentials', async () => {
  for (const route of routes) {
    for (const origin of ['null', 'https://evil.example']) {
      const plain = await world.ask('GET', sample(route).path, { headers: { origin } });
      const before = await world.ask('OPTIONS', sample(route).path, {
        headers: { origin, 'access-control-request-method': route.method },
      });
      for (const { headers } of [plain, before]) {
        assert.is(headers.get('access-control-allow-origin'), '*', route.name);
        assert.is(headers.get('access-control-allow-credentials'), null, route.name);
        assert.is(headers.get('set-cookie'), null, route.name);
      }
    }
  }
});

test.run();
