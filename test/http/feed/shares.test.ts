/**
 * What one client, and one address, may request of the feed in a while: messages, pings, pongs and targets. A
 * client that requests more is closed with 1008, and others go on.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createAddresses } from '../../../http/feed/addresses.ts';
import { feedLimits } from '../../../http/feed/state.ts';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { feedCounts, openWorld, type World } from '../api/world.ts';
import { openSocket, openStream, Refused } from './clients.ts';

const test = suite('shares of the feed');
const bots = Array.from({ length: 100 }, (_, index) => `bot/bot${index}`);
const perAddress = 6;
let world: World;
let base: string;

test.before(async () => {
  world = await openWorld({ feed: { feedConnectionsPerAddressMax: perAddress } });
  base = `http://127.0.0.1:${world.port}`;
  await addUser(world.sql, 'robin');
  for (const bot of bots) await addBot(world.sql, bot.slice('bot/'.length));
});
test.after(() => world.close());

let addresses = 0;
/** Each test has an address of its own. */
const nextAddress = () => ({ 'X-Forwarded-For': `10.7.0.${++addresses}` });

test('a subscription ends with its first unknown target, and those behind it are not read', async () => {
  const client = await openSocket(base, '', nextAddress());
  const from = feedCounts.countEntries().targets ?? 0;
  client.send({ op: 'subscribe', targets: ['bot/nope', ...bots.slice(1)] });
  const { data } = await client.next('error');
  const read = (feedCounts.countEntries().targets ?? 0) - from;

  assert.is(data.code, 'not_found');
  assert.ok(read < feedLimits.targetsAtOnce, `${read} targets`);
  client.close();
});

test('after a few unknown targets an address waits before any look-up, and others do not', async () => {
  const headers = nextAddress();
  const client = await openSocket(base, '', headers);
  client.send({ op: 'subscribe', targets: ['bot/nope'] });
  await client.next('error');
  client.send({ op: 'subscribe', targets: bots.slice(0, 1) });
  await client.next('subscribed');
  for (let count = 0; count < 6; count++) client.send({ op: 'subscribe', targets: ['bot/nope'] });
  const code = await client.closed;
  const from = feedCounts.countEntries().targets ?? 0;
  const refused = await Promise.all(
    [openSocket(base, '', headers), openStream(base, 'targets=bot/nope', headers)].map((opening) =>
      opening.catch((error: unknown) => error),
    ),
  );
  const looked = (feedCounts.countEntries().targets ?? 0) - from;
  const other = await openStream(base, `targets=${bots[0]}`, nextAddress());

  assert.equal([code, looked], [1_008, 0]);
  assert.not.instance(refused[0], WebSocket);
  assert.instance(refused[1], Refused);
  assert.is((refused[1] as Refused).status, 429);
  other.close();
});

test('a WebSocket that names more than 500 targets in 10 s is closed with 1008', async () => {
  const headers = nextAddress();
  const [client, other] = [await openSocket(base, '', headers), await openSocket(base, '', nextAddress())];
  for (let count = 0; count < 6; count++) client.send({ op: 'subscribe', targets: bots });
  const code = await client.closed;
  other.send({ op: 'subscribe', targets: bots });
  await other.next('subscribed');

  assert.is(code, 1_008);
  assert.is(client.messages.filter(({ event }) => event === 'subscribed').length, 5);
  other.close();
});

test('an address whose sockets were closed with 1008 four times waits before it connects again', async () => {
  const headers = nextAddress();
  const codes: number[] = [];
  for (let round = 0; round < 4; round++) {
    const client = await openSocket(base, '', headers);
    for (let count = 0; count <= feedLimits.framesPerWindow; count++)
      client.send({ op: 'subscribe', targets: bots.slice(0, 1) });
    codes.push(await client.closed);
  }
  const again = await openSocket(base, '', headers).catch((error: unknown) => error);
  const other = await openSocket(base, '', nextAddress());

  assert.equal(codes, [1_008, 1_008, 1_008, 1_008]);
  assert.instance(again, Error);
  other.close();
});

test('an address that names too many targets gets 429, or 1008 on what it has open', async () => {
  const headers = nextAddress();
  const open = await openSocket(base, '', headers);
  const query = `targets=${bots.join()}`;
  let refused: unknown = null;
  for (let count = 0; refused === null && count < 20; count++) {
    const stream = await openStream(base, query, headers).catch((error: unknown) => {
      refused = error;
      return null;
    });
    stream?.close();
    while (stream !== null && (feedCounts.countEntries().clients ?? 0) > 1)
      await new Promise((resolve) => setTimeout(resolve, 2));
  }
  open.send({ op: 'subscribe', targets: bots });
  const code = await open.closed;
  const other = await openStream(base, query, nextAddress());

  assert.instance(refused, Refused);
  assert.equal([(refused as Refused).status, code], [429, 1_008]);
  other.close();
});

test('messages of an address are handled in order and one at a time, beside those of others', async () => {
  const clock = { monotonicMs: () => 0 };
  const limits = createAddresses(clock, perAddress);
  for (const address of ['a', 'a', 'b']) limits.join(address);
  const done: string[] = [];
  const releases: (() => void)[] = [];
  const work = (name: string) => async () => {
    await new Promise<void>((resolve) => releases.push(resolve));
    done.push(name);
  };
  for (const [address, name] of [
    ['a', 'a1'],
    ['a', 'a2'],
    ['b', 'b1'],
  ] as const)
    limits.queue(address, work(name));
  await Promise.resolve();
  const begun = releases.length;
  while (limits.count().messages > 0) {
    releases.pop()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }

  assert.is(begun, 2);
  assert.equal(done, ['b1', 'a1', 'a2']);
});

test('four charges are free, and an address waits at most for one', () => {
  let nowMs = 1_000;
  const limits = createAddresses({ monotonicMs: () => nowMs }, perAddress);
  const open = () => limits.countTargets('a', 0);
  for (let count = 0; count < 4; count++) limits.charge('a');
  open();
  assert.throws(() => limits.countTargets('a', 1));
  for (let count = 0; count < 100; count++) limits.charge('a');
  limits.countTargets('b', 100);
  assert.throws(open);
  nowMs += feedLimits.windowMs / 2 - 1;
  assert.throws(open);
  nowMs += 1;
  open();
});

test('so many messages of a node wait, and one more is refused', () => {
  const limits = createAddresses({ monotonicMs: () => 0 }, perAddress);
  limits.join('a');
  const never = () => new Promise<void>(() => {});
  for (let count = 0; count < feedLimits.messagesWaitingMax; count++) assert.ok(limits.queue('a', never));

  assert.not.ok(limits.queue('a', never));
});

test('what an address may send grows back, and nothing of one that left stays', () => {
  let nowMs = 1_000;
  const limits = createAddresses({ monotonicMs: () => nowMs }, perAddress);
  limits.join('a');
  const send = () => limits.countFrame('a');
  for (let count = 0; count < feedLimits.framesPerWindow * perAddress; count++) send();
  assert.throws(send);
  nowMs += feedLimits.windowMs;
  for (let count = 0; count < (feedLimits.framesPerWindow * perAddress) / 2; count++) send();
  assert.throws(send);
  limits.leave('a');

  assert.equal(limits.count(), { addresses: 0, messages: 0 });
});

test.run();
