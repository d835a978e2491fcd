/**
 * Clients whose sockets are full: they skip totals, continue votes from the log, and cost no memory.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { openWorld, type World } from '../api/world.ts';
import { connect, prepare, type Socket } from './sockets.ts';

const test = suite('feed on full sockets');
const users = Array.from({ length: 60 }, (_, index) => `user${index}`);
let world: World;

test.before(async () => {
  world = await openWorld();
  for (const user of ['robin', ...users]) await addUser(world.sql, user);
  for (let bot = 1; bot <= 6; bot++) await addBot(world.sql, `bot${bot}`);
});
test.after(() => world.close());

/** Opens the feed on a socket of the test. */
const open = async (query: string, lastEventId = '', room = Number.POSITIVE_INFINITY): Promise<Socket> =>
  connect(await prepare(world.app.feed, query, lastEventId), room);
const drain = (socket: Socket, room = Number.POSITIVE_INFINITY): void => {
  socket.room = room;
  socket.owner.onWritable();
};
const until = async (isTrue: () => boolean): Promise<void> => {
  const endMs = performance.now() + 20_000;
  while (!isTrue()) {
    if (performance.now() > endMs) throw new Error('it did not happen');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};
const post = (bot: string, servers: number) => world.engine.postStats(bot, { servers: String(servers) });
const vote = async (user: string, bot: string) => {
  const outcome = await world.engine.vote({ kind: 'bot', id: bot, user, upvote: true });
  assert.is(outcome.kind, 'voted');
};
const namesOf = (socket: Socket): string[] => socket.messages.map(({ event }) => event);
const numbersOf = (socket: Socket): number[] =>
  socket.messages.filter(({ event }) => event === 'vote').map(({ data }) => data.number);

test('a full socket gets nothing, then only the newest totals', async () => {
  const full = await open('targets=bot/bot1', '', 2);
  const reader = await open('targets=bot/bot1');
  for (let servers = 1; servers <= 5; servers++) {
    await post('bot1', servers);
    await until(() => reader.messages.at(-1)?.data.totals?.servers === servers);
  }
  const before = namesOf(full);
  drain(full);

  assert.equal(before, ['hello', 'totals']);
  assert.equal(namesOf(full), ['hello', 'totals', 'totals']);
  assert.is(full.messages.at(-1)?.data.totals.servers, 5);
  assert.is(full.overflow, 0);
});

test('a full socket misses no vote: it goes on from the log, as fast as it reads', async () => {
  const full = await open('targets=bot/bot2&channels=votes', '', 1);
  const reader = await open('targets=bot/bot2&channels=votes');
  for (const user of users) await vote(user, 'bot2');
  await until(() => numbersOf(reader).length === users.length);
  const before = numbersOf(full);
  for (let round = 1; round <= users.length / 4; round++) {
    drain(full, 4);
    await until(() => numbersOf(full).length === round * 4);
  }

  assert.equal(before, []);
  assert.equal(
    numbersOf(full),
    users.map((_, index) => index + 1),
  );
  assert.equal(numbersOf(reader), numbersOf(full));
  assert.is(full.overflow, 0);
});

test('a socket that is full at its end gets the farewell and holds nothing up', async () => {
  const full = await open('targets=bot/bot3', '', 1);
  full.close();
  await post('bot3', 9);

  assert.equal(namesOf(full), ['hello']);
});

test('an entity that goes between the request and the stream is gone, and the others go on', async () => {
  await addBot(world.sql, 'brief');
  const query = 'targets=bot/brief,bot/bot3&channels=totals,votes';
  const both = await prepare(world.app.feed, query);
  const alone = await prepare(world.app.feed, 'targets=bot/brief');
  const follower = await open('targets=bot/brief');
  await world.sql`update bots set type = 'denied', revision = revision + 1 where bot_id = 'brief'`;
  await world.engine.refreshFacts('bot', 'brief');
  await until(() => namesOf(follower).includes('bye'));
  const [late, ended] = [connect(both), connect(alone)];
  await post('bot3', 10);
  await until(() => late.messages.at(-1)?.data.totals?.servers === 10 && ended.isClosed);
  const resumed = await open(query, late.messages[0]?.id);

  assert.equal(namesOf(late).slice(0, 2), ['hello', 'gone']);
  assert.is(late.messages[1]?.data.target, 'bot/brief');
  assert.equal(namesOf(ended), ['hello', 'gone', 'bye']);
  assert.equal(namesOf(resumed), ['hello', 'gone', 'totals']);
  late.close();
  resumed.close();
});

/** R1 to R3 for one client: newest totals at rest, no version back, numbers dense from its first id. */
const judge = (sockets: readonly Socket[], head: number): void => {
  let number = Number(sockets[0]?.messages[0]?.id.split('.')[1]);
  for (const socket of sockets) {
    let version = 0;
    for (const { event, data } of socket.messages) {
      if (event === 'totals') {
        assert.ok(data.version > version, 'totals went back');
        version = data.version;
      }
      if (event === 'vote') assert.is(data.number, ++number);
      if (event === 'gap') {
        assert.is(data.from_number, number + 1);
        number = data.to_number;
      }
    }
    assert.is(socket.overflow, 0);
  }
  assert.is(number, head);
};

for (const seed of [1, 2, 3]) {
  const title = `clients cut and full at random get each vote once and the last totals (seed ${seed})`;
  test(title, async () => {
    const { next } = createRandom(seed);
    const bot = `bot${3 + seed}`;
    const query = `targets=bot/${bot}&channels=totals,votes`;
    const lives: Socket[][] = await Promise.all(Array.from({ length: 8 }, async () => [await open(query)]));
    const cut = async (life: Socket[]): Promise<void> => {
      const last = life.at(-1) as Socket;
      last.close();
      const id = life.flatMap(({ messages }) => messages).findLast((message) => message.id !== '')?.id ?? '';
      life.push(await open(query, id));
    };
    for (const [index, user] of users.entries()) {
      await vote(user, bot);
      await post(bot, index);
      for (const life of lives) {
        const socket = life.at(-1) as Socket;
        const chance = next();
        if (chance < 0.1) await cut(life);
        else if (chance < 0.4) socket.room = Math.min(socket.room, Math.floor(next() * 3) + 1);
        else if (chance < 0.7 && socket.room <= 0) drain(socket, Math.floor(next() * 5) + 1);
      }
    }
    const isDone = (life: Socket[]): boolean => {
      const socket = life.at(-1) as Socket;
      if (socket.room <= 0) drain(socket);
      const place = socket.messages.findLast(({ id }) => id !== '');
      const totals = socket.messages.findLast(({ event }) => event === 'totals');
      const number = Number(place?.id.split('.')[1]);
      return number === users.length && totals?.data.totals.servers === users.length - 1;
    };
    for (const life of lives) {
      await until(() => isDone(life));
      judge(life, users.length);
    }
  });
}

test.run();
