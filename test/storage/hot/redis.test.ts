/**
 * The Redis hot store on one server: the conformance suite, and what only Redis has to show.
 * A real server of the test's own.
 * Time limit: 240 s.
 */
import * as assert from 'uvu/assert';
import { type EntityRef, entityRef, toShard } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import type { Item } from '../../../engine/ports.ts';
import { openRedisStore } from '../../../storage/hot/redis.ts';
import { initOf } from '../../support/redis-load.ts';
import type { RedisServer } from '../../support/redis-server.ts';
import { startRedis } from '../../support/redis-server.ts';
import { conformance, type OpenedStore } from './conformance.ts';
import { rules, startMs } from './generate.ts';

let server: RedisServer | undefined;
let worlds = 0;

/** Every store lives under a prefix of its own. */
const open = async (clock: () => number): Promise<OpenedStore> => {
  server ??= await startRedis({ settings: ['appendfsync no'] });
  const options = { urls: [server.url], prefix: `w${++worlds}:`, clock };
  const opened: OpenedStore = {
    store: await openRedisStore(options),
    async reopen() {
      await opened.store.close();
      return openRedisStore(options);
    },
    dispose: () => opened.store.close(),
  };
  return opened;
};

const test = conformance('redis', { open, sequences: 40, operationsPerSequence: 120 });

test('the largest batch goes in one call, and every inner call stays in bounds', async () => {
  const opened = await open(() => startMs);
  const shard = toShard(7);
  const bots: EntityRef[] = [];
  for (let number = 1; bots.length < limits.batchItemsMax; number++) {
    const bot = entityRef('bot', String(number), 1);
    if (bot.shard === shard) bots.push(bot);
  }
  const send = (sequence: number, items: readonly Item[]) =>
    opened.store.commit([{ shard, producer: 'p', sequence, items }], rules);
  await opened.store.publish([{ shard, generation: 1 }]);
  await send(1, bots.map(initOf));
  await send(
    2,
    bots.map((target, index) => ({ kind: 'stats', target, atMs: startMs, servers: String(index) })),
  );
  await opened.store.publish([{ shard, generation: 2 }]);
  const [reply] = await send(
    3,
    bots.map((target, index) => {
      const itags = [`${index}-a`, `${index}-b`];
      return { kind: 'vote', target, user: '1', upvote: true, atMs: startMs, itags };
    }),
  );
  const peeked = await opened.store.peek({ entities: 5_000, votes: 5_000 });
  const entities = peeked.entities.map(({ ref, generation, state }) => ({
    ref,
    generation,
    version: state.version,
    flushedVotes: 1,
  }));
  await opened.store.settled({ entities, votes: peeked.votes.map(({ itag }) => ({ itag, shard })) });

  assert.is(new Set(reply?.states).size, bots.length);
  assert.is(reply?.decisions?.filter(({ kind }) => kind === 'voted').length, bots.length);
  assert.is(peeked.entities.length, bots.length);
  assert.equal(await opened.store.backlog(), { entities: 0, votes: 0 });
  await opened.dispose();
});

test.after(() => server?.dispose());

test.run();
