/**
 * `Idempotency-Key` on the four creations, against a complete Rollcall: one effect and equal replies for
 * equal requests, and nothing kept of a failure. Two nodes: once.stores.test.ts. A kill: the file beside.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EntityRef } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import { purgeKeys } from '../../../storage/catalogue/shared/once.ts';
import { upsertTier } from '../../../storage/catalogue/votes/credits.ts';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { addCountedVotes } from '../../storage/ledger/votes.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { pluck } from '../../support/pluck.ts';
import { answersIn, raw } from '../raw.ts';
import { type Answer, type AskOptions, codeOf, openWorld } from './world.ts';

const test = suite('idempotency keys');
const world = await openWorld();
const { sql } = world;
test.after(() => world.close());
for (const user of ['robin', 'wren', 'finch', 'swift']) await addUser(sql, user);
await upsertTier(sql, { id: 'bot-0', target_type: 'bot', position: 0, votes: 100, cents: 10 });
const tokens = new Map<string, string>();
for (const user of ['robin', 'wren', 'finch', 'swift']) tokens.set(user, await world.token('user', user));

const post = (path: string, key: string, options: AskOptions & { user?: string } = {}): Promise<Answer> => {
  const { user = 'robin', ...others } = options;
  const headers = { 'Idempotency-Key': key };
  return world.ask('POST', path, { token: tokens.get(user) ?? '', headers, ...others });
};
const show = ({ status, text, headers }: Answer) => [status, text, headers.get('idempotency-replayed')];
const countTeams = async (name: string): Promise<number> =>
  (await sql`select from teams where name = ${name}`).length;

let bots = 0;
const addBotWith = async (upvotes: number): Promise<EntityRef> => {
  const ref = await addBot(sql, `keyed${++bots}`, { counted: { upvotes, downvotes: 0 } });
  await addCountedVotes(sql, ref, { upvotes, downvotes: 0 });
  return ref;
};
const newBot = async (upvotes: number): Promise<string> => (await addBotWith(upvotes)).id;

test('POST /teams: twenty repeats at once create one team and get equal replies', async () => {
  const body = { name: 'Twenty' };
  const answers = await Promise.all(Array.from({ length: 20 }, () => post('/teams', 'a-1', { body })));

  assert.equal(new Set(pluck(answers, 'status')), new Set([201]));
  assert.is(new Set(pluck(answers, 'text')).size, 1);
  assert.is(answers.filter(({ headers }) => headers.has('idempotency-replayed')).length, 19);
  assert.is(await countTeams('Twenty'), 1);
});

test('POST …/votes/credits: a repeat redeems nothing more', async () => {
  const bot = await newBot(50);
  const first = await post(`/bots/${bot}/votes/credits?votes=20`, 'r');
  const again = await post(`/bots/${bot}/votes/credits?votes=20`, '"r"');
  const other = await post(`/bots/${bot}/votes/credits?votes=20`, 'r2');

  assert.equal(show(first), [200, first.text, null]);
  assert.equal(show(again), [200, first.text, 'true']);
  assert.is(other.status, 200);
  assert.is((await world.ask('GET', `/bots/${bot}`)).json.votes, 10);
});

test('POST /users/:id/apps: a repeat is 204, not "already pending"', async () => {
  const { json } = await world.ask('GET', '/apps/meta');
  const { questions } = json.positions.find(({ id }: { id: string }) => id === 'staff');
  const answers = Object.fromEntries(questions.map(({ id }: { id: string }) => [id, 'x'.repeat(60)]));
  const body = { position: 'staff', answers };
  const first = await post('/users/wren/apps', 'app', { user: 'wren', body });
  const again = await post('/users/wren/apps', 'app', { user: 'wren', body });
  const fresh = await post('/users/wren/apps', 'app2', { user: 'wren', body });

  assert.equal(
    [show(first), show(again)],
    [
      [204, '', null],
      [204, '', 'true'],
    ],
  );
  assert.is(fresh.status, 409);
});

test('POST …/sessions: a repeat names the session without its token, which is nowhere in SQL', async () => {
  const body = { name: 'one', type: 'api', expiry: 3_600, perm_limits: [] };
  const first = await post('/users/finch/sessions', 's', { user: 'finch', body });
  const again = await post('/users/finch/sessions', 's', { user: 'finch', body });

  assert.equal([first.status, again.status], [201, 201]);
  assert.equal(again.json, { ...first.json, token: '' });
  const rows = await sql`select result::text as result from idempotency_keys`;
  assert.not(rows.some(({ result }) => result.includes(first.json.token)));
  const { json } = await world.ask('GET', '/users/finch/sessions', { token: tokens.get('finch') ?? '' });
  assert.is(json.sessions.filter(({ name }: { name: string }) => name === 'one').length, 1);
});

test('POST …/sessions: with SECRETS_KEY a repeat shows the same token again, and it works', async () => {
  const settings = world.app.settings as { secretsKey: string };
  const body = { name: 'two', type: 'api', expiry: 3_600, perm_limits: [] };
  const send = () => post('/users/finch/sessions', 's2', { user: 'finch', body });
  settings.secretsKey = 'ab'.repeat(32);
  const first = await send();
  const again = await send();
  settings.secretsKey = 'cd'.repeat(32);
  const otherKey = await send();
  settings.secretsKey = '';

  assert.equal(again.json, first.json);
  assert.equal(otherKey.json, { ...first.json, token: '' }, 'another key derives another token');
  const used = await world.ask('GET', '/users/finch/sessions', { token: again.json.token });
  assert.is(used.status, 200);
});

test('another body, path or query with the same key is 422, another order of members is not', async () => {
  const first = await post('/teams', 'm', { text: '{"name":"Order","nsfw":true}' });
  const same = await post('/teams', 'm', { text: '{ "nsfw": true, "name": "Order" }' });
  const other = await post('/teams', 'm', { body: { name: 'Order', nsfw: false } });
  const bot = await newBot(50);
  await post(`/bots/${bot}/votes/credits?votes=1`, 'q');
  const query = await post(`/bots/${bot}/votes/credits?votes=2`, 'q');
  const path = await post(`/bots/${await newBot(50)}/votes/credits?votes=1`, 'q');

  assert.is(same.text, first.text);
  for (const refused of [other, query, path]) assert.equal(codeOf(refused), [422, 'idempotency_mismatch']);
  assert.is(await countTeams('Order'), 1);
});

test('a key belongs to its user and its operation', async () => {
  const body = { name: 'Mine' };
  const mine = await post('/teams', 'shared', { body });
  const other = await post('/teams', 'shared', { user: 'swift', body });
  const bot = await newBot(5);
  const redeemed = await post(`/bots/${bot}/votes/credits?votes=1`, 'shared');

  assert.equal([mine.status, other.status, redeemed.status], [201, 201, 200]);
  assert.is.not(mine.text, other.text);
});

test('a failed attempt is not kept: the repeat does the work', async () => {
  const ref = await addBotWith(5);
  const refused = await post(`/bots/${ref.id}/votes/credits?votes=8`, 'later');
  await addCountedVotes(sql, ref, { upvotes: 5, downvotes: 0 });
  const done = await post(`/bots/${ref.id}/votes/credits?votes=8`, 'later');

  assert.equal(codeOf(refused), [409, 'votes_insufficient']);
  assert.equal([done.status, done.headers.get('idempotency-replayed')], [200, null]);
});

test('after a day a key is free again, and its row is purged', async () => {
  const body = { name: 'Daily' };
  await post('/teams', 'daily', { body });
  await sql`update idempotency_keys set created_at = now() - interval '24 hours 1 second'`;
  const next = await post('/teams', 'daily', { body: { name: 'Next day' } });
  await sql`update idempotency_keys set created_at = now() - interval '25 hours'`;
  await purgeKeys(sql);

  assert.equal(show(next), [201, next.text, null]);
  assert.is((await sql`select from idempotency_keys`).length, 0);
});

test('a key that is empty, too long or not ASCII is 400; a caller has a bounded number of keys', async () => {
  const body = { name: 'Bounded' };
  for (const key of ['', 'x'.repeat(256), '"open', '""', 'tab\there', '"a"b"'])
    assert.equal(codeOf(await post('/teams', key, { body })), [400, 'validation_failed'], key);
  await sql`
    insert into idempotency_keys (scope, caller, fingerprint, result)
    select int8send(number), 'user robin', '', '{}'
    from generate_series(1, ${limits.idempotencyKeysMax}::int) as number`;
  const full = await post('/teams', 'one too many', { body });
  const unkeyed = await world.ask('POST', '/teams', { token: tokens.get('robin') ?? '', body });
  await sql`delete from idempotency_keys`;

  assert.equal(codeOf(full), [409, 'limit_reached']);
  assert.is(unkeyed.status, 201);
});

test('a key of another form is refused before the listing and the permission are looked up', async () => {
  const unknown = await post('/bots/nowhere/votes/credits?votes=1', '', {});
  const foreign = await post(`/bots/${await newBot(5)}/votes/credits?votes=1`, '', { user: 'swift' });

  for (const refused of [unknown, foreign]) assert.equal(codeOf(refused), [400, 'validation_failed']);
});

test('a key on two lines is 400 unless both are equal', async () => {
  const send = async (...keys: readonly string[]) => {
    const body = JSON.stringify({ name: 'Two lines' });
    const fields = keys.map((key) => `Idempotency-Key: ${key}\r\n`).join('');
    const head = `Host: a\r\nAuthorization: ${tokens.get('robin')}\r\nContent-Length: ${body.length}\r\n`;
    const { text } = await raw(world.port, `POST /teams HTTP/1.1\r\n${head}${fields}\r\n${body}`);
    const [answer] = answersIn(text);
    return { status: answer?.status, json: JSON.parse(answer?.body ?? '{}') };
  };
  const refused = await send('lines-1', 'lines-2');

  assert.is(refused.status, 400);
  assert.is(refused.json.context['Idempotency-Key'], 'must be sent once');
  assert.is(await countTeams('Two lines'), 0);
  assert.is((await send('lines-1', 'lines-1')).status, 201);
});

test('elsewhere a key is ignored', async () => {
  const path = `/users/robin/bots/${(await addBotWith(0)).id}/votes?upvote=true`;
  const countKeys = async () => (await sql`select from idempotency_keys`).length;
  const before = await countKeys();
  const headers = { 'Idempotency-Key': ''.padEnd(300, 'x') };
  const answer = await world.ask('PUT', path, { token: tokens.get('robin') ?? '', headers });

  assert.is(answer.status, 204);
  assert.is(await countKeys(), before);
});

test('the preflight allows the key and the headers of traces', async () => {
  const { headers } = await world.ask('OPTIONS', '/teams');
  const allowed = headers.get('access-control-allow-headers') ?? '';

  for (const name of ['Idempotency-Key', 'traceparent', 'tracestate', 'baggage'])
    assertIncludes(allowed.split(', '), name, name);
});

test.run();
