/**
 * The operator's searches in a directory of a million users, bots, servers, teams and packs: each page within
 * 100 ms. Time limit: 600 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createDirectoryLists, namesSearchedMax } from '../../storage/catalogue/operator/directory-lists.ts';
import type { ListPage } from '../../storage/catalogue/operator/pages.ts';
import { connectSql, type Sql } from '../../storage/sql/client.ts';
import { migrate } from '../../storage/sql/migrate.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';

const test = suite('searches of a large directory');
const rows = Number(process.env.ROWS ?? 1_000_000);
const searchMsMax = 100;
const samples = 9;
let server: PostgresServer;
let sql: Sql;
let lists: ReturnType<typeof createDirectoryLists>;

/** Half of the names begin with the same letters; bots and their users have the same ids. */
const fill = async (filler: Sql): Promise<void> => {
  await filler`set session_replication_role = replica`;
  await filler`
    insert into users (id, username, display_name)
    select 'id' || n, case n % 2 when 0 then 'Common ' else 'Rare' || md5(n::text) || ' ' end || n, ''
    from generate_series(1, ${rows}::int) as n`;
  await filler`
    insert into bots (bot_id, incarnation, client_id, itag, vanity_ref, type, owner_id, library, prefix,
      short, long, invite)
    select 'id' || n, n, 'id' || n, md5('bot' || n)::uuid, md5('bot' || n)::uuid,
      case n % 20 when 0 then 'pending' else 'approved' end, 'id1', '', '', '', '', ''
    from generate_series(1, ${rows}::int) as n`;
  await filler`
    insert into servers (server_id, incarnation, itag, vanity_ref, team_id, name, short)
    select 'id' || n, ${rows}::int + n, md5('server' || n)::uuid, md5('server' || n)::uuid, 'id1',
      case n % 2 when 0 then 'Common ' else 'Rare' || md5(n::text) || ' ' end || n, ''
    from generate_series(1, ${rows}::int) as n`;
  await filler`
    insert into teams (id, incarnation, itag, vanity_ref, name)
    select 'id' || n, 2 * ${rows}::int + n, md5('team' || n)::uuid, md5('team' || n)::uuid,
      case n % 2 when 0 then 'Common ' else 'Rare' || md5(n::text) || ' ' end || n
    from generate_series(1, ${rows}::int) as n`;
  await filler`
    insert into packs (url, incarnation, owner_id, name, short)
    select 'id' || n, 3 * ${rows}::int + n, 'id1',
      case n % 2 when 0 then 'Common ' else 'Rare' || md5(n::text) || ' ' end || n, ''
    from generate_series(1, ${rows}::int) as n`;
};

test.before(async () => {
  server = await startPostgres({ settings: { max_wal_size: '4GB', synchronous_commit: 'off' } });
  const url = await server.database('search');
  const filler = connectSql(url, { connectionsMax: 1, statementTimeoutMs: 0 });
  await migrate(filler);
  await fill(filler);
  await filler`vacuum analyze`;
  await filler.end();
  sql = connectSql(url);
  lists = createDirectoryLists(sql);
});
test.after(async () => {
  await sql.end();
  await server.close();
});

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((left, right) => left - right)[numbers.length >> 1] ?? 0;

const page = { page: 1 } as const;
const kinds: readonly (readonly [string, (search: string, page: number) => Promise<ListPage<object>>])[] = [
  ['users', (search, page) => lists.users({ page, search, ban: null })],
  ['bots', (search, page) => lists.bots({ page, search, type: null })],
  ['servers', (search, page) => lists.servers({ page, search, type: null })],
  ['teams', (search, page) => lists.teams({ page, search })],
  ['packs', (search, page) => lists.packs({ page, search })],
];
for (const [kind, list] of kinds) {
  for (const [search, page] of [
    ['id77', 1],
    ['common', 1],
    ['COMMON 7', 1],
    ['common', 19],
    ['rarec4ca4238', 1],
    ['nothing', 1],
  ] as const) {
    test(`${kind} --search "${search}" --page ${page} within ${searchMsMax} ms`, async () => {
      const times: number[] = [];
      let found = await list(search, page);
      for (let sample = 0; sample < samples; sample++) {
        const startedMs = performance.now();
        found = await list(search, page);
        times.push(performance.now() - startedMs);
      }
      console.log(`figures: ${kind} ${search} ${page} | ${median(times).toFixed(1)} ms | ${found.total}`);

      assert.ok(median(times) <= searchMsMax, `${median(times)} ms`);
      const expected = { id77: 1, nothing: 0, rarec4ca4238: 1 }[search as string];
      if (expected === undefined) assert.equal([found.rows.length, found.totalIs], [50, 'at_least']);
      else assert.equal([found.rows.length, found.total, found.totalIs], [expected, expected, 'exact']);
      assert.ok(found.total <= namesSearchedMax + 1);
    });
  }
}

test('a page of a whole list has a total, about', async () => {
  const { total, totalIs, rows: shown } = await lists.users({ ...page, search: '', ban: null });

  assert.equal([totalIs, shown.length], ['about', 50]);
  assert.ok(Math.abs(total - rows) < rows / 10, `${total}`);
});

test.run();
