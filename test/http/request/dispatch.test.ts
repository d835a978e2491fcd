/**
 * How the facade processes a request, and the order of its checks, against a real server with sample
 * routes.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { limits } from '../../../engine/limits.ts';
import { formatToken } from '../../../engine/rules/token.ts';
import { defaultDeadlines } from '../../../http/facade.ts';
import { assertExcludes } from '../../support/assert-includes.ts';
import { pluck } from '../../support/pluck.ts';
import { ask, openWorld, type World } from '../world.ts';

const test = suite('dispatch');
const world = await openWorld();
test.after(() => world.close());

const bot = world.token('bot', 'b1');
const user = world.token('user', 'u1');
const team = world.token('team', 'team1');
const auth = (token: string): Record<string, string> => ({ Authorization: token });

test('GET /things/:id → 200 with a request id, a tag and its checked query', async () => {
  const fine = await ask(world, 'GET', '/things/a%20b?size=3&unknown=1');

  assert.is(fine.status, 200);
  assert.equal(fine.json, { id: 'a b', query: { size: 3, page: 1 } });
  assert.match(fine.headers.get('x-request-id') ?? '', /^[a-z0-9-]{8,64}$/);
  assert.match(fine.headers.get('etag') ?? '', /^"[^"]+"$/);
  assert.is(fine.headers.get('cache-control'), 'no-cache');
});

test('POST /things/stats → 200 for a bot token, with one limit header and no more', async () => {
  const body = '{"servers": 18446744073709551557}';

  const answer = await ask(world, 'POST', '/things/stats', { headers: auth(bot), body });

  assert.is(answer.status, 200);
  assert.equal(answer.json, { message: 'Recorded.', context: {} });
  assert.equal(world.seen.at(-1)?.value, {
    body: { servers: 18446744073709552000 },
    bodyText: body,
    caller: 'b1',
  });
  assert.match(answer.headers.get('ratelimit') ?? '', /^"stats";r=1999;t=1$/);
  assert.is(answer.headers.get('ratelimit-policy'), null);
  assert.is(answer.headers.get('access-control-allow-origin'), '*');
  assert.is(answer.headers.get('access-control-expose-headers'), null);
});

test('a repeated query gives the same result, and a repeated invalid one is rejected again', async () => {
  for (let round = 0; round < 2; round++) {
    assert.equal((await ask(world, 'GET', '/things/a?size=3')).json, {
      id: 'a',
      query: { size: 3, page: 1 },
    });
    assert.equal((await ask(world, 'GET', '/things/b?size=4')).json, {
      id: 'b',
      query: { size: 4, page: 1 },
    });
    assert.is((await ask(world, 'GET', '/things/a?size=9')).status, 400);
  }
});

test('a public route ignores tokens, even invalid ones', async () => {
  assert.is((await ask(world, 'GET', '/things/a', { headers: auth('rubbish') })).status, 200);
});

const banned = world.token('user', 'u1', { banned: true });
const limited = world.token('user', 'u1', { limits: ['edit_bots'] });
const limitedBot = world.token('bot', 'b1', { limits: ['edit_bots'] });
const stats = 'POST /things/stats';
type Refusal = readonly [title: string, line: string, answer: string, headers?: object, body?: string];
const refusals: readonly Refusal[] = [
  ['unknown path', 'GET /nothing', '404 route_not_found'],
  ['other method', 'DELETE /things/a', '405 method_not_allowed'],
  ['no token', stats, '401 token_missing', {}, '{}'],
  ['bad token', stats, '401 token_invalid', auth('rubbish'), '{}'],
  ['other kind', stats, '401 token_kind_unsupported', auth(user), '{}'],
  ['wrong kind word', stats, '401 token_kind_unsupported', auth(`User ${bot}`), '{}'],
  ['two tokens', stats, '401 tokens_disagree', { ...auth(bot), 'User-Auth': user }, '{}'],
  ['not JSON', stats, '400 malformed_json', auth(bot), '{'],
  ['no body', stats, '400 malformed_json', auth(bot)],
  ['a bad field', stats, '400 validation_failed', auth(bot), '{"servers":-1}'],
  ['a huge body', stats, '413 body_too_large', auth(bot), `{"a":"${'x'.repeat(5_000)}"}`],
  ['gzip', stats, '415 content_encoding_unsupported', { ...auth(bot), 'Content-Encoding': 'gzip' }, '{}'],
  ['a bad query', 'GET /things/a?size=9', '400 validation_failed'],
  ['a bad page', 'GET /things/a?page=0', '400 page_invalid'],
  ['a malformed query', 'GET /things/a?target=%zz', '400 validation_failed'],
  ['a long path value', `GET /things/${'a'.repeat(65)}`, '400 validation_failed'],
  ['unknown entity', 'GET /things/unknown', '404 not_found'],
  ['a bug', 'GET /things/broken', '500 internal'],
  ['banned', 'PUT /users/u1/slow', '403 banned', auth(banned)],
  ['banned and other user', 'PUT /users/u2/slow', '403 banned', auth(banned)],
  ['other user', 'PUT /users/u2/slow', '403 user_mismatch', auth(user)],
  ['a limited session', 'PUT /users/u1/slow', '403 forbidden', auth(limited)],
  ['a limited session on an entity', 'GET /bot/b1/guarded', '403 permission_missing', auth(limited)],
  ['a limited session of the entity', 'GET /bot/b1/guarded', '403 permission_missing', auth(limitedBot)],
  ['a limited session on nothing', 'GET /bot/absent/guarded', '404 not_found', auth(limited)],
  ['a limited session, unknown kind', 'GET /thing/1/guarded', '400 target_type_unsupported', auth(limited)],
  ['another user as entity', 'GET /user/u2/guarded', '403 user_mismatch', auth(user)],
  ['a stranger', 'GET /bot/b1/guarded', '403 permission_missing', auth(user)],
  ['a stranger on nothing', 'GET /bot/absent/guarded', '404 not_found', auth(user)],
  ['another bot', 'GET /bot/b2/guarded', '403 permission_missing', auth(bot)],
  ['a bot on its server', 'GET /server/b1/guarded', '403 permission_missing', auth(bot)],
  ['a team on what it does not own', 'GET /bot/b1/guarded', '403 permission_missing', auth(team)],
  ['an unknown kind', 'GET /thing/1/guarded', '400 target_type_unsupported', auth(user)],
];
for (const [title, line, expected, headers = {}, body] of refusals) {
  test(`${title}: ${line.slice(0, 30)} → ${expected}`, async () => {
    const [method = '', path = ''] = line.split(' ');
    const sent = { headers: { ...headers }, ...(body === undefined ? {} : { body }) };

    const answer = await ask(world, method, path, sent);

    const code = answer.json.context?.code;
    assert.is(`${answer.status} ${code}`, expected, answer.text);
    assert.is(answer.json.context?.request_id, answer.headers.get('x-request-id'));
    assert.type(answer.json.message, 'string');
    assert.is(answer.headers.get('x-session-invalid'), code === 'token_invalid' ? 'true' : null);
  });
}

test('a malformed token gets another message than an unknown one', async () => {
  const answerTo = async (authorization: string): Promise<string> =>
    String(
      (await ask(world, 'POST', '/things/stats', { headers: auth(authorization), body: '{}' })).json.message,
    );

  for (const mistake of [`Bearer ${bot}`, bot.slice(0, -1), `${bot}x`]) {
    assert.match(await answerTo(mistake), /The token is malformed\. Send it exactly as issued/, mistake);
  }
  const stranger = formatToken({ kind: 'bot', id: 'b1' }, Buffer.alloc(32, 255));
  assert.match(await answerTo(stranger), /unknown, revoked or expired/);
});

test('a 500 does not reveal its cause, which is logged with the request id', async () => {
  const answer = await ask(world, 'GET', '/things/broken');

  assert.not.match(answer.text, /passwd|secret/);
  const line = world.logged.at(-1) as { request_id: string; route: string; err: Error };
  assert.is(line.request_id, answer.headers.get('x-request-id'));
  assert.is(line.route, 'getThing');
  assert.match(line.err.message, /passwd/);
});

test('no token is ever logged', () => {
  const lines = JSON.stringify(world.logged);
  for (const token of [bot, user, banned]) assertExcludes(lines, token);
});

for (const [title, path, token] of [
  ['a user on himself', '/users/u1/guarded', user],
  ['a bot on itself', '/bots/b1/guarded', bot],
  ['an owner', '/bot/b9/guarded', world.token('user', 'owner')],
  [
    'a limited owner with the permission',
    '/bot/b9/guarded',
    world.token('user', 'owner', { limits: ['view_sessions'] }),
  ],
  ['a team on what it owns', '/bot/owned/guarded', team],
] as const) {
  test(`${title}: GET ${path} → 200, a trailing s on the kind is dropped`, async () => {
    const answer = await ask(world, 'GET', path, { headers: auth(token) });

    assert.is(answer.status, 200, answer.text);
    assert.not.match(String(answer.json.target_type), /s$/);
  });
}

test('when sessions cannot be looked up the answer is 503, never 401', async () => {
  const token = world.token('bot', 'b7');
  world.sql.away = true;

  const answer = await ask(world, 'POST', '/things/stats', { headers: auth(token), body: '{}' });
  world.sql.away = false;
  const again = await ask(world, 'POST', '/things/stats', { headers: auth(token), body: '{}' });

  assert.is(answer.status, 503);
  assert.is(answer.json.context?.code, 'store_unavailable');
  assert.is(answer.json.context?.outcome, 'not_applied');
  assert.not.match(answer.text, /ECONNREFUSED/);
  assert.is(again.status, 200);
});

test('every reply is counted by route and status', async () => {
  world.answered.length = 0;

  await ask(world, 'GET', '/things/a');
  await ask(world, 'GET', '/nothing');
  await ask(world, 'POST', '/things/stats', { headers: auth(bot), body: '{' });

  assert.equal(
    world.answered.map(({ index, status }) => [index, status]),
    [
      [0, 200],
      [-1, 404],
      [3, 400],
    ],
  );
});

test('a client that disconnects is counted as 499, once', async () => {
  world.answered.length = 0;
  const leaving = new AbortController();
  const pending = fetch(`http://127.0.0.1:${world.port}/users/u1/slow`, {
    method: 'PUT',
    headers: auth(user),
    signal: leaving.signal,
  }).catch(() => 'left');
  while (world.facade.inFlight === 0) await new Promise((resolve) => setTimeout(resolve, 2));

  leaving.abort();
  await pending;
  while (world.facade.inFlight > 0) await new Promise((resolve) => setTimeout(resolve, 2));
  world.release();
  await ask(world, 'GET', '/nothing');

  assert.equal(pluck(world.answered, 'status'), [499, 404]);
});

const brief = { readingMs: 50, workingMs: 50, listeningMs: 50, sweepMs: 5 };

test('a request to an external service has a longer deadline of its own', async () => {
  const patient = await openWorld({ deadlines: { ...brief, outboundMs: 60_000 } });
  const hasty = await openWorld({ deadlines: { ...brief, workingMs: 60_000, outboundMs: 50 } });
  const put = (world: World, name: string) =>
    ask(world, 'PUT', `/users/u1/${name}`, { headers: auth(world.token('user', 'u1')) });

  const pending = put(patient, 'asking');
  while (patient.facade.inFlight === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  const slow = await put(patient, 'slow');
  patient.release();
  const answers = [await pending, slow, await put(hasty, 'asking')];
  hasty.release();
  await patient.close();
  await hasty.close();

  assert.equal(pluck(answers, 'status'), [204, 503, 503]);
});

test('an error after the deadline is still logged', async () => {
  const other = await openWorld({ deadlines: { ...brief, outboundMs: 50 } });
  const headers = auth(other.token('user', 'u1'));

  const answer = await ask(other, 'PUT', '/users/u1/slow', { headers });
  other.break(new Error('late'));
  await ask(other, 'GET', '/nothing');
  await other.close();

  assert.is(answer.status, 503);
  assert.match(String((other.logged[0] as { err: Error }).err), /late/);
});

test('the deadline of the engine is shorter: it knows whether anything was counted', () => {
  assert.ok(defaultDeadlines.workingMs > limits.requestDeadlineMs + 2 * limits.deadlineSweepMs);
});

test.run();
