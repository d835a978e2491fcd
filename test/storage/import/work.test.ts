/**
 * What an import in many calls costs, counted: no call reads or plans more because the store has more, and no
 * two imports are one.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createStoreAccess } from '../../../ops/store-access.ts';
import { readNumber } from '../../../storage/sql/rows.ts';
import { bot, linesOf, openTestStore, user, vote } from './store.ts';

const test = suite('the work of an import');

const store = await openTestStore();
test.after(() => store.close());
test.before.each(() => store.clear());

const { sql } = store;
const openAccess = () => createStoreAccess({ sql, hot: null as never, copySource: null }, store.folder);
const months = 12;
const votesOf = (author: number) =>
  linesOf(
    ...Array.from({ length: 100 }, (_, n) =>
      vote(1_000 + n, author, { created_at: new Date(Date.UTC(2025, n % months, 5)).toISOString() }),
    ),
  );
const bots = linesOf(user(1), ...Array.from({ length: 100 }, (_, n) => bot(1_000 + n)));

const readVotesRead = async (): Promise<number> => {
  await sql`select pg_stat_force_next_flush()`;
  return readNumber(sql`select coalesce(sum(seq_tup_read), 0) as read from pg_stat_user_tables
    where relname like 'votes%'`);
};
const countCommits = async (): Promise<number> => {
  await sql`select pg_stat_force_next_flush()`;
  return readNumber(sql`select xact_commit as commits from pg_stat_database
    where datname = current_database()`);
};

test('votes are looked up in an index, partitions once, and plans are for what there is', async () => {
  const access = openAccess();
  const id = await access.beginImport(async () => 1);
  await access.importLines(id, bots);
  for (let author = 1; author <= 20; author++) await access.importLines(id, votesOf(author));
  const before = { read: await readVotesRead(), commits: await countCommits() };
  for (let author = 21; author <= 30; author++) await access.importLines(id, votesOf(author));
  const commits = (await countCommits()) - before.commits;
  const read = (await readVotesRead()) - before.read;
  const [generic] = await sql`
    select coalesce(sum(generic_plans), 0)::int as plans from pg_prepared_statements
    where statement like 'select%any($1::%'`;
  await access.endImport(id);

  assert.ok(read < 1_000, `${read} rows of votes were read for 1,000 new ones`);
  assert.ok(commits <= 10 + 6, `${commits} transactions for 10 calls`);
  assert.is(generic?.plans, 0, 'no look-up has a plan for an empty store');
});

test('one import at a time, with its codes, and an id that is not open adds nothing', async () => {
  const access = openAccess();
  const id = await access.beginImport(async () => 7);
  await access.keepCodes(id, ['owls']);
  const second = await access.beginImport(async () => 8).catch((error: Error) => error.message);
  const stranger = await access.importLines(8, linesOf(user(2))).catch((error: Error) => error.message);
  await access.importLines(id, linesOf(user(1), bot(10, { user: { username: 'Owls' } })));
  const [row] = await sql`select code from vanity`;
  await access.endImport(id);
  const late = await access.importLines(id, linesOf(user(2))).catch((error: Error) => error.message);
  const failed = await access.beginImport(() => Promise.reject(new Error('away'))).catch(() => 'failed');
  const next = await access.beginImport(async () => 9);

  assert.match(String(second), /Another import is in progress/);
  assert.match(String(stranger), /This import is not open/);
  assert.match(String(late), /This import is not open/);
  assert.is(row?.code, 'owls-0010');
  assert.equal([failed, next], ['failed', 9]);
  assert.is(await readNumber(sql`select count(*) as users from users where not bot`), 1);
});

test.run();
