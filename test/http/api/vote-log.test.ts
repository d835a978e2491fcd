/**
 * The vote log against a complete Rollcall: cursors, pages, waiting, and logs that began again.
 */
import { Agent, request } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createVoteLogWaiters, type LogWait } from '../../../http/api/shared/vote-log-waiters.ts';
import { routes } from '../../../http/api/table.ts';
import { applyVoteLogSetting } from '../../../http/api/vote-log.ts';
import { systemClock } from '../../../ops/clock.ts';
import { importLines } from '../../../storage/import/import.ts';
import { addBot, addPack, addUser } from '../../storage/catalogue/directory.ts';
import { refOf } from '../../support/refs.ts';
import { until } from '../../support/until.ts';
import { openWorld, type World } from './world.ts';

const test = suite('route of the vote log');
let world: World;
const users = ['ann', 'ben', 'cleo', 'dora', 'eli'];

test.before(async () => {
  world = await openWorld({ flushIntervalMs: 60_000 });
  const { sql } = world;
  for (const user of ['robin', ...users]) await addUser(sql, user);
  for (const bot of ['bot1', 'bot2', 'bot3', 'bot4', 'bot5', 'late', 'crowded']) await addBot(sql, bot);
  await addPack(sql, 'pack1');
  await vote('ann', 'packs/pack1', false);
  await world.engine.waitForFlush('pack', 'pack1');
});
test.after(() => world.close());

const vote = async (user: string, target: string, upvote = true) => {
  const token = await world.token('user', user);
  const { status } = await world.ask('PUT', `/users/${user}/${target}/votes?upvote=${upvote}`, { token });
  assert.is(status, 204);
};
let addresses = 0;
/** Each from an address of its own: on a fast machine all together are more than one may ask. */
const read = async (target: string, query = '') => {
  addresses += 1;
  const headers = { 'x-forwarded-for': `10.7.0.${addresses}` };
  return world.ask('GET', `/${target}/votes/log${query}`, { headers });
};
const authorsOf = (reply: { json: { results: { author: string }[] } }) =>
  reply.json.results.map(({ author }) => author);

test('without a cursor it tells the head and shows no vote; from the oldest it shows all', async () => {
  await vote('ann', 'bots/bot1');
  await vote('ben', 'bots/bot1', false);
  const start = await read('bots/bot1');
  const all = await read('bots/bot1', `?after=${start.json.oldest}`);

  assert.equal([start.status, start.json.results], [200, []]);
  assert.is(start.json.next, start.json.head);
  assert.is(start.headers.get('cache-control'), 'no-store');
  assert.equal(
    all.json.results.map((row: Record<string, unknown>) => [row.number, row.author, row.upvote, row.void]),
    [
      [1, 'ann', true, false],
      [2, 'ben', false, false],
    ],
  );
  assert.is(all.json.next, start.json.head);
});

test('a client that continues from `next` meets every vote once', async () => {
  const { oldest } = (await read('bot/bot2')).json;
  const met: string[] = [];
  let after = oldest;
  for (const user of users) {
    await vote(user, 'bots/bot2');
    if (user === 'ben' || user === 'eli') {
      for (;;) {
        const page = await read('bot/bot2', `?after=${after}&limit=2`);
        if (page.json.results.length === 0) break;
        met.push(...authorsOf(page));
        after = page.json.next;
      }
    }
  }

  assert.equal(met, users);
});

test('an import wakes a client that waits, and a repeated one does not', async () => {
  await addUser(world.sql, 'importer');
  const { head } = (await read('bots/bot4')).json;
  const lines = [
    JSON.stringify({
      ...{ kind: 'vote', target_type: 'bot', target_id: 'bot4', author: 'importer', upvote: true },
      created_at: '2026-01-01T00:00:00.000Z',
    }),
  ];
  const waiting = read('bots/bot4', `?after=${head}&wait=20`);
  await importLines(world.sql, lines);
  const { json } = await waiting;
  await importLines(world.sql, lines);
  const after = await read('bots/bot4', `?after=${json.next}&wait=1`);

  assert.equal(authorsOf({ json }), ['importer']);
  assert.equal(authorsOf(after), []);
});

