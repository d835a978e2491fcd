/**
 * Lists of the catalogue on real SQL: pages, random bots, the front page, packs, teams.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { pluck } from '../../support/pluck.ts';
import { addBot, addMember, addPack, addServer, addTeam, addUser, openDirectory } from './directory.ts';

const test = suite('catalogue lists');
const day = (number: number): Date => new Date(Date.UTC(2026, 0, number));
const listedBots = 14;

const directory = await openDirectory();
const { sql } = directory;
await addUser(sql, 'robin');
await addUser(sql, 'wren');
await addTeam(sql, 'team1');
await addMember(sql, 'team1', { user: 'wren', permissions: ['owner'], created_at: day(2) });
await addMember(sql, 'team1', { user: 'robin', permissions: ['edit_bots'], created_at: day(1) });
for (let number = 1; number <= listedBots; number++) {
  await addBot(sql, `bot${number}`, {
    created_at: day(number),
    type: number <= 3 ? 'certified' : 'approved',
    counted: { upvotes: number === 5 ? 100 : number, downvotes: 1, clicks: 100 - number },
    ...(number === 2 ? { team_id: 'team1', owner_id: null } : {}),
    ...(number === 4 ? { start_premium_period: new Date(), premium_period_hours: 2 } : {}),
    ...(number === 6 ? { start_premium_period: day(1), premium_period_hours: 1 } : {}),
  });
}
await addUser(sql, 'bot1', { bot: true, flags: ['verified'] });
await addBot(sql, 'pending1', { type: 'pending', created_at: day(30), counted: { upvotes: 5_000 } });
await addBot(sql, 'denied1', { type: 'denied', created_at: day(31), counted: { clicks: 5_000 } });
await addServer(sql, 'server1', { team_id: 'team1', created_at: day(1) });
await addServer(sql, 'server2', { team_id: 'team1', created_at: day(2), state: 'private' });
await addServer(sql, 'server3', { team_id: 'team1', created_at: day(3), type: 'pending' });
for (let number = 1; number <= 13; number++) {
  await addPack(sql, `pack${number}`, {
    created_at: day(number),
    bot_ids: ['bot3', 'gone', 'bot1'],
    server_ids: ['server1', 'gone'],
  });
}
const catalogue = createCatalogue(sql);
test.after(() => directory.close());

test('all pages past the end are one, which is read once', async () => {
  const { bots, servers, packs } = catalogue;
  for (const { page: read } of [bots, servers, packs]) {
    const pages = await Promise.all([3, 4, 70_000, 1_000_000_000].map((page) => read(page)));

    assert.equal(pages[0]?.rows, await read(5).then(({ rows }) => rows));
    assert.equal(
      pages.filter((page) => page !== pages[0]),
      [],
    );
  }
});

test('a page of bots has the listed bots, newest first, and the count of all of them', async () => {
  const first = await catalogue.bots.page(1);
  const second = await catalogue.bots.page(2);

  assert.is(first.count, listedBots);
  assert.is(first.rows.length, 12);
  assert.is(first.rows[0]?.bot_id, 'bot14');
  assert.equal(pluck(second.rows, 'bot_id'), ['bot2', 'bot1']);
});

test('a page past the end is empty and still has the count', async () => {
  const page = await catalogue.bots.page(1_000_000_000);

  assert.is(page.count, listedBots);
  assert.equal(page.rows.length, 0);
});

test('a row has its person if SQL knows them, else null', async () => {
  const { rows } = await catalogue.bots.page(2);

  assert.is(rows.find((row) => row.bot_id === 'bot1')?.person?.username, 'name-of-bot1');
  assert.equal(rows.find((row) => row.bot_id === 'bot1')?.person?.flags, ['verified']);
  assert.is(rows.find((row) => row.bot_id === 'bot2')?.person, null);
});

test('integers beyond 2^53 keep all digits in lists', async () => {
  const { sql } = directory;
  await sql`update totals set servers = 18446744073709551557 where entity_id = 'bot14'`;

  const { rows } = await createCatalogue(sql).bots.page(1);
  const [row] = rows;

  assert.is(row?.servers, '18446744073709551557');
});

test('all callers share one snapshot of a page until it is too old', async () => {
  const patient = createCatalogue(directory.sql, { snapshotAgeMaxMs: 60_000 });
  const hasty = createCatalogue(directory.sql, { snapshotAgeMaxMs: 1 });
  const [one, two] = await Promise.all([patient.bots.page(1), patient.bots.page(1)]);
  const early = await hasty.bots.page(1);
  let later = early;
  while (later === early) later = await hasty.bots.page(1);

  assert.is(one, two);
  assert.equal(later, early);
});

test('random bots are listed, each once, and change from call to call', async () => {
  const orders = new Set<string>();
  for (let round = 0; round < 20; round++) {
    const ids = (await catalogue.bots.random(6)).map((row) => row.bot_id);
    assert.is(new Set(ids).size, 6);
    assert.not.ok(ids.some((id) => id.startsWith('pending') || id.startsWith('denied')));
    orders.add(ids.join());
  }
  assert.ok(orders.size > 10);
  assert.is((await catalogue.bots.random(100)).length, listedBots);
});

test('the front page orders by votes, clicks and age, and leaves out bots that are not listed', async () => {
  const { bots, packs } = await catalogue.bots.frontPage();
  const ids = (rows: readonly { bot_id: string }[]): string[] => rows.map((row) => row.bot_id);

  assert.equal(ids(bots.certified), ['bot3', 'bot2', 'bot1']);
  assert.equal(ids(bots.premium), ['bot4']);
  assert.equal(ids(bots.top_voted).slice(0, 3), ['bot5', 'bot14', 'bot13']);
  assert.equal(ids(bots.most_viewed).slice(0, 3), ['bot1', 'bot2', 'bot3']);
  assert.equal(ids(bots.recently_added).slice(0, 2), ['bot14', 'bot13']);
  assert.is(bots.top_voted.length, 9);
  assert.is(packs.packs.length, 12);
  assert.is(packs.packs[0]?.url, 'pack13');
});

test('servers in lists are approved or certified, and public', async () => {
  const page = await catalogue.servers.page(1);

  assert.is(page.count, 1);
  assert.equal(pluck(page.rows, 'server_id'), ['server1']);
  assert.is(page.rows[0]?.total_members, 2_048);
});

test('a pack keeps the ids of deleted bots and servers but not their rows', async () => {
  const page = await catalogue.packs.find('PACK1');

  assert.equal(page.packs[0]?.bot_ids, ['bot3', 'gone', 'bot1']);
  assert.equal([...page.bots.keys()], ['bot3', 'bot1']);
  assert.equal([...page.servers.keys()], ['server1']);
});

test('the packs of a page share the rows of their bots', async () => {
  const page = await catalogue.packs.page(2);

  assert.is(page.count, 13);
  assert.equal(pluck(page.rows.packs, 'url'), ['pack1']);
  assert.is(page.rows.bots.size, 2);
});

test('a team shows its oldest members first, its bots and servers, and only selected lists', async () => {
  const all = await catalogue.teams.holdings('team1', { members: true, bots: true, servers: true });
  const none = await catalogue.teams.holdings('team1', { members: false, bots: false, servers: false });

  assert.equal(pluck(all.members, 'user_id'), ['robin', 'wren']);
  assert.equal(pluck(all.bots, 'bot_id'), ['bot2']);
  assert.equal(pluck(all.servers, 'server_id'), ['server3', 'server2', 'server1']);
  assert.equal(none, { members: [], bots: [], servers: [] });
});

test.run();
