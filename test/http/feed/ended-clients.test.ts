/**
 * Clients of the feed that have left: nothing of them stays in memory, and who comes next is served.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createFeed } from '../../../http/feed/feed.ts';
import type { Feed } from '../../../http/feed/interface.ts';
import { createFeedCounts, type FeedCounts } from '../../../http/telemetry/counts.ts';
import { systemClock } from '../../../ops/clock.ts';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { until } from '../../support/until.ts';
import { openWorld, type World } from '../api/world.ts';
import { connect, prepare } from './sockets.ts';

const test = suite('clients that left the feed');
const bots = Array.from({ length: 12 }, (_, index) => `bot${index}`);
const users = ['ann', 'ben', 'cleo'];
const all = bots.map((bot) => `bot/${bot}`).join();
/** Timers run so many times as fast. */
const speed = 20;
const idleMs = 25_000;
let world: World;
let feed: Feed;
let counts: FeedCounts;
let skippedMs = 0;
let openWatches = 0;

test.before(async () => {
  world = await openWorld();
  for (const user of ['robin', ...users]) await addUser(world.sql, user);
  for (const bot of bots) await addBot(world.sql, bot);
});
test.before.each(() => {
  counts = createFeedCounts();
  const clock = {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() + skippedMs,
    after: (delayMs: number, task: () => void) => systemClock.after(delayMs / speed, task),
  };
  const settings = {
    feedConnectionsMax: 100,
    feedConnectionsPerAddressMax: 100,
    feedFrameMs: 50,
    voteLog: 'public',
  } as const;
  feed = createFeed({
    engine: countWatches(world),
    voteLog: world.catalogue.voteLog,
    clock,
    counts,
    settings,
    shared: true,
  });
});
test.after.each(() => feed.leave());
test.after(() => world.close());

/** The engine, with a count of the watches that are open. */
const countWatches = ({ engine }: World): typeof engine => ({
  ...engine,
  watch: (...about) => {
    const { read, close } = engine.watch(...about);
    openWatches += 1;
    return {
      read,
      close: () => {
        openWatches -= 1;
        close();
      },
    };
  },
});

const post = (bot: string, servers: number) => world.engine.postStats(bot, { servers: String(servers) });

test('a while after the last client left the feed keeps nothing, and the engine no watch', async () => {
  const sockets = await Promise.all(
    Array.from({ length: 30 }, async (_, index) => {
      const channels = index % 2 === 0 ? 'totals' : 'totals,votes';
      const push = await prepare(feed, `targets=${all}&channels=${channels}`);
      return connect(push, index % 3 === 0 ? 20 : Number.POSITIVE_INFINITY);
    }),
  );
  for (const [index, bot] of bots.entries()) {
    await post(bot, index);
    for (const user of users) await world.engine.vote({ kind: 'bot', id: bot, user, upvote: true });
  }
  await until('votes arrive', async () => (counts.frames.vote ?? 0) > 30);
  const during = counts.countEntries();
  for (const socket of sockets) socket.close();
  skippedMs += idleMs;
  const listKept = () => Object.entries(counts.countEntries()).filter(([, count]) => count > 0);
  await until('it keeps nothing', () => listKept().length === 0, 10_000).catch(() => undefined);
  const kept = listKept();

  assert.equal(kept, []);
  assert.is(openWatches, 0);
  assert.equal([during.clients, during.subscriptions, during.targets], [30, 360, 12]);
  assert.equal([during.logs, during.addresses, during.heartbeats], [12, 1, 30]);
});

test('a client whose request came when its target was about to be dropped gets what changes', async () => {
  connect(await prepare(feed, 'targets=bot/bot1')).close();
  skippedMs += idleMs;
  const push = await prepare(feed, 'targets=bot/bot1');
  // The feed looks for targets without clients every 5 seconds.
  await new Promise((resolve) => setTimeout(resolve, 12_000 / speed));
  const socket = connect(push);
  await post('bot1', 77);
  await until('it is shown', () => socket.messages.at(-1)?.data.totals?.servers === 77, 10_000);
  socket.close();
});

test('a client that connects while the node stops gets hello, then bye, and keeps its id', async () => {
  const pushes = await Promise.all([1, 2].map(() => prepare(feed, 'targets=bot/bot1&channels=votes')));
  await feed.leave();
  const [stream = '', socket = ''] = pushes.map((push, index) => {
    const sent: string[] = [];
    const send = (message: string) => sent.push(message) > 0;
    const kind = index === 0 ? 'sse' : 'websocket';
    push({ kind, send, cork: (task) => task(), end: () => {}, destroy: () => {} });
    return sent.join('');
  });

  assert.match(stream, /^retry: \d+\nevent: hello\ndata: .*\n\nretry: \d+\nevent: bye\ndata: .*\n\n$/);
  assert.match(socket, /^\{"event":"hello",.*\}\{"event":"bye","data":\{"reason":"restart",/);
});

test.run();
