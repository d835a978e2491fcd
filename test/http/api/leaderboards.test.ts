/**
 * Leaderboards and ranks against a complete Rollcall: pages, names, no edition yet, what is not listed, the
 * badge, events between two editions.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { boardsByKind } from '../../../engine/rules/boards.ts';
import { addBot, addPack, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { never } from '../../storage/history/world.ts';
import { type Answer, openWorld } from './world.ts';

const test = suite('routes of leaderboards');

const world = await openWorld();
const { sql } = world;
const { boards } = world.catalogue;
test.after(() => world.close());

const bots = 60;
await addUser(sql, 'robin');
await addTeam(sql, 'team1');
await addPack(sql, 'pack1');
for (let number = 1; number <= bots; number++) {
  const counted = { upvotes: 100 - number, uptime: 999, total_uptime: number < 10 ? 1_000 : 999 };
  await addBot(sql, `bot${number}`, { counted, vanity: `code${number}` });
}
await addBot(sql, 'none');
await addBot(sql, 'pending', { type: 'pending', counted: { upvotes: 500 } });
await addServer(sql, 'server1', { team_id: 'team1', counted: { upvotes: 3 } });
await addServer(sql, 'hidden', { team_id: 'team1', state: 'unlisted', counted: { upvotes: 5 } });

const get = (path: string): Promise<Answer> => world.ask('GET', path) as Promise<Answer>;
const makeAll = async (): Promise<void> => {
  const nowMs = world.clock.nowMs();
  await boards.makeVotes(nowMs);
  await boards.makeOthers(nowMs, never);
  await boards.refresh();
};
const positions = ({ json }: Answer): readonly number[] =>
  json.results.map(({ position }: { position: number }) => position);

test('before the first edition a board is empty, and nothing has a rank', async () => {
  const board = await get('/leaderboards/bots/votes');
  const rank = await get('/bots/bot1/rank');

  assert.equal([board.status, rank.status], [200, 200]);
  assert.equal(board.json, { count: 0, per_page: 25, updated_at: null, results: [] });
  assert.equal(rank.json, {
    target_type: 'bot',
    target_id: 'bot1',
    votes: null,
    votes_last_month: null,
    votes_ever: null,
    unique_clicks_week: null,
    growth_week: null,
    trending: null,
    newcomers: null,
    uptime: null,
  });
  assert.is((await get('/badges/bots/bot1/rank.json')).json.message, 'unranked');
});

test('pages have 25 places each, best first, with positions from 1', async () => {
  await makeAll();
  const pages = await Promise.all(
    [1, 2, 3, 4, 999_999_999].map((page) => get(`/leaderboards/bots/votes?page=${page}`)),
  );
  const [first] = pages;

  assert.equal(
    pages.flatMap(positions),
    Array.from({ length: bots }, (_, index) => index + 1),
  );
  assert.equal(
    pages.map(({ json }) => [json.count, json.per_page, json.results.length]),
    [
      [60, 25, 25],
      [60, 25, 25],
      [60, 25, 10],
      [60, 25, 0],
      [60, 25, 0],
    ],
  );
  const { entity, ...best } = first?.json.results[0] ?? {};
  assert.equal(best, { position: 1, change: null, score: 99, ratio: null });
  assert.equal([entity.bot_id, entity.votes], ['bot1', 99]);
  assert.match(first?.json.updated_at, /^\d{4}-/);
});

test('the places around a listing are those of the edition, its own in their middle', async () => {
  const whole = (
    await Promise.all([1, 2, 3].map((page) => get(`/leaderboards/bots/votes?page=${page}`)))
  ).flatMap(({ json }) => json.results);
  const expected = (from: number, upto: number) => whole.slice(from - 1, upto);
  for (const [query, from, upto] of [
    ['around=bot30', 25, 35],
    ['around=bot30&limit=4', 28, 31],
    ['around=bot2&limit=25', 1, 25],
    [`around=bot${bots}&limit=3`, bots - 2, bots],
    ['around=bot7&limit=1', 7, 7],
  ] as const) {
    const { json } = await get(`/leaderboards/bots/votes?${query}`);
    assert.equal([json.count, json.results], [bots, expected(from, upto)], query);
    assert.is(json.per_page, upto - from + 1);
  }
  assert.equal((await get('/leaderboards/bots/votes?around=none')).json.results, []);
  for (const id of ['unknown', 'pending', 'server1'])
    assert.is((await get(`/leaderboards/bots/votes?around=${id}`)).status, 404, id);
  for (const limit of ['0', '26', 'x'])
    assert.is((await get(`/leaderboards/bots/votes?around=bot1&limit=${limit}`)).status, 400, limit);
});

test('a page may be kept for 2 seconds and has an ETag', async () => {
  const reply = await get('/leaderboards/server/votes');
  const headers = { 'if-none-match': reply.headers.get('etag') ?? '' };
  const again = await world.ask('GET', '/leaderboards/server/votes', { headers });

  assert.is(reply.headers.get('cache-control'), 'max-age=2');
  assert.is(again.status, 304);
  assert.equal(
    reply.json.results.map((place: { entity: { server_id: string } }) => place.entity.server_id),
    ['server1'],
  );
});

for (const [kind, names] of Object.entries(boardsByKind)) {
  for (const board of names) {
    test(`${kind}, ${board}: the board exists, under the singular and the plural`, async () => {
      assert.is((await get(`/leaderboards/${kind}/${board}`)).status, 200);
      assert.is((await get(`/leaderboards/${kind}s/${board}`)).status, 200);
    });
  }
}

test('an unknown kind or board is 404 with the valid names', async () => {
  const kind = await get('/leaderboards/packs/votes');
  const board = await get('/leaderboards/servers/uptime');
  const prototype = await get('/leaderboards/bots/constructor');

  assert.equal([kind.status, board.status, prototype.status], [404, 404, 404]);
  assert.is(kind.json.message, 'There is no such kind. Use one of: bot, server.');
  assert.is(
    board.json.message,
    'There is no such leaderboard. Use one of: votes, votes-last-month, votes-ever, unique-clicks-week, ' +
      'trending, newcomers.',
  );
  assert.is((await get('/leaderboards/bots/votes?page=0')).json.context.code, 'page_invalid');
});

test('a rank has the position on each board, and null where the listing does not qualify', async () => {
  const { json } = await get('/bots/bot7/rank');
  const none = await get('/bots/none/rank');
  const server = await get('/servers/server1/rank');

  assert.equal(json.votes, { position: 7, of: bots, exact: true });
  assert.equal(json.votes_ever, { position: 7, of: bots, exact: true });
  assert.equal(json.uptime, { position: 7, of: 9, exact: true });
  assert.equal([json.growth_week, json.trending, json.votes_last_month], [null, null, null]);
  assert.equal([none.status, none.json.votes], [200, null]);
  assert.equal(server.json.votes, { position: 1, of: 1, exact: true });
  assert.is(server.json.uptime, null);
});

test('a rank of what is not listed is 404; teams and packs have none', async () => {
  const codes = await Promise.all(
    ['/bots/pending/rank', '/servers/hidden/rank', '/bots/nothing/rank', '/packs/pack1/rank'].map(
      async (path) => (await get(path)).json.context.code,
    ),
  );

  assert.equal(codes, ['not_found', 'not_found', 'not_found', 'target_type_unsupported']);
});

test('the badge shows the position on the board of votes', async () => {
  const messageOf = async (path: string) => (await get(`/badges/${path}/rank.json`)).json.message;

  assert.is(await messageOf('bots/bot7'), '#7');
  assert.is(await messageOf('bots/code8'), '#8');
  assert.is(await messageOf('servers/server1'), '#1');
  assert.is(await messageOf('bots/none'), 'unranked');
  assert.is(await messageOf('bots/pending'), 'unknown');
  assert.is((await get('/badges/bots/bot7/rank.svg')).headers.get('content-type'), 'image/svg+xml');
});

test('events since the last edition show in the next one, with the change since the day before', async () => {
  world.clock.skip(86_400_000);
  await sql`update totals set upvotes = 1000, votes_logged = 1 where entity_id = 'bot9'`;
  await makeAll();
  const first = (await get('/leaderboards/bots/votes')).json.results[0];
  const trending = (await get('/leaderboards/bots/trending')).json.results;

  assert.equal([first.entity.bot_id, first.change, first.score], ['bot9', 8, 1_000]);
  assert.equal(
    trending.map(({ score, entity }: { score: number; entity: { bot_id: string } }) => [
      score,
      entity.bot_id,
    ]),
    [[5, 'bot9']],
  );
});

test.run();