test('with `wait` the reply comes with the next vote', async () => {
  const { head } = (await read('packs/pack1')).json;
  const waiting = read('packs/PACK1', `?after=${head}&wait=20`);
  await vote('ben', 'packs/pack1');
  // A flush carries the vote to SQL, as it does each second.
  await world.engine.waitForFlush('pack', 'pack1');
  const reply = await waiting;

  assert.equal(authorsOf(reply), ['ben']);
});

test('with `wait` and no vote the reply is empty after that time, and its cursor goes on', async () => {
  const { head } = (await read('bots/bot3')).json;
  const startedMs = performance.now();
  const reply = await read('bots/bot3', `?after=${head}&wait=1`);

  assert.equal([reply.status, reply.json.results, reply.json.next], [200, [], head]);
  assert.ok(performance.now() - startedMs >= 900);
});

test('a cursor of a listing that was deleted and listed again gets 409 with the new ends', async () => {
  await vote('ann', 'bots/bot4');
  const { head } = (await read('bots/bot4')).json;
  const token = await world.token('user', 'robin');
  assert.is((await world.ask('DELETE', '/bots/bot4', { token })).status, 204);
  await addBot(world.sql, 'bot4');
  // As many votes as before: the number alone does not tell the logs apart.
  await vote('ben', 'bots/bot4');
  const reply = await read('bots/bot4', `?after=${head}`);
  const { code, oldest } = reply.json.context;
  const again = await read('bots/bot4', `?after=${oldest}`);

  assert.equal([reply.status, code], [409, 'log_restarted']);
  assert.equal([again.status, authorsOf(again)], [200, ['ben']]);
});

test('a cursor beyond the head gets 409: SQL lost votes that the client has seen', async () => {
  const { epoch } = (await read('bots/bot5')).json;
  const reply = await read('bots/bot5', `?after=${epoch}.7`);

  assert.equal([reply.status, reply.json.context.code], [409, 'log_restarted']);
});

test('a cursor of a directory that was exported and imported elsewhere gets 409 there', async () => {
  const { head } = (await read('bots/bot1')).json;
  await world.sql`update lineage set origin = 'elsewhere'`;
  const reply = await read('bots/bot1', `?after=${head}`);
  const { head: there } = reply.json.context;
  assert.equal([reply.status, reply.json.context.code], [409, 'log_restarted']);
  assert.is((await read('bots/bot1', `?after=${there}`)).status, 200);
});

for (const query of [
  '?after=7',
  '?after=a-b.-1',
  '?after=',
  '?limit=0',
  '?limit=1001',
  '?wait=26',
  '?wait=x',
]) {
  test(`${query} → 400`, async () => {
    const reply = await read('bots/bot1', query);

    assert.equal([reply.status, reply.json.context.code], [400, 'validation_failed']);
  });
}

test('unknown listings → 404, unknown kinds → 400', async () => {
  assert.is((await read('bots/nothing')).status, 404);
  assert.is((await read('birds/bot1')).json.context.code, 'target_type_unsupported');
});

const target = refOf('bot', 'awaited', 1);
const never = (): void => {};
const createWaiters = (waitersMax: number) =>
  createVoteLogWaiters({
    engine: world.engine,
    clock: systemClock,
    readHeads: async () => new Map(),
    waitersMax,
    lookEveryMs: 10,
  });
const toWait = (number: number, whenClientGone: (listener: () => void) => void = never): LogWait => ({
  ref: target,
  number,
  votesCast: 0,
  waitMs: 60_000,
  whenClientGone,
});

test('waiting requests are bounded, and all are answered when the node leaves', async () => {
  const waiters = createWaiters(2);
  const waiting = [1, 2].map((number) => waiters.wait(toWait(number)));
  const refused = await Promise.allSettled([3, 4].map((number) => waiters.wait(toWait(number))));

  const seconds = refused.map((result) => {
    const { code, retryAfterSeconds } = (result as PromiseRejectedResult).reason;
    assert.is(code, 'overloaded');
    return retryAfterSeconds;
  });
  assert.ok(seconds.every((each) => each >= 5) && seconds[0] !== seconds[1], String(seconds));
  assert.is(waiters.count(), 2);
  waiters.close();
  await Promise.all(waiting);
  await waiters.wait(toWait(4));
});

