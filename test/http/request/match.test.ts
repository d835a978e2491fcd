/**
 * The matcher: which path matches which route, and which paths match nothing.
 *
 * By table and by property; the same matcher serves requests and `npm run routes`.
 */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createMatcher, listParameterNames } from '../../../http/request/match.ts';
import type { Method } from '../../../http/route.ts';

const test = suite('match');

// biome-ignore lint/suspicious/noControlCharactersInRegex: characters that no parameter may contain.
const refused = /[\u0000-\u001f\u007f/]/;

const table: readonly [Method, string][] = [
  ['GET', '/'],
  ['GET', '/bots/@all'],
  ['GET', '/bots/{id}'],
  ['DELETE', '/bots/{id}'],
  ['GET', '/bots/{client_id}/meta'],
  ['POST', '/bots/stats'],
  ['PUT', '/bots'],
  ['GET', '/@{code}'],
  ['GET', '/users/notifications/info'],
  ['GET', '/users/{id}/notifications'],
  ['PUT', '/users/{uid}/{target_type}/{target_id}/votes'],
  ['GET', '/{target_type}/{target_id}/sessions'],
  ['GET', '/votes/credit-tiers'],
];
const matcher = createMatcher(table.map(([method, path]) => ({ route: { method, path } })));
const find = (method: string, path: string) => {
  const match = matcher.find(method, path);
  const { route } = match?.route ?? {};
  return { ...match, row: route && `${route.method} ${route.path}` };
};

const found: readonly [string, string, string, string[]][] = [
  ['GET', '/', 'GET /', []],
  ['HEAD', '/', 'GET /', []],
  ['GET', '/bots/@all', 'GET /bots/@all', []],
  ['GET', '/bots/%40all', 'GET /bots/@all', []],
  ['GET', '/bots/1', 'GET /bots/{id}', ['1']],
  ['GET', '/bots/@allx', 'GET /bots/{id}', ['@allx']],
  ['GET', '/bots/%2540all', 'GET /bots/{id}', ['%40all']],
  ['GET', '/bots/a%20b', 'GET /bots/{id}', ['a b']],
  ['GET', '/bots/..x', 'GET /bots/{id}', ['..x']],
  ['GET', '/bots/stats/meta', 'GET /bots/{client_id}/meta', ['stats']],
  ['POST', '/bots/stats', 'POST /bots/stats', []],
  ['GET', '/@abc', 'GET /@{code}', ['abc']],
  ['GET', '/%40abc', 'GET /@{code}', ['abc']],
  ['GET', '/users/notifications/info', 'GET /users/notifications/info', []],
  ['GET', '/users/notifications/notifications', 'GET /users/{id}/notifications', ['notifications']],
  ['PUT', '/users/1/bot/2/votes', 'PUT /users/{uid}/{target_type}/{target_id}/votes', ['1', 'bot', '2']],
  ['GET', '/bots/1/sessions', 'GET /{target_type}/{target_id}/sessions', ['bots', '1']],
];
for (const [method, path, row, values] of found) {
  test(`${method} ${path} → ${row}`, () => {
    const match = find(method, path);

    assert.is(match.row, row);
    assert.equal(match.values, values);
  });
}

const unknown = [
  '',
  'bots/1',
  '//',
  '/bots/',
  '/bots//meta',
  '//bots/1',
  '/bots/.',
  '/bots/..',
  '/bots/../users/5/notifications',
  '/bots/%2e%2e/meta',
  '/bots/%2E',
  '/bots/a%2fb',
  '/bots/a%2Fmeta',
  '/bots/a%00',
  '/bots/a%0d%0aX-A:1',
  '/bots/%',
  '/bots/%zz',
  '/bots/%c3',
  '/bots/%ff%fe',
  '/Bots/1',
  '/@',
  '/%40',
  '/nothing',
  '/bots/1/2/3/4/5/6/7/8/9/10/11/12/13/14',
  `/${'a/'.repeat(3_000)}b`,
];
for (const path of unknown) {
  test(`GET ${path.slice(0, 60)} → unknown path`, () => {
    assert.is(matcher.find('GET', path), null);
  });
}

test('a known path with another method lists the allowed ones', () => {
  assert.equal(matcher.find('POST', '/bots/1'), {
    route: undefined,
    values: ['1'],
    allow: 'GET, DELETE, HEAD, OPTIONS',
  });
  assert.is(matcher.find('GET', '/bots/stats')?.allow, 'POST, OPTIONS');
  assert.is(matcher.find('HEAD', '/bots')?.route, undefined);
});

test('two routes of one method and path are rejected', () => {
  const create = (...paths: readonly string[]) =>
    createMatcher(paths.map((path) => ({ route: { method: 'GET' as const, path } })));

  assert.throws(() => create('/a/{x}', '/a/{y}'), /two routes/);
  assert.throws(() => create('a'), /slash/);
  assert.throws(() => create('/a//b'), /invalid segment/);
});

test('every route matches its own path with any text as parameters, and returns that text', () => {
  const text = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }).filter((word) => {
    const plain = word.isWellFormed() && !refused.test(word) && word !== '.' && word !== '..';
    return (
      plain && !['@all', 'stats', 'notifications', 'votes', 'bots', 'users'].includes(word) && word[0] !== '@'
    );
  });
  fc.assert(
    fc.property(
      fc.constantFrom(...table),
      fc.array(text, { minLength: 3, maxLength: 3 }),
      ([method, path], words) => {
        const names = listParameterNames(path);
        const used = words.slice(0, names.length);
        let index = 0;
        const real = path.replaceAll(/\{[a-z_]+\}/g, () => encodeURIComponent(used[index++] as string));
        const match = find(method, real);
        assert.is(match.row, `${method} ${path}`);
        assert.equal(match?.values, used);
      },
    ),
  );
});

test('no path makes the matcher throw, and no parameter contains a slash or NUL or is empty', () => {
  const piece = fc.oneof(
    fc.constantFrom('/', '.', '..', '%2f', '%2e', '%00', '%', '@', 'bots', 'users', ';', '\\'),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const match = matcher.find('GET', `/${pieces.join('')}`);
      for (const value of match?.values ?? [])
        assert.not.ok(refused.test(value) || ['', '.', '..'].includes(value), value);
    }),
    { examples: [[['@', '.']], [['@', '..']]] },
  );
});

test.run();
