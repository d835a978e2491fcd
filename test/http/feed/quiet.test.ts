/**
 * What followers get although nothing happens: heartbeats, and the end of a status by age. A bot that posts
 * stats without a status is online for a day.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createFeed } from '../../../http/feed/feed.ts';
import { createFeedCounts } from '../../../http/telemetry/counts.ts';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { until } from '../../support/until.ts';
import { openWorld } from '../api/world.ts';
import { connect, prepare } from './sockets.ts';

const test = suite('feed while nothing happens');
/** Timers run so many times as fast. */
const speed = 20;
const world = await openWorld();
await addUser(world.sql, 'robin');
for (const bot of ['silent', 'idle', 'busy']) await addBot(world.sql, bot);
const { engine, clock } = world;
const counts = createFeedCounts();
const feed = createFeed({
  engine,
  voteLog: world.catalogue.voteLog,
  clock: { ...clock, after: (delayMs, task) => clock.after(delayMs / speed, task) },
  counts,
  settings: {
    feedConnectionsMax: 10,
    feedConnectionsPerAddressMax: 10,
    feedFrameMs: 50,
    voteLog: 'public',
  },
  shared: false,
});
test.after(async () => {
  await feed.leave();
  await world.close();
});

test('online becomes offline a day after the last stats; a posted status stays', async () => {
  await engine.postStats('silent', { servers: '1' });
  await engine.postStats('idle', { servers: '1', status: 'idle' });
  const socket = connect(await prepare(feed, 'targets=bot/silent,bot/idle'));
  const list = (bot: string) =>
    socket.messages.filter(({ data }) => data.target === `bot/${bot}`).map(({ data }) => data.totals.status);
  clock.skip(86_400_000 - 60_000);
  // Several sweeps.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const early = list('silent');
  clock.skip(120_000);
  await until('the end of the day', async () => list('silent').length === 2);
  await engine.postStats('silent', { servers: '1' });
  await until('online again', async () => list('silent').length === 3);

  assert.equal(early, ['online']);
  assert.equal(list('silent'), ['online', 'offline', 'online']);
  assert.equal(list('idle'), ['idle']);
  socket.close();
});

test('a stream gets a comment in each interval, also after it got a message in the one before', async () => {
  const idle = connect(await prepare(feed, 'targets=bot/silent'));
  const busy = connect(await prepare(feed, 'targets=bot/busy'));
  let servers = 0;
  for (let interval = 1; interval <= 5; interval++) {
    await until('a comment', async () => idle.comments >= interval, 10_000);
    await engine.postStats('busy', { servers: String(++servers) });
  }

  assert.ok(busy.comments >= idle.comments - 1, `${busy.comments} of ${idle.comments}`);
  for (const socket of [idle, busy]) socket.close();
});

test.run();