test('a request whose client left makes room', async () => {
  const waiters = createWaiters(1);
  let leave = never;
  const first = waiters.wait(
    toWait(1, (listener) => {
      leave = listener;
    }),
  );
  assert.is((await waiters.wait(toWait(2)).catch(({ code }) => code)) as unknown, 'overloaded');
  leave();
  await first;
  assert.is(waiters.count(), 0);
  const second = waiters.wait(toWait(2));
  assert.is(waiters.count(), 1);
  waiters.close();
  await second;
});

test('a client that disconnects while it waits frees its place', async () => {
  const { head } = (await read('bots/bot3')).json;
  const leaving = new AbortController();
  const url = `http://127.0.0.1:${world.port}/bots/bot3/votes/log?after=${head}&wait=25`;
  const pending = fetch(url, { signal: leaving.signal }).catch(() => undefined);
  await until('it waits', () => world.app.voteLogWaiters.count() === 1);
  leaving.abort();
  await pending;

  await until('its place is free', () => world.app.voteLogWaiters.count() === 0);
});

test('a vote that is awaited is flushed early', async () => {
  // No flush interval runs within this: the world's is a minute.
  const { head } = (await read('bots/late')).json;
  const waiting = read('bots/late', `?after=${head}&wait=20`);
  await until('it waits', () => world.app.voteLogWaiters.count() === 1);
  await vote('ann', 'bots/late');

  assert.equal(authorsOf(await waiting), ['ann']);
});

test('2,000 clients that come at once wait, and all get the next vote', async () => {
  const start = await read('bots/crowded');
  assert.is(start.status, 200, JSON.stringify(start.json));
  const { head } = start.json;
  const agent = new Agent({ maxSockets: 2_000 });
  const pending = Array.from({ length: 2_000 }, (_, index) =>
    askLog(agent, `/bots/crowded/votes/log?after=${head}&wait=25`, `10.9.${index >> 8}.${index & 255}`),
  );
  let early = 'nobody was answered';
  for (const each of pending) each.then((reply) => (early = `answered: ${reply}`));
  // On a slow machine the last ones come after the vote, and get it at once.
  await until('most wait', () => {
    const waiting = world.app.voteLogWaiters.count();
    assert.ok(waiting >= 1_500, `${waiting} wait; ${early}`);
    return true;
  });
  await vote('ben', 'bots/crowded');

  const replies = await Promise.all(pending);
  assert.equal([...new Set(replies)], ['200 ben']);
  agent.destroy();
});

/** Resolves to the status and the author of the first vote. */
const askLog = (agent: Agent, path: string, address: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const headers = { 'x-forwarded-for': address };
    const pendingRequest = request(
      { host: '127.0.0.1', port: world.port, agent, path, headers },
      async (reply) => {
        const chunks: Buffer[] = await reply.toArray();
        const { results } = JSON.parse(Buffer.concat(chunks).toString());
        resolve(`${reply.statusCode} ${results?.[0]?.author}`);
      },
    );
    pendingRequest.on('error', reject);
    pendingRequest.end();
  });

test('a token that is revoked while its request waits reads nothing more', async () => {
  const closed = await openWorld({ routes: applyVoteLogSetting(routes, 'owner') });
  try {
    for (const user of ['robin', 'ann']) await addUser(closed.sql, user);
    await addBot(closed.sql, 'bot1');
    const [robin, ann] = [await closed.token('user', 'robin'), await closed.token('user', 'ann')];
    const body = { type: 'api', name: 'reader', expiry: 3_600, perm_limits: [] };
    const minted = (await closed.ask('POST', '/bots/bot1/sessions', { token: robin, body })).json;
    const { json } = await closed.ask('GET', '/bots/bot1/votes/log', { token: minted.token });
    const path = `/bots/bot1/votes/log?wait=25&after=${json.head}`;
    const waiting = [minted.token, robin].map((token) => closed.ask('GET', path, { token }));
    await until('both wait', () => closed.app.voteLogWaiters.count() === 2);
    const session = `/bots/bot1/sessions/${minted.session_id}`;
    const revoked = await closed.ask('DELETE', session, { token: robin });
    await closed.ask('PUT', '/users/ann/bots/bot1/votes?upvote=true', { token: ann });
    const [refused, served] = await Promise.all(waiting);

    assert.is(revoked.status, 200);
    assert.equal([refused?.status, refused?.json.context.code], [401, 'token_invalid']);
    assert.equal([served?.status, served?.json.results.length], [200, 1]);
  } finally {
    await closed.close();
  }
});

test.run();
