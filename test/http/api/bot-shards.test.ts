/**
 * Posts of a bot's shards against a complete Rollcall: the reply, the bot's page, the list of shards, what is
 * refused.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { codeOf, openWorld, type World } from './world.ts';

const test = suite('routes of the shards of a bot');
let world: World;
let bots = 0;

test.before(async () => {
  world = await openWorld();
  await addUser(world.sql, 'robin');
});
test.after(() => world.close());

interface Poster {
  readonly id: string;
  post(body: unknown): ReturnType<World['ask']>;
  postTotals(body: unknown): ReturnType<World['ask']>;
  /** The fields of the bot's page that its shards decide. */
  read(): Promise<unknown>;
  list(query?: string): ReturnType<World['ask']>;
}

const createPoster = async (): Promise<Poster> => {
  bots += 1;
  const id = `shardbot${bots}`;
  await addBot(world.sql, id);
  const token = await world.token('bot', id);
  return {
    id,
    post: (body) => world.ask('POST', '/bots/stats/shards', { token, body }),
    postTotals: (body) => world.ask('POST', '/bots/stats', { token, body }),
    read: async () => {
      const { servers, users, shards, shard_list, user } = (await world.ask('GET', `/bots/${id}`)).json;
      return [servers, users, shards, shard_list, user.status];
    },
    list: (query = '') => world.ask('GET', `/bots/${id}/shards${query}`),
  };
};

test('shards add up to the totals of the bot once all were posted', async () => {
  const poster = await createPoster();
  await poster.postTotals({ servers: 9, users: 8, shards: 1, shard_list: [9], status: 'idle' });
  const first = await poster.post({ shard_count: 2, shards: [{ id: 1, servers: 20, users: 3 }] });
  const before = await poster.read();
  const second = await poster.post({
    shard_count: 2,
    shards: [{ id: 0, servers: 100, users: 1, status: 'dnd', unknown: 1 }],
    cluster: 'eu-1',
  });

  assert.is(first.json.message, 'Shards recorded.');
  assert.equal(first.json.context, {
    mode: 'totals',
    shard_count: '',
    live: '0',
    stale: '0',
    missing: '0',
    building: '2',
    servers: '9',
    users: '8',
  });
  assert.equal(before, [9, 8, 1, [9], 'idle']);
  assert.equal(second.json.context, {
    mode: 'sharded',
    shard_count: '2',
    live: '2',
    stale: '0',
    missing: '0',
    building: '',
    servers: '120',
    users: '4',
  });
  assert.equal(await poster.read(), [120, 4, 2, [100, 20], 'online']);
});

test('the list shows every shard, by page and by state, and what is building', async () => {
  const poster = await createPoster();
  const none = await poster.list();
  await poster.post({
    shard_count: 1,
    shards: [{ id: 0, servers: 5, users: 6, status: 'dnd' }],
    cluster: 'a',
  });
  await poster.post({ shard_count: 1_500, shards: [{ id: 1_499, servers: 1 }] });
  const { json, headers } = await poster.list();

  const empty = { mode: 'totals', shard_count: 0, live: 0, stale: 0, missing: 0, building: null, shards: [] };
  assert.equal(none.json, empty);
  assert.equal([json.mode, json.shard_count, json.live, json.missing], ['sharded', 1, 1, 0]);
  assert.equal([json.building.shard_count, json.building.seen], [1_500, 1]);
  assert.equal(
    { ...json.shards[0], last_post: '' },
    {
      id: 0,
      servers: 5,
      users: 6,
      status: 'dnd',
      state: 'live',
      cluster: 'a',
      last_post: '',
    },
  );
  assert.ok(Date.parse(json.shards[0].last_post) > 0);
  assert.is(headers.get('cache-control'), 'no-cache');
  assert.ok(headers.get('etag'));
  assert.equal((await poster.list('?state=stale')).json.shards, []);
});

test('a page has the shards of a thousand ids', async () => {
  const poster = await createPoster();
  const part = (id: number) => ({ id, servers: 1 });
  for (const from of [0, 600]) {
    const shards = Array.from({ length: 600 }, (_, index) => part(from + index));
    assert.is((await poster.post({ shard_count: 1_200, shards })).status, 200);
  }
  const [first, second, third] = [
    await poster.list(),
    await poster.list('?page=2'),
    await poster.list('?page=3'),
  ];

  assert.equal(
    [first.json.shards.length, second.json.shards.length, third.json.shards.length],
    [1_000, 200, 0],
  );
  assert.equal([second.json.shards[0].id, second.json.live], [1_000, 1_200]);
  assert.equal((await poster.list('?page=2&state=missing')).json.shards, []);
  assert.equal(codeOf(await poster.list('?page=0')), [400, 'page_invalid']);
  assert.is((await poster.list('?state=dead')).status, 400);
});

