/**
 * The feed on real sockets against a complete Rollcall: totals as they change, votes by number, resuming,
 * the messages of a WebSocket, and what is refused.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addPack, addUser } from '../../storage/catalogue/directory.ts';
import { openWorld, type World } from '../api/world.ts';
import { openSocket, openStream, Refused } from './clients.ts';

const test = suite('feed');
const users = ['ann', 'ben', 'cleo', 'dora', 'eli'];
let world: World;
let base: string;

test.before(async () => {
  world = await openWorld();
  base = `http://127.0.0.1:${world.port}`;
  for (const user of ['robin', ...users]) await addUser(world.sql, user);
  for (let bot = 1; bot <= 14; bot++) await addBot(world.sql, `bot${bot}`);
  await addPack(world.sql, 'pack1');
});
test.after(() => world.close());

const vote = async (user: string, bot: string) => {
  const token = await world.token('user', user);
  const { status } = await world.ask('PUT', `/users/${user}/bots/${bot}/votes?upvote=true`, { token });
  assert.is(status, 204);
};
const post = async (bot: string, servers: number) => {
  const token = await world.token('bot', bot);
  const { status } = await world.ask('POST', '/bots/stats', { token, body: { servers } });
  assert.is(status, 200);
};
const refusal = async (query: string): Promise<Refused> => {
  try {
    const client = await openStream(base, query);
    client.close();
  } catch (error) {
    if (error instanceof Refused) return error;
    throw error;
  }
  throw new Error('it was not refused');
};

test('a stream begins with the present totals and gets every later state', async () => {
  await post('bot1', 7);
  const client = await openStream(base, 'targets=bot/bot1');
  const hello = await client.next('hello');
  const first = await client.next('totals');
  await post('bot1', 8);
  const second = await client.find(({ data }) => data.totals?.servers === 8);

  assert.is(client.response.headers['content-type'], 'text/event-stream');
  assert.is(client.response.headers['access-control-allow-origin'], '*');
  assert.is(client.response.headers['cache-control'], 'no-store');
  assert.equal([hello.retryMs, hello.data], [3_000, { heartbeat_seconds: 15 }]);
  assert.equal(first.data.totals, {
    votes: 0,
    clicks: 0,
    unique_clicks: 0,
    invite_clicks: 0,
    servers: 7,
    users: 0,
    shards: 0,
    status: 'online',
    last_stats_post: first.data.totals.last_stats_post,
  });
  assert.is(second.data.target, 'bot/bot1');
  client.close();
});

test('many changes within one interval are one message with the last state', async () => {
  const client = await openStream(base, 'targets=bot/bot2');
  await client.next('totals');
  for (let servers = 1; servers <= 40; servers++) await post('bot2', servers);
  await client.find(({ data }) => data.totals?.servers === 40);
  const shown = client.messages.filter(({ event }) => event === 'totals').map(({ data }) => data);
  const versions = shown.map(({ version }) => version);

  // Integers: as texts, 9 would be more than 11.
  assert.ok(shown.every((data) => Number.isInteger(data.generation) && Number.isInteger(data.version)));
  assert.ok(versions.length < 40, `${versions.length} messages for 40 changes`);
  assert.equal(
    versions,
    versions.toSorted((left, right) => left - right),
  );
  client.close();
});

test('a WebSocket gets the same messages as objects, and its protocol is confirmed', async () => {
  await post('bot1', 8);
  const client = await openSocket(base, 'targets=bot/bot1,pack/pack1');
  const bot = await client.next('totals');
  const pack = await client.next('totals');

  assert.is(client.socket.protocol, 'rollcall.v1');
  assert.equal([bot.data.target, bot.data.totals.servers], ['bot/bot1', 8]);
  assert.equal(pack.data.totals, { votes: 0, clicks: 0, unique_clicks: 0, invite_clicks: 0 });
  client.close();
});

test('votes come once, by number, and a stream says where it is', async () => {
  const client = await openStream(base, 'targets=bot/bot3,bot/bot4&channels=totals,votes');
  const hello = await client.next('hello');
  await vote('ann', 'bot3');
  const first = await client.next('vote');
  await vote('ben', 'bot4');
  const second = await client.next('vote');

  assert.equal([first.data.target, first.data.number, first.data.author], ['bot/bot3', 1, 'ann']);
  assert.equal([second.data.target, second.data.number, second.data.upvote], ['bot/bot4', 1, true]);
  assert.equal(
    [hello, first, second].map(({ id }) => id.replaceAll(/[0-9a-z]+-[0-9a-z]+/g, '')),
    ['.0,.0', '.1,.0', '.1,.1'],
  );
  client.close();
});

test('with the channel voter each vote says what its author had done; others get it without', async () => {
  const one = await openStream(base, 'targets=bot/bot4&channels=voter');
  const other = await openStream(base, 'targets=bot/bot4&channels=votes');
  await vote('cleo', 'bot4');
  const [first, second] = [await one.next('vote'), await other.next('vote')];
  assert.equal([first.data.author, first.data.voter], ['cleo', { times: 1, streak: 1, longest: 1 }]);
  assert.equal([second.data.number, 'voter' in second.data], [first.data.number, false]);
  for (const client of [one, other]) client.close();
});

test('a stream that comes back gets the votes it missed, then goes on', async () => {
  const before = await openStream(base, 'targets=bot/bot5&channels=votes');
  await vote('ann', 'bot5');
  const { id } = await before.next('vote');
  before.close();
  for (const user of ['ben', 'cleo', 'dora']) await vote(user, 'bot5');
  await world.engine.waitForFlush('bot', 'bot5');
  const after = await openStream(base, 'targets=bot/bot5&channels=votes', { 'Last-Event-ID': id });
  await after.find(({ data }) => data.number === 4);
  await vote('eli', 'bot5');
  await after.find(({ data }) => data.number === 5);
  const byQuery = await openStream(base, `targets=bot/bot5&channels=votes&last_event_id=${id}`);
  await byQuery.find(({ data }) => data.number === 5);
  // A replacement of EventSource repeats the address it was given, and adds the newer id.
  const query = `targets=bot/bot5&channels=votes&last_event_id=.0&lastEventId=${encodeURIComponent(id)}`;
  const byReplacement = await openStream(base, query);
  await byReplacement.find(({ data }) => data.number === 5);

  for (const client of [after, byQuery, byReplacement]) {
    const votes = client.messages.filter(({ event }) => event === 'vote');
    assert.equal(
      votes.map(({ data }) => [data.number, data.author]),
      [
        [2, 'ben'],
        [3, 'cleo'],
        [4, 'dora'],
        [5, 'eli'],
      ],
    );
    client.close();
  }
});

test('a WebSocket subscribes, resumes each target at its own cursor, unsubscribes, and pings', async () => {
  const client = await openSocket(base);
  await client.next('hello');
  client.send({ op: 'subscribe', targets: ['bot/bot6'], channels: ['votes'] });
  const subscribed = await client.next('subscribed');
  await vote('ann', 'bot6');
  await vote('ben', 'bot6');
  const seen = await client.find(({ data }) => data.number === 1);
  await client.find(({ data }) => data.number === 2);
  const from = client.messages.length;
  client.send({
    op: 'subscribe',
    targets: ['bot/bot6'],
    channels: ['totals', 'votes'],
    after: { 'bot/bot6': seen.data.cursor },
  });
  const again = await client.find(({ event }) => event === 'vote', from);
  client.send({ op: 'unsubscribe', targets: ['bot/bot6'] });
  client.send({ op: 'ping' });
  await client.next('pong');
  const count = client.messages.length;
  await post('bot6', 3);
  client.send({ op: 'subscribe', targets: ['bot/bot1'] });
  await client.find(({ data }) => data.target === 'bot/bot1', count);

  assert.match(subscribed.data.after['bot/bot6'], /\.0$/);
  assert.equal([again.data.number, again.data.author], [2, 'ben']);
  assert.not.ok(client.messages.slice(count).some(({ data }) => data.target === 'bot/bot6'));
  client.close();
});

test('a WebSocket follows 100 entities and resumes each at its cursor, in one message', async () => {
  const targets = Array.from({ length: 100 }, (_, index) => `bot/81555300047047${8_000 + index}`);
  for (const target of targets) await addBot(world.sql, target.slice('bot/'.length));
  const before = await openSocket(base);
  before.send({ op: 'subscribe', targets, channels: ['totals', 'votes'] });
  const { after } = (await before.next('subscribed')).data;
  before.close();
  await vote('ann', (targets[99] as string).slice('bot/'.length));
  const again = await openSocket(base);
  again.send({ op: 'subscribe', targets, channels: ['totals', 'votes'], after });
  const missed = await again.next('vote');

  assert.is(Object.keys(after).length, 100);
  assert.equal([missed.data.target, missed.data.number], [targets[99], 1]);
  again.close();
});

test('the id of a stream of totals alone is taken back with other channels', async () => {
  const before = await openStream(base, 'targets=bot/bot13,bot/bot14');
  const { id } = await before.next('hello');
  before.close();
  const query = 'targets=bot/bot13,bot/bot14&channels=totals,votes';
  const after = await openStream(base, query, { 'Last-Event-ID': id });
  await after.next('totals');
  await vote('eli', 'bot13');
  const next = await after.next('vote');

  assert.equal([next.data.target, next.data.author], ['bot/bot13', 'eli']);
  after.close();
});

test('a cursor of a log that began again gets a reset, and votes go on from there', async () => {
  const before = await openStream(base, 'targets=bot/bot7&channels=votes');
  await vote('ann', 'bot7');
  const { id } = await before.next('vote');
  const token = await world.token('user', 'robin');
  assert.is((await world.ask('DELETE', '/bots/bot7', { token })).status, 204);
  const gone = await before.next('gone');
  const bye = await before.next('bye');
  await before.closed;
  await addBot(world.sql, 'bot7');
  await vote('ben', 'bot7');
  await world.engine.waitForFlush('bot', 'bot7');
  const after = await openStream(base, 'targets=bot/bot7&channels=votes', { 'Last-Event-ID': id });
  const reset = await after.next('reset');
  await vote('cleo', 'bot7');
  const next = await after.next('vote');

  assert.equal([gone.data, bye.data.reason], [{ target: 'bot/bot7' }, 'gone']);
  assert.equal([reset.data.channel, reset.data.cursor.split('.')[1]], ['votes', '1']);
  assert.equal([next.data.number, next.data.author], [2, 'cleo']);
  after.close();
});

test('a client that is more than 1,000 votes behind gets one gap, with the address of the log', async () => {
  const before = await openStream(base, 'targets=bot/bot8&channels=votes');
  const { id } = await before.next('hello');
  before.close();
  await vote('ann', 'bot8');
  await world.engine.waitForFlush('bot', 'bot8');
  await world.sql`update totals set votes_logged = 1001 where kind = 'bot' and entity_id = 'bot8'`;
  const after = await openStream(base, 'targets=bot/bot8&channels=votes', { 'Last-Event-ID': id });
  const gap = await after.next('gap');

  assert.equal([gap.data.from_number, gap.data.to_number], [1, 1_001]);
  assert.is(gap.data.log, `/bot/bot8/votes/log?after=${id}`);
  assert.match(gap.id, /\.1001$/);
  assert.is(gap.data.cursor, gap.id);
  after.close();
});

test('numbers without a row are a gap, not silence', async () => {
  const before = await openStream(base, 'targets=bot/bot9&channels=votes');
  const { id } = await before.next('hello');
  before.close();
  await world.sql`update totals set votes_logged = 3 where kind = 'bot' and entity_id = 'bot9'`;
  await vote('ann', 'bot9');
  await world.engine.waitForFlush('bot', 'bot9');
  const after = await openStream(base, 'targets=bot/bot9&channels=votes', { 'Last-Event-ID': id });
  const gap = await after.next('gap');
  const next = await after.next('vote');

  assert.equal([gap.data.from_number, gap.data.to_number, next.data.number], [1, 3, 4]);
  after.close();
});

for (const [query, status, code] of [
  ['', 400, 'validation_failed'],
  ['targets=', 400, 'validation_failed'],
  ['targets=bot', 400, 'validation_failed'],
  ['targets=user/ann', 400, 'validation_failed'],
  ['targets=bot/bot1,bot/bot1', 400, 'validation_failed'],
  [`targets=${Array.from({ length: 101 }, (_, n) => `bot/${n}`).join()}`, 400, 'validation_failed'],
  ['targets=bot/bot1&channels=clicks', 400, 'validation_failed'],
  ['targets=bot/bot1&channels=', 400, 'validation_failed'],
  ['targets=bot/bot1&channels=votes&last_event_id=7', 400, 'validation_failed'],
  ['targets=bot/bot1&channels=votes&last_event_id=0-1.1,0-2.1', 400, 'validation_failed'],
  ['targets=bot/bot1,bot/none&last_event_id=.0,0-1.1%0Adata: forged', 400, 'validation_failed'],
  ['targets=bot/nope', 404, 'not_found'],
] as const) {
  test(`"${query.slice(0, 60)}" is refused with ${status} before a stream begins`, async () => {
    const refused = await refusal(query);

    assert.equal([refused.status, refused.json.context.code], [status, code]);
  });
}

test('an entity that is not listed is unknown, and one that is delisted is gone', async () => {
  await addBot(world.sql, 'pending', { type: 'pending' });
  const refused = await refusal('targets=bot/pending');
  const client = await openStream(base, 'targets=bot/bot10,bot/bot11');
  await world.sql`update bots set type = 'denied', revision = revision + 1 where bot_id = 'bot10'`;
  await world.engine.refreshFacts('bot', 'bot10');
  const gone = await client.next('gone');
  await post('bot11', 4);
  await client.find(({ data }) => data.totals?.servers === 4);

  assert.equal([refused.status, gone.data], [404, { target: 'bot/bot10' }]);
  client.close();
});

for (const channels of ['totals', 'totals,votes']) {
  test(`a stream of ${channels} that comes back goes on without an entity that is gone by then`, async () => {
    const name = `gone-${channels.replace(',', '-')}`;
    await addBot(world.sql, name);
    const query = `targets=bot/bot12,bot/${name}&channels=${channels}`;
    const before = await openStream(base, query);
    const { id } = await before.next('hello');
    await before.find(({ data }) => data.target === `bot/${name}` && data.totals !== undefined);
    before.close();
    const token = await world.token('user', 'robin');
    assert.is((await world.ask('DELETE', `/bots/${name}`, { token })).status, 204);
    const voter = channels === 'totals' ? 'ann' : 'ben';
    await vote(voter, 'bot12');
    await world.engine.waitForFlush('bot', 'bot12');
    const after = await openStream(base, query, { 'Last-Event-ID': id });
    const gone = await after.next('gone');
    await after.find(({ data }) => data.target === 'bot/bot12' && data.totals !== undefined);
    if (channels !== 'totals') {
      const missed = await after.next('vote');
      assert.equal([missed.data.target, missed.data.author], ['bot/bot12', 'ben']);
      const [first = '', second] = missed.id.split(',');
      assert.equal([first, second], [missed.data.cursor, id.split(',')[1]]);
    }
    const alone = await refusal(`targets=bot/${name}&channels=${channels}&last_event_id=${id.split(',')[1]}`);
    const fresh = await refusal(query);

    assert.equal(gone.data, { target: `bot/${name}` });
    assert.equal([alone.status, fresh.status], [404, 404]);
    after.close();
  });
}

test('what is wrong with a position is named by the field it came in', async () => {
  const refused = await refusal('targets=bot/bot1&channels=votes&last_event_id=7');
  const client = await openSocket(base);
  client.send({ op: 'subscribe', targets: ['bot/bot1'], channels: ['votes'], after: { 'bot/bot1': '7' } });
  const { data } = await client.next('error');

  assert.equal(Object.keys(refused.json.context)[0], '/last_event_id');
  assert.equal(Object.keys(data.context)[0], '/after');
  client.close();
});

for (const [title, message, code] of [
  ['no JSON', '{', 4_400],
  ['an unknown op', '{"op":"dance"}', 4_400],
  ['targets that are no list', '{"op":"subscribe","targets":"bot/bot1"}', 4_400],
  ['a message above 16 KiB', `{"op":"ping","pad":"${'x'.repeat(16_384)}"}`, 1_009],
  ['a message of 64 KiB', `{"op":"ping","pad":"${'x'.repeat(65_500)}"}`, 1_009],
] as const) {
  test(`a WebSocket that sends ${title} is closed with ${code}`, async () => {
    const client = await openSocket(base);
    client.send(message);

    assert.is(await client.closed, code);
  });
}

test('a subscription that cannot be is an error message, and the WebSocket goes on', async () => {
  const client = await openSocket(base);
  client.send({ op: 'subscribe', targets: ['bot/nope'] });
  const unknown = await client.next('error');
  client.send({ op: 'subscribe', targets: ['bot/bot1', 'dog/1'] });
  const invalid = await client.next('error');
  client.send({ op: 'subscribe', targets: ['bot/bot1'] });
  await client.next('totals');

  assert.is(unknown.data.code, 'not_found');
  assert.is(invalid.data.code, 'validation_failed');
  client.close();
});

test('a WebSocket that sends more than 20 messages in 10 s is closed with 1008', async () => {
  const client = await openSocket(base);
  for (let count = 0; count < 21; count++) client.send({ op: 'ping' });

  assert.is(await client.closed, 1_008);
});

test('HEAD has the headers of a stream and ends', async () => {
  const response = await fetch(`${base}/feed?targets=bot/bot1`, { method: 'HEAD' });

  assert.equal([response.status, response.headers.get('content-type')], [200, 'text/event-stream']);
});

test.run();
