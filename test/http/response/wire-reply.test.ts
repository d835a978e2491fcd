/**
 * The headers of replies: caching, entity tags, CORS, rate limits; and the documents of the public listener.
 *
 * Against a real server with sample routes.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertIncludes } from '../../support/assert-includes.ts';
import { raw } from '../raw.ts';
import { ask, openWorld } from '../world.ts';

const test = suite('reply');
const world = await openWorld();
test.after(() => world.close());

const user = world.token('user', 'u1');
const auth = (token: string): Record<string, string> => ({ Authorization: token });

test('the same entity tag → 304 without a body, another one → 200', async () => {
  const first = await ask(world, 'GET', '/things/a');
  const etag = first.headers.get('etag') ?? '';

  for (const tag of [etag, `"x", W/${etag}`, '*']) {
    const again = await ask(world, 'GET', '/things/a', { headers: { 'If-None-Match': tag } });
    assert.is(again.status, 304, tag);
    assert.is(again.text, '');
  }
  for (const tag of ['"other"', etag.replace('"', '"a'), etag.replace(/"$/, 'a"'), `${etag.slice(0, 9)}"`]) {
    const other = await ask(world, 'GET', '/things/a', { headers: { 'If-None-Match': tag } });
    assert.is(other.status, 200, tag);
  }
});

test('the tag with the suffix of a proxy → 304', async () => {
  const etag = (await ask(world, 'GET', '/things/a')).headers.get('etag') ?? '';
  const inside = [
    '-gzip',
    ';gzip',
    '--gzip',
    ':gzip',
    '-br',
    '-zstd',
    '-df',
    '-gzip-gzip',
    '.gz',
    ':1606743433.25',
  ];
  const tags = [...inside.map((suffix) => etag.replace(/"$/, `${suffix}"`)), `${etag}-gzip`, `${etag};gzip`];
  for (const tag of tags.flatMap((suffixed) => [suffixed, `W/${suffixed}`, `"x", ${suffixed}`])) {
    const again = await ask(world, 'GET', '/things/a', { headers: { 'If-None-Match': tag } });
    assert.equal([again.status, again.headers.get('etag')], [304, etag], tag);
  }
});

test('entity tags in several lines are one list', async () => {
  const etag = (await ask(world, 'GET', '/things/a')).headers.get('etag') ?? '';
  const lines = (tags: readonly string[]): string => tags.map((tag) => `If-None-Match: ${tag}\r\n`).join('');

  for (const tags of [
    [etag, '"x"'],
    ['"x"', '"y"', `W/${etag}`],
  ]) {
    const { text } = await raw(world.port, `GET /things/a HTTP/1.1\r\nHost: a\r\n${lines(tags)}\r\n`);
    assert.match(text, /^HTTP\/1\.1 304 /, tags.join());
  }
});

test('the reply to a counted request or to a token must not be cached', async () => {
  const counted = await ask(world, 'GET', '/things/a?target=page');
  const own = await ask(world, 'GET', '/user/u1/guarded', { headers: auth(user) });
  const list = await ask(world, 'GET', '/things/@all');

  assert.is(counted.headers.get('cache-control'), 'no-store');
  assert.is(counted.headers.get('etag'), null);
  assert.is(own.headers.get('cache-control'), 'no-store');
  assert.is(list.headers.get('cache-control'), 'max-age=2');
  assert.ok(list.headers.get('etag'));
});

test('405 names the allowed methods', async () => {
  assert.is((await ask(world, 'DELETE', '/things/a')).headers.get('allow'), 'GET, HEAD, OPTIONS');
});

test('OPTIONS on a known path → 204 with the CORS rules, on an unknown one → 404', async () => {
  const answer = await ask(world, 'OPTIONS', '/things/stats', { headers: { Origin: 'https://a.example' } });

  assert.is(answer.status, 204);
  assert.is(answer.headers.get('access-control-allow-origin'), '*');
  assert.is(answer.headers.get('access-control-allow-credentials'), null);
  assert.match(answer.headers.get('access-control-allow-methods') ?? '', /POST/);
  assert.match(answer.headers.get('access-control-allow-headers') ?? '', /Authorization.*Team-Auth/);
  assert.is((await ask(world, 'OPTIONS', '/nothing')).status, 404);
});

test('a preflight allows the headers it asks for, beside those that the API reads', async () => {
  const preflight = async (requested: string): Promise<readonly string[]> => {
    const headers = { Origin: 'https://a.example', 'Access-Control-Request-Headers': requested };
    const answer = await ask(world, 'OPTIONS', '/things/stats', { headers });
    assert.is(answer.status, 204);
    return (answer.headers.get('access-control-allow-headers') ?? '').split(', ');
  };

  const requested = [
    'authorization',
    'cache-control',
    'x-requested-with',
    'sentry-trace',
    'x-datadog-trace-id',
  ];
  const allowed = await preflight(requested.join(', '));
  for (const name of [...requested, 'Bot-Auth']) assertIncludes(allowed, name, name);
  const usual = await preflight('');
  for (const odd of ['a b', 'a: b', '"', ',', `x-${'y'.repeat(2_000)}`])
    assert.equal(await preflight(odd), usual, odd);
});

test('any page may read every kind of reply, whether an Origin was sent or not', async () => {
  const etag = (await ask(world, 'GET', '/things/a')).headers.get('etag') ?? '';
  const kinds: readonly [string, string, { headers?: Record<string, string>; body?: string }, number][] = [
    ['GET', '/things/a', {}, 200],
    ['HEAD', '/things/a', {}, 200],
    ['GET', '/things/a', { headers: { 'If-None-Match': etag } }, 304],
    ['GET', '/things/a?target=page', {}, 200],
    ['GET', '/things/@stream?pieces=2', {}, 200],
    ['GET', '/docs', {}, 200],
    ['GET', '/docs/unknown', {}, 404],
    ['OPTIONS', '/things/a', {}, 204],
    ['DELETE', '/things/a', {}, 405],
    ['POST', '/things/stats', {}, 401],
    ['POST', '/limited', {}, 204],
    ['POST', '/things/stats', { headers: auth(world.token('bot', 'b1')), body: '{' }, 400],
    ['POST', '/things/stats', { headers: auth(world.token('bot', 'b1')), body: 'x'.repeat(5_000) }, 413],
  ];
  for (const [method, path, init, status] of kinds) {
    for (const origin of [undefined, { Origin: 'https://a.example' }]) {
      const answer = await ask(world, method, path, { ...init, headers: { ...init.headers, ...origin } });
      assert.is(answer.status, status, `${method} ${path}`);
      assert.is(answer.headers.get('access-control-allow-origin'), '*', `${method} ${path}`);
      assert.is(answer.headers.get('access-control-allow-credentials'), null);
    }
  }
});

test('a page may read every exposed header of a reply, also from a shared cache', async () => {
  const readable =
    'X-Session-Invalid, Retry-After, ETag, X-Request-Id, RateLimit, RateLimit-Policy, ' +
    'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Idempotency-Replayed, ' +
    'X-Listing-Hints';
  const headers = { Origin: 'https://a.example' };
  for (const path of [
    '/things/a',
    '/things/a?target=page',
    '/things/unknown',
    '/nothing',
    '/things/@stream?pieces=2',
  ]) {
    const answer = await ask(world, 'GET', path, { headers });
    assert.is(answer.headers.get('access-control-expose-headers'), readable, path);
  }
  for (const path of ['/things/a', '/things/@all', '/docs']) {
    const kept = await ask(world, 'GET', path);
    assert.is(kept.headers.get('access-control-expose-headers'), 'ETag, X-Request-Id', path);
  }
});

test('the sixth request of an address under a limit of five → 429 with every header', async () => {
  const other = await openWorld();
  for (let count = 0; count < 5; count++) assert.is((await ask(other, 'POST', '/limited')).status, 204);

  const answer = await ask(other, 'POST', '/limited', { headers: { 'X-Forwarded-For': '6.6.6.6' } });
  await other.close();

  assert.is(answer.status, 429);
  assert.is(answer.json.context?.code, 'rate_limited');
  assert.match(answer.headers.get('retry-after') ?? '', /^1[0-2]$/);
  for (const name of [
    'ratelimit',
    'ratelimit-policy',
    'x-ratelimit-limit',
    'x-ratelimit-remaining',
    'x-ratelimit-reset',
  ]) {
    assert.ok(answer.headers.get(name), name);
  }
});

test('limits count an IPv6 /64 network as one address', async () => {
  const other = await openWorld({ trustedProxies: ['127.0.0.1'] });
  const from = async (address: string) =>
    (await ask(other, 'POST', '/limited', { headers: { 'X-Forwarded-For': address } })).status;
  const statuses: number[] = [];
  for (let end = 1; end <= 6; end++) statuses.push(await from(`2001:db8:0:1::${end}`));
  const beside = await from('2001:db8:0:2::1');
  await other.close();

  assert.equal(statuses, [204, 204, 204, 204, 204, 429]);
  assert.is(beside, 204);
});

test('the documents are served, and load nothing from elsewhere', async () => {
  const page = await ask(world, 'GET', '/docs');
  const reference = await ask(world, 'GET', '/docs/reference.js');
  const start = await ask(world, 'GET', '/docs/start.js');
  const root = await ask(world, 'GET', '/');

  assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'.*connect-src 'self'/);
  assert.not.match(page.text + start.text, /https?:\/\//);
  assert.match(start.headers.get('content-type') ?? '', /^text\/javascript/);
  assert.ok(reference.text.length > 1_000_000);
  assert.equal(root.json, { name: 'rollcall', docs: '/docs', openapi: '/openapi.json' });
});

test.run();
