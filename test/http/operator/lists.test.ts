/**
 * The operator's lists: totals, next pages, and searches by id and by the first letters of a name.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { namesSearchedMax } from '../../../storage/catalogue/operator/directory-lists.ts';
import { countedMax } from '../../../storage/catalogue/operator/pages.ts';
import { addBot, addPack, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { pluck } from '../../support/pluck.ts';
import { type Operated, type OperatedWorld, openOperated } from './world.ts';

const test = suite('lists for operators');
let world: OperatedWorld;
test.before(async () => {
  world = await openOperated();
  const { sql } = world;
  await addUser(sql, 'robin');
  await addTeam(sql, 'team1');
  await sql`
    insert into users (id, username, display_name)
    select 'heron' || n, case n when 7 then 'Ärger' else 'Heron ' || n end, ''
    from generate_series(1, 120) as n`;
  for (const id of ['100', '101', '102']) await addBot(sql, id);
  await addServer(sql, '200', { team_id: 'team1' });
  await addPack(sql, 'night-owls');
  await sql`
    insert into users (id, username, display_name)
    values ('100', 'Lantern Polls', ''), ('101', 'lantern_x', '')
    on conflict (id) do update set username = excluded.username`;
  await sql`update servers set name = 'Quiet Harbour'`;
  await sql`update teams set name = '100% Ready'`;
  await sql`update packs set name = 'Night \\ Owls'`;
});
test.after(() => world.close());

const list = async (path: string): Promise<Operated['json']> => {
  const { status, json } = await world.operate('GET', path);
  assert.is(status, 200, JSON.stringify(json));
  return json;
};

test('every list has a total, says whether it is exact, and has a next page or none', async () => {
  const paths = ['/users', '/bots', '/servers', '/teams', '/packs', '/tiers', '/shop-items'];
  const others = [
    '/shop-benefits',
    '/shop/coupons',
    '/blog',
    '/positions',
    '/applications',
    '/words',
    '/audit',
  ];
  for (const path of [...paths, ...others, '/jobs', '/dead-letters', '/bot/100/tokens', '/nodes']) {
    const { total, total_is, next_page } = await list(path);
    assert.type(total, 'number', path);
    assert.is(total_is, 'exact', path);
    assertIncludes([null, 2], next_page, path);
  }
});

test('pages follow one another until the last, and contain every row once', async () => {
  const seen: string[] = [];
  let total = 0;
  for (let page: number | null = 1; page !== null; ) {
    const json: Operated['json'] = await list(`/users?page=${page}`);
    seen.push(...json.users.map(({ id }: { id: string }) => id));
    total = json.total;
    page = json.next_page;
  }
  assert.is(new Set(seen).size, seen.length);
  assert.is(seen.length, total);
  assert.is((await list('/users?page=99')).next_page, null);
});

for (const [path, key, search, expected] of [
  ['/users', 'id', 'heron 12', ['heron12', 'heron120']],
  ['/users', 'id', 'HERON 120', ['heron120']],
  ['/users', 'id', 'heron33', ['heron33']],
  ['/users', 'id', 'ärg', ['heron7']],
  ['/users', 'id', '%', []],
  ['/bots', 'bot_id', 'lantern', ['100', '101']],
  ['/bots', 'bot_id', 'lantern_', ['101']],
  ['/bots', 'bot_id', '102', ['102']],
  ['/servers', 'server_id', 'quiet', ['200']],
  ['/teams', 'id', '100%', ['team1']],
  ['/packs', 'url', 'night \\', ['night-owls']],
  ['/packs', 'url', 'night-owls', ['night-owls']],
  ['/packs', 'url', 'Night-Owls', ['night-owls']],
  ['/packs', 'url', 'owls', []],
] as const) {
  test(`GET ${path} finds ${expected.length} for "${search}"`, async () => {
    const name = path.slice(1);
    const json = await list(`${path}?search=${encodeURIComponent(search)}`);
    const keys = json[name].map((row: Record<string, string>) => row[key]);

    assert.equal(keys.toSorted(), [...expected]);
    assert.equal([json.total, json.total_is, json.next_page], [expected.length, 'exact', null]);
  });
}

test('a UUID leads to the listing, vote or token that has it, an unknown one to nothing', async () => {
  const [bot] = await world.sql<{ itag: string }[]>`select itag from bots where bot_id = '100'`;
  const [token] = await world.sql<{ id: string; target_type: string; target_id: string }[]>`
    insert into sessions (id, target_type, target_id, type, name, token_hash, expiry)
    values (gen_random_uuid(), 'bot', '101', 'api', 'found', '\\x01', now() + interval '1 day')
    returning id, target_type, target_id`;
  const [vote] = await world.sql<{ itag: string }[]>`
    insert into votes
      (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num)
    values (gen_random_uuid(), now(), 1, 'server', '200', 'heron1', true, 1) returning itag`;
  const find = async (uuid = crypto.randomUUID() as string) => (await list(`/found/${uuid}`)).found;

  assert.equal(await find(bot?.itag), [{ what: 'listing', target_type: 'bot', target_id: '100' }]);
  assert.equal(await find(token?.id.toUpperCase()), [
    { what: 'token', target_type: 'bot', target_id: '101' },
  ]);
  assert.equal(await find(vote?.itag), [{ what: 'vote', target_type: 'server', target_id: '200' }]);
  assert.equal(await find(), []);
});

test('a search keeps the other filters', async () => {
  await world.operate('PUT', '/users/heron11/ban');
  const banned = await list('/users?search=heron&ban=banned');
  const pending = await list('/bots?search=lantern&type=denied');

  assert.equal(pluck(banned.users, 'id'), ['heron11']);
  assert.is(pending.total, 0);
});

test('a search of many names says at least how many there are', async () => {
  await world.sql`
    insert into users (id, username, display_name)
    select 'many' || n, 'Many ' || n, '' from generate_series(1, ${countedMax + 5}) as n`;
  const { users, total, total_is, next_page } = await list('/users?search=many');
  const all = await list('/users');

  assert.equal([users.length, total, total_is, next_page], [50, namesSearchedMax, 'at_least', 2]);
  assert.is(all.total_is, 'about');
  assert.ok(all.total > countedMax);
  await world.sql`delete from users where id like 'many%'`;
});

test('the status has the warnings of the stores, as /readyz', async () => {
  assert.equal((await list('/status')).notes, ['sql_away: Postgres is away']);
  const ready = await fetch(`http://127.0.0.1:${world.adminPort}/readyz`);
  assert.equal(((await ready.json()) as { notes: string[] }).notes, ['sql_away: Postgres is away']);
});

test('the audit is found by the id of its target, of a pack in any letter case', async () => {
  await world.done('PUT /bot/100/vote-ban', {});
  await world.refused('DELETE /packs/Bright-Owls');

  const find = async (target: string) => pluck((await list(`/audit?target=${target}`)).entries, 'target');
  assert.equal(await find('100'), ['bot 100']);
  for (const url of ['Bright-Owls', 'bright-owls', 'BRIGHT-OWLS'])
    assert.equal(await find(url), ['Bright-Owls'], url);
  assert.equal(await find('owls'), []);
});

test('bots show: owner, review, totals and tokens; 404 for an unknown one', async () => {
  const json = await list('/bots/100');

  assert.equal([json.bot_id, json.name, json.owner, json.tokens], ['100', 'Lantern Polls', 'robin', 0]);
  assert.equal([json.votes, json.servers], [0, 0]);
  assert.is((await world.operate('GET', '/bots/999')).status, 404);
});

test.run();