test('totals that no shard has named stay as they were; 0 is a value', async () => {
  const cases: readonly (readonly [named: object, servers: number, users: number])[] = [
    [{}, 9, 8],
    [{ servers: 20 }, 40, 8],
    [{ users: 3 }, 9, 6],
    [{ servers: 0, users: 0 }, 0, 0],
  ];
  for (const [named, servers, users] of cases) {
    const poster = await createPoster();
    await poster.postTotals({ servers: 9, users: 8 });
    await poster.post({ shard_count: 2, shards: [0, 1].map((id) => ({ id, ...named })) });
    const { json } = await world.ask('GET', `/bots/${poster.id}`);
    const again = await poster.post({ shard_count: 2, shards: [{ id: 0, status: 'idle' }, { id: 1 }] });

    assert.equal([json.servers, json.users], [servers, users]);
    assert.equal([again.json.context.servers, again.json.context.users], [String(servers), String(users)]);
  }
});

test('a post of totals ends it; shard_id in it means nothing', async () => {
  const poster = await createPoster();
  await poster.post({ shard_count: 1, shards: [{ id: 0, servers: 5 }] });
  await poster.postTotals({ status: 'idle', shard_id: 0, shard_count: 1 });
  const during = (await poster.list()).json.mode;
  const ended = await poster.postTotals({ servers: 77 });
  const after = await poster.postTotals({ servers: 77 });

  assert.is(during, 'sharded');
  assert.equal([ended.json.context, after.json.context], [{ mode: 'totals' }, {}]);
  assert.is((await poster.list()).json.mode, 'totals');
  assert.equal(await poster.read(), [77, 0, 1, [5], 'idle']);
});

test('one post of a much smaller shard count counts nothing and refuses no other', async () => {
  const poster = await createPoster();
  const all = Array.from({ length: 20 }, (_, id) => ({ id, servers: 50 }));
  await poster.post({ shard_count: 20, shards: all });
  const other = await poster.post({ shard_count: 1, shards: [{ id: 0, servers: 3 }] });
  const next = await poster.post({ shard_count: 20, shards: all });

  assert.equal([other.json.context.building, other.json.context.servers], ['1', '1000']);
  assert.equal([next.status, next.json.context.servers], [200, '1000']);
});

test('from 6 shards back to 5 as soon as all six said offline', async () => {
  const poster = await createPoster();
  const ofAll = (length: number, part: object) => Array.from({ length }, (_, id) => ({ id, ...part }));
  await poster.post({ shard_count: 5, shards: ofAll(5, { servers: 60 }) });
  await poster.post({ shard_count: 6, shards: ofAll(6, { servers: 50 }) });
  await poster.post({ shard_count: 6, shards: ofAll(6, { status: 'offline' }) });
  const back = await poster.post({ shard_count: 5, shards: ofAll(5, { servers: 61, status: 'online' }) });

  assert.equal([back.status, back.json.context.shard_count, back.json.context.servers], [200, '5', '305']);
});

test('posts to a replaced table are refused with the shard count that holds', async () => {
  const poster = await createPoster();
  await poster.post({ shard_count: 1, shards: [{ id: 0, servers: 5 }] });
  await poster.post({ shard_count: 2, shards: [{ id: 0 }, { id: 1, servers: 6 }] });
  const refused = await poster.post({ shard_count: 1, shards: [{ id: 0, servers: 9 }] });

  assert.equal(codeOf(refused), [409, 'shards_inconsistent']);
  assert.is(refused.json.context.shard_count, '2');
  assert.equal(await poster.read(), [6, 0, 2, [0, 6], 'online']);
});

test('shard ids must be different and below the shard count, numbers in bounds', async () => {
  const poster = await createPoster();
  for (const body of [
    { shard_count: 2, shards: [{ id: 2 }] },
    { shard_count: 2, shards: [{ id: 1 }, { id: 1 }] },
    { shard_count: 2, shards: [] },
    { shard_count: 0, shards: [{ id: 0 }] },
    { shard_count: 16_385, shards: [{ id: 0 }] },
    { shard_count: 1, shards: [{ id: 0, servers: 2 ** 39 }] },
    { shard_count: 1, shards: [{ id: 0, users: -1 }] },
    { shard_count: 1, shards: [{ id: 0, status: 'away' }] },
    { shard_count: 1, shards: [{ id: 0 }], cluster: 'a b' },
    { shard_count: 1_001, shards: Array.from({ length: 1_001 }, (_, id) => ({ id })) },
    { shards: [{ id: 0 }] },
  ]) {
    const reply = await poster.post(body);
    assert.equal(codeOf(reply), [400, 'validation_failed'], JSON.stringify(body).slice(0, 99));
  }
  assert.is((await poster.list()).json.building, null);
  assert.is((await world.ask('GET', '/bots/nobot/shards')).status, 404);
});

test('the largest post is taken, and the largest sums are exact', async () => {
  const poster = await createPoster();
  const largest = 2 ** 39 - 1;
  const shards = Array.from({ length: 1_000 }, (_, id) => ({
    id,
    servers: largest,
    users: largest,
    status: 'offline',
  })).reverse();
  const reply = await poster.post({ shard_count: 1_000, shards, cluster: 'x'.repeat(64) });

  assert.is(reply.json.context.servers, String(1_000 * largest));
  assert.is((await poster.list()).json.shards[999].servers, largest);
});

test.run();
