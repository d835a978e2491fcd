/**
 * Every list of a directory of a million bots, servers and packs, at any depth: figures for
 * docs/operating.md, and whole walks around the deep end that neither skip nor repeat a row. Time limit:
 * 600 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { recountLists } from '../../storage/catalogue/list-segments.ts';
import { listVoters, listVotes } from '../../storage/catalogue/votes.ts';
import { type LongLists, openLongLists, votedBot } from './long-lists.ts';

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
  console.log(
    `\nfigures: first count of ${3 * rows} imported rows | ${Math.round(performance.now() - startedMs)} ms`,
  );
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
    [`user-list of ${rows / 10}, page 1`, () => listVoters(sql, votedBot, 1)],
  ] as const) {
    const figure = await lists.measure(what, call);
    const { statementMs, callMs } = figure;
    console.log(
      `figures: ${what} | longest statement ${statementMs.toFixed(2)} ms | call ${callMs.toFixed(2)} ms`,
    );
  }
  assert.equal(counts, [rows - Math.floor(rows / 20), rows, rows]);
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
  const expected = await sql<{ bot_id: string }[]>`
    select bot_id from bots where type in ('approved', 'certified')
    order by created_at, bot_id limit ${ids.length}`;

  assert.equal(
    ids.toReversed(),
    expected.map((row) => row.bot_id),
  );
});

test.run();
