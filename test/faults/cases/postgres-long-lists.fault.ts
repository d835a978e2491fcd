/**
 * Every list of a directory of a million bots, servers and packs, and a million voters of one bot, at any
 * depth: figures for docs/operating.md, and whole walks around the deep end that neither skip nor repeat a
 * row. Time limit: 2400 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { recountLists } from '../../../storage/catalogue/lists/list-segments.ts';
import { listVotes } from '../../../storage/catalogue/votes/votes.ts';
import type { Sql, Transaction } from '../../../storage/sql/client.ts';
import { printFigures } from '../harness/figures.ts';
import { type LongLists, openLongLists, votedBot } from './postgres-long-lists.ts';

const test = suite('long lists');
const rows = Number(process.env.ROWS ?? 1_000_000);
let lists: LongLists;

test.before(async () => {
  lists = await openLongLists(rows);
});
test.after(() => lists.close());

test('each list at each depth, timed', async () => {
  const { open, sql } = lists;
  const catalogue = open();
  const startedMs = performance.now();
  await recountLists(sql);
  const counts = [
    (await catalogue.bots.page(1)).count,
    (await catalogue.servers.page(1)).count,
    (await catalogue.packs.page(1)).count,
  ];
  const countMs = performance.now() - startedMs;
  printFigures(`first count of ${3 * rows} imported rows`, { countMs });
  const bots = Math.ceil((counts[0] ?? 0) / 12);
  const all = Math.ceil(rows / 12);
  const warm = open();
  let deep = bots;
  const fan = { user: 'fan', ref: votedBot };
  for (const [what, call] of [
    ['bots @all, page 1', () => open().bots.page(1)],
    ['bots @all, middle', () => open().bots.page(bots >> 1)],
    ['bots @all, last page', () => open().bots.page(bots)],
    ['bots @all, one deep page after the other', () => warm.bots.page(deep--)],
    ['bots @random', () => warm.bots.random(6)],
    ['bots @index', () => open().bots.frontPage()],
    ['servers @all, last page', () => open().servers.page(all)],
    ['packs @all, last page', () => open().packs.page(all)],
    [`votes @all of 1000, page 50`, () => listVotes(sql, fan, 50)],
  ] as const) {
    printFigures(what, await lists.measure(what, call));
  }
  assert.equal(counts, [rows - Math.floor(rows / 20), rows, rows]);
});

test('voters at each depth, timed', async () => {
  const { open, sql } = lists;
  const { voters } = open().votes;
  const startedMs = performance.now();
  await voters(votedBot, 1);
  printFigures(`order of ${rows} voters made`, { orderMs: performance.now() - startedMs });
  const last = Math.ceil(rows / 100);
  let again = 0;
  for (const [what, call] of [
    ['page 1', () => voters(votedBot, 1)],
    ['page in the middle', () => voters(votedBot, last >> 1)],
    ['last page', () => voters(votedBot, last)],
    ['page 1 after one vote', () => voteAndRead(sql, () => voters(votedBot, 1), [++again])],
    [
      'page 1 after a thousand votes',
      () =>
        voteAndRead(
          sql,
          () => voters(votedBot, 1),
          Array.from({ length: 1_000 }, () => (again += 7)),
        ),
    ],
  ] as const) {
    printFigures(`user-list, ${what}`, await lists.measure(what, call));
  }
});

/** Voters who voted long ago vote again. */
const voteAndRead = async (sql: Sql, read: () => Promise<unknown>, voters: readonly number[]) => {
  await sql`
    insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num)
    select gen_random_uuid(), clock_timestamp(), 2, 'bot', 'bot1', 'voter' || number, true, 0
    from unnest(${voters.map(String)}::text[]) as number`;
  return read();
};

/** A statement that reads everything, for which the pool's limit is too short. */
const plainly = <Rows>(sql: Sql, read: (transaction: Transaction) => Promise<Rows>): Promise<Rows> =>
  sql.begin(async (transaction) => {
    await transaction`set local statement_timeout = 0`;
    return read(transaction);
  }) as Promise<Rows>;

test('pages of voters around the deep end hold each voter once, in order', async () => {
  const { sql } = lists;
  const { voters } = lists.open().votes;
  const last = Math.ceil((rows + 1) / 100);
  const seen = [...(await voters(votedBot, 1))];
  for (let page = last - 99; page <= last; page++) seen.push(...(await voters(votedBot, page)));
  const expected = await plainly(
    sql,
    (transaction) => transaction<{ author: string }[]>`
    with newest as (
      select distinct on (author) author, created_at, itag from vote_rows
      where target_type = 'bot' and target_id = 'bot1' and not void
      order by author, created_at desc, itag desc)
    select author from (
      select author, row_number() over (order by created_at desc, itag desc) as place from newest) as placed
    where place <= 100 or place > ${(last - 100) * 100}::int order by place`,
  );

  assert.equal(
    seen,
    expected.map(({ author }) => author),
  );
});

test('pages around the deep end hold each row once, in order', async () => {
  const { sql } = lists;
  const catalogue = lists.open();
  const { count } = await catalogue.bots.page(1);
  const last = Math.ceil(count / 12);
  const ids: string[] = [];
  for (let page = last - 99; page <= last; page++) {
    ids.push(...(await catalogue.bots.page(page)).rows.map((row) => row.bot_id));
  }
  const expected = await plainly(
    sql,
    (transaction) => transaction<{ bot_id: string }[]>`
    select bot_id from bots where type in ('approved', 'certified')
    order by created_at, bot_id limit ${ids.length}`,
  );

  assert.equal(
    ids.toReversed(),
    expected.map((row) => row.bot_id),
  );
});

test.run();
