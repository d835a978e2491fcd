/**
 * Badges against a complete Rollcall: values, shields.io's format, pictures that image proxies keep, errors
 * as pictures, caching.
 */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createBadgeCache } from '../../../http/api/badges/badge-cache.ts';
import { formatInteger } from '../../../http/api/badges/badge-values.ts';
import { addBot, addPack, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { until } from '../../support/until.ts';
import { type AskOptions, openWorld } from './world.ts';

const test = suite('routes of badges');

const world = await openWorld();
const { sql } = world;
await addUser(sql, 'robin');
await addUser(sql, 'bot1', { username: '</svg><script>alert(1)</script>' });
await addTeam(sql, 'team1');
await addBot(sql, 'bot1', { vanity: 'lighthouse', counted: { clicks: 2 ** 53 - 1, downvotes: 5 } });
await addBot(sql, 'new');
await addBot(sql, 'pending', { type: 'pending' });
for (const url of ['pack1', 'away1', 'away2']) await addPack(sql, url);
await addServer(sql, 'server1', { team_id: 'team1' });
await addServer(sql, 'hidden', { team_id: 'team1', state: 'unlisted' });
test.after(() => world.close());

const ask = (path: string, options: AskOptions = {}) => world.ask('GET', `/badges${path}`, options);
const readMessage = async (path: string): Promise<string> => (await ask(path)).json.message;

/** The schema of shields.io's endpoint badge, which refuses every other member. */
const shieldsMembers: Readonly<Record<string, (value: unknown) => boolean>> = {
  schemaVersion: (value) => value === 1,
  label: (value) => typeof value === 'string',
  message: (value) => typeof value === 'string' && value !== '',
  color: (value) => typeof value === 'string',
  labelColor: (value) => typeof value === 'string',
  isError: (value) => typeof value === 'boolean',
  cacheSeconds: (value) => Number.isInteger(value) && Number(value) >= 0,
};
const assertShields = (badge: Readonly<Record<string, unknown>>): void => {
  for (const [name, value] of Object.entries(badge))
    assert.ok(shieldsMembers[name]?.(value), `${name}: ${JSON.stringify(value)}`);
  for (const name of ['schemaVersion', 'label', 'message']) assert.ok(name in badge, name);
};

const tags =
  /<\/?(svg|title|linearGradient|stop|clipPath|rect|circle|g|text|filter|feGaussianBlur|style)[ />]/;
/** Only elements that the renderers write, and only characters that XML allows. */
const assertSafePicture = (text: string): void => {
  for (const [tag] of text.matchAll(/<[^>]*>/g)) assert.match(tag, tags);
  assert.not.match(text, /<(script|foreignObject|image|a)\b/i);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML does not allow them.
  assert.not.match(text, /[\u0000-\u001f\ufffe\uffff]/);
};

test('each metric of a bot has a value, from nothing to more than 2^53', async () => {
  const before = await Promise.all(
    ['votes', 'servers', 'users', 'shards', 'uptime', 'status', 'clicks'].map((metric) =>
      readMessage(`/bots/new/${metric}.json`),
    ),
  );
  const token = await world.token('bot', 'bot1');
  const body = { servers: 1_234, shards: 12, status: 'dnd' };
  const text = JSON.stringify({ ...body, users: 0 }).replace('"users":0', '"users":18446744073709552000');
  await world.ask('POST', '/bots/stats', { token, text });

  assert.equal(before, ['0', '0', '0', '0', 'no data', 'offline', '0']);
  assert.is(await readMessage('/bots/bot1/votes.json'), '-5');
  assert.is(await readMessage('/bots/bot1/users.json'), '18,446,744,073,709,552,000');
  assert.is(await readMessage('/bots/bot1/users.json?compact=true'), '18E');
  assert.is(await readMessage('/bots/bot1/servers.json?compact=true'), '1.2k');
  assert.is(await readMessage('/bots/bot1/clicks.json'), '9,007,199,254,740,991');
  assert.is(await readMessage('/bots/bot1/status.json'), 'dnd');
});

test('compact integers have two digits at most and are never rounded up', () => {
  const shown = ['0', '-5', '999', '1000', '1999', '99999', '999999', '1000000', '-1250000'].map((one) =>
    formatInteger(one, true),
  );

  assert.equal(shown, ['0', '-5', '999', '1k', '1.9k', '99k', '999k', '1M', '-1.2M']);
});

test('servers, teams and packs have the metrics that they have; a vanity code finds a bot', async () => {
  const server = (await ask('/servers/server1/users.json')).json;

  assert.equal([server.label, server.message], ['members', '2,048']);
  assert.is(await readMessage('/team/team1/votes.json'), '0');
  assert.is(await readMessage('/packs/PACK1/votes.json'), '0');
  assert.is(await readMessage('/bot/lighthouse/votes.json'), '-5');
  assert.is(await readMessage('/team/team1/servers.json'), 'unknown');
});

test('the JSON has the members of shields.io and no other', async () => {
  const usual = (await ask('/bots/new/votes.json')).json;
  const all = (await ask('/bots/new/votes.json?label=&color=red&label_color=fff&compact=true&style=flat'))
    .json;
  const unknown = (await ask('/bots/nothing/votes.json')).json;

  const badge = { schemaVersion: 1, label: 'votes', message: '0', color: 'blue', cacheSeconds: 300 };
  assert.equal(usual, badge);
  assert.equal(all, { ...badge, label: '', color: 'red', labelColor: 'fff' });
  assert.equal(unknown, {
    ...badge,
    message: 'unknown',
    color: 'lightgrey',
    cacheSeconds: 60,
    isError: true,
  });
  for (const one of [usual, all, unknown]) assertShields(one);
});

for (const path of ['/bots/new/votes.svg', '/bots/new/card.svg', '/bots/new/votes.json']) {
  test(`${path}: it may be kept, has a tag, and HEAD and 304 work`, async () => {
    const reply = await ask(path);
    const { headers } = reply;
    const etag = headers.get('etag') ?? '';
    const head = await world.ask('HEAD', `/badges${path}`);
    const same = await ask(path, { headers: { 'if-none-match': etag } });

    const type = path.endsWith('.svg') ? 'image/svg+xml' : 'application/json';
    assert.equal([reply.status, headers.get('content-type')], [200, type]);
    assert.is(headers.get('cache-control'), 'public, max-age=300, stale-while-revalidate=86400');
    assert.is(headers.get('x-content-type-options'), 'nosniff');
    assert.is(headers.get('content-security-policy'), "default-src 'none'; style-src 'unsafe-inline'");
    assert.is(headers.get('access-control-allow-origin'), '*');
    assert.match(etag, /^"[^"]+"$/);
    assert.equal([head.status, head.text, head.headers.get('etag')], [200, '', etag]);
    assert.equal([same.status, same.text, same.headers.get('etag')], [304, '', etag]);
    assert.is(same.headers.get('cache-control'), headers.get('cache-control'));
  });
}

for (const path of [
  '/bots/nothing/votes.svg',
  '/bots/pending/votes.svg',
  '/bots/pending/card.svg',
  '/servers/hidden/votes.svg',
  '/servers/nothing/card.svg',
  '/teams/nothing/votes.svg',
  '/packs/nothing/votes.svg',
  '/birds/new/votes.svg',
  '/teams/team1/rank.svg',
  '/bots/nothing/spark-votes.svg',
]) {
  test(`${path}: not listed or not known is 200 and a grey picture`, async () => {
    const reply = await ask(path);
    const code = path.startsWith('/birds') ? 'target_type_unsupported' : 'not_found';

    assert.equal([reply.status, reply.headers.get('content-type')], [200, 'image/svg+xml']);
    assert.equal([reply.headers.get('x-rollcall-error')], [code]);
    assert.is(reply.headers.get('cache-control'), 'public, max-age=60');
    assert.match(reply.text, /: unknown<\/title>/);
  });
}

test('equal badges about different errors each have the code of their own', async () => {
  const codes = [];
  for (const path of ['/birds/nothing/votes.json', '/bots/nothing/votes.json']) {
    codes.push((await ask(path)).headers.get('x-rollcall-error'));
  }
  assert.equal(codes, ['target_type_unsupported', 'not_found']);
});

test('an option that is not allowed is a picture that names it', async () => {
  for (const [query, message] of [
    ['style=plastic', 'invalid style'],
    ['color=blau', 'invalid color'],
    [`label=${'x'.repeat(33)}`, 'invalid label'],
    ['label_color=12345', 'invalid label_color'],
    ['compact=yes', 'invalid compact'],
    ['label=%ff', 'invalid label'],
    ['%ff=1', 'invalid query'],
  ]) {
    const { status, text, headers } = await ask(`/bots/new/votes.svg?${query}`);

    assert.equal([status, headers.get('x-rollcall-error')], [200, 'validation_failed'], query);
    assertIncludes(text, `: ${message}</title>`, `${query}: ${text.slice(0, 200)}`);
  }
  assert.is(await readMessage(`/bots/${'x'.repeat(200)}/votes.json`), 'invalid target_id');
});

test('a file name that no badge has is 404 in JSON, and another method 405', async () => {
  for (const file of ['votes', 'votes.png', 'votes.svg.json', 'Votes.svg', '.svg', 'votes.svg%00']) {
    const { status, json } = await ask(`/bots/new/${file}`);
    assert.equal([status, json.context.code], [404, 'route_not_found'], file);
  }
  assert.is((await world.ask('POST', '/badges/bots/new/votes.svg')).status, 405);
});

test('text of users stays text, in a label and on a card', async () => {
  const label = '</svg><script>alert(1)</script>';
  for (const style of ['flat', 'flat-square', 'for-the-badge']) {
    const { text } = await ask(`/bots/new/votes.svg?style=${style}&label=${encodeURIComponent(label)}`);
    assertSafePicture(text);
    assert.match(text, /&lt;script&gt;/i, style);
  }
  const card = (await ask('/bots/bot1/card.svg')).text;

  assertSafePicture(card);
  assert.match(card, /aria-label="&lt;\/svg&gt;&lt;script&gt;/i);
});

test('any label gives a picture that is safe', async () => {
  const labels = fc.string({ unit: 'binary', maxLength: 32 });
  await fc.assert(
    fc.asyncProperty(
      labels,
      fc.constantFrom('flat', 'flat-square', 'for-the-badge'),
      async (label, style) => {
        const { status, text, headers } = await ask(
          `/bots/new/votes.svg?style=${style}&label=${encodeURIComponent(label)}`,
          { headers: { 'x-forwarded-for': `10.1.${label.length}.${style.length}` } },
        );
        assert.equal([status, headers.get('content-type')], [200, 'image/svg+xml']);
        assertSafePicture(text);
      },
    ),
    { numRuns: 200 },
  );
});

test('badges count no click and no visitor', async () => {
  await ask('/bots/new/votes.svg?target=page');
  await ask('/bots/new/card.svg?target=invite');
  // A write takes along what waits to be counted.
  const posted = await world.ask('POST', '/bots/stats', { token: await world.token('bot', 'new'), body: {} });
  assert.is(posted.status, 200);
  const { json } = await world.ask('GET', '/bots/new');

  assert.equal([json.clicks, json.unique_clicks, json.invite_clicks], [0, 0, 0]);
});

test('repeats within a second do not count for the rate limit; above it: the last picture', async () => {
  const headers = { 'x-forwarded-for': '203.0.113.9' };
  const known = await ask('/bots/new/votes.svg?label=limit', { headers });
  for (let repeat = 0; repeat < 600; repeat++) await ask('/bots/new/votes.svg', { headers });
  const repeated = await ask('/bots/new/votes.svg?label=limit', { headers });
  let refused = known;
  for (let label = 0; label < 2_000 && refused.headers.get('x-rollcall-error') === null; label++)
    refused = await ask(`/bots/new/votes.svg?label=${label}`, { headers });

  assert.is(repeated.text, known.text);
  assert.equal([refused.status, refused.headers.get('x-rollcall-error')], [200, 'rate_limited']);
  assert.is(refused.headers.get('content-type'), 'image/svg+xml');
  assert.is(refused.headers.get('cache-control'), 'public, max-age=30');
  assert.match(refused.headers.get('ratelimit') ?? '', /^"badge";r=0/);
});

test('while a store is away the last picture is shown, or "unavailable"', async () => {
  const known = await ask('/packs/away1/votes.svg?label=kept');
  await sql`alter table packs rename to packs_away`;
  try {
    let last = known;
    await until('the second of the known picture is over', async () => {
      last = await ask('/packs/away1/votes.svg?label=kept');
      return last.headers.get('x-rollcall-error') !== null;
    });
    const never = await ask('/packs/away2/votes.svg');
    const json = (await ask('/packs/away2/votes.json')).json;

    assert.equal([last.status, last.text], [200, known.text]);
    assert.is(last.headers.get('cache-control'), 'public, max-age=30');
    assert.equal([never.status, never.headers.get('content-type')], [200, 'image/svg+xml']);
    assert.match(never.text, /votes: unavailable<\/title>/);
    assert.equal([json.message, json.isError], ['unavailable', true]);
    assertShields(json);
  } finally {
    await sql`alter table packs_away rename to packs`;
  }
});

test('a million different badges take bounded memory', () => {
  const cache = createBadgeCache(300);
  const first = cache.reply('first', () => ({ status: 200, text: 'first' }));
  assert.is(
    cache.reply('first', () => ({ status: 200, text: 'again' })),
    first,
  );
  for (let index = 0; index < 50_000; index++) {
    const reply = cache.reply(`key ${index}`, () => ({ status: 200, text: 'x'.repeat(1_300) }));
    cache.keep(`/badges/bots/1/votes.svg?label=${index}`, reply, 0);
  }

  assert.is(cache.findFresh('/badges/bots/1/votes.svg?label=0', 10), null);
  assert.ok(cache.findFresh('/badges/bots/1/votes.svg?label=49999', 999));
  assert.is(cache.findFresh('/badges/bots/1/votes.svg?label=49999', 1_000), null);
  assert.ok(cache.findLast('/badges/bots/1/votes.svg?label=49999'));
  cache.keep(`/${'x'.repeat(600)}`, first, 0);
  assert.is(cache.findLast(`/${'x'.repeat(600)}`), null);
});

test.run();
