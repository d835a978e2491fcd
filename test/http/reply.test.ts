/**
 * What goes around a reply's body: caching, entity tags, CORS, limits, and the documents of the public
 * listener.
 *
 * Against a real server with sample rows.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ask, openWorld } from './world.ts';

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
  const other = await ask(world, 'GET', '/things/a', { headers: { 'If-None-Match': '"other"' } });
  assert.is(other.status, 200);
});

test('a request that counts, and a reply to a token, may not be kept', async () => {
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

test('a reply to an Origin may be read by any page, also an error', async () => {
  const headers = { Origin: 'https://a.example' };
  for (const path of ['/things/a', '/things/unknown', '/nothing']) {
    const answer = await ask(world, 'GET', path, { headers });
    assert.is(answer.headers.get('access-control-allow-origin'), '*', path);
    assert.match(answer.headers.get('access-control-expose-headers') ?? '', /X-Session-Invalid/);
  }
});

test('the sixth request of an address to a limit of five → 429 with every header', async () => {
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

test('the documents are served, and load nothing from elsewhere', async () => {
  const page = await ask(world, 'GET', '/docs');
  const reference = await ask(world, 'GET', '/docs/reference.js');
  const start = await ask(world, 'GET', '/docs/start.js');
  const root = await ask(world, 'GET', '/');

  assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'.*connect-src 'self'/);
  assert.not.match(page.text + start.text, /https?:\/\//);
  assert.ok(reference.text.length > 1_000_000);
  assert.equal(root.json, { name: 'rollcall', docs: '/docs', openapi: '/openapi.json' });
});

test.run();
