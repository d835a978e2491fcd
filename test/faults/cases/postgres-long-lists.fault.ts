/**
 * A directory of a million bots, servers and packs in a Postgres of its own, and what each list costs there:
 * the longest statement of a page as the server's own log times it, and the whole page at the client.
 *
 * Rows come from `generate_series`; half of them share an instant, as after a bulk import.; the figures are
 * in docs/operators/capacity.md. Time limit: 2400 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Catalogue, createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { recountLists } from '../../../storage/catalogue/lists/list-segments.ts';
import { listVotes } from '../../../storage/catalogue/votes/votes.ts';
import { connectSql, type Sql, type Transaction } from '../../../storage/sql/client.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts';
import { refOf } from '../../support/refs.ts';
import { printFigures } from '../harness/figures.ts';

const test = suite('long lists');

interface Figure {
  readonly what: string;
  /** Longest single statement, as the server timed it. */
  readonly statementMs: number;
  /** Median of the whole call. */
  readonly callMs: number;
}
interface LongLists {
  readonly sql: Sql;
  /** A catalogue that knows nothing yet: what it does first is what a node pays after an edit. */
  open(): Catalogue;
  measure(what: string, call: () => Promise<unknown>): Promise<Figure>;
  close(): Promise<void>;
}

const samples = 9;

/** `rows` of each kind; as many voters of one bot, and a thousand votes of one user on it. */
const openLongLists = async (rows: number): Promise<LongLists> => {
  const server = await startPostgres({
    settings: { shared_buffers: '512MB', max_wal_size: '4GB', synchronous_commit: 'off' },
  });
  const url = await server.database('lists');
  const filler = connectSql(url, { connectionsMax: 1, statementTimeoutMs: 0 });
  await migrate(filler);
  await fill(filler, rows);
  await filler`alter database lists set log_min_duration_statement = 0`;
  await filler.end();
  const sql = connectSql(url, { connectionsMax: 1 });
  return {
    sql,
    open: () => createCatalogue(sql),
    measure: (what, call) => measure({ sql, server }, what, call),
    close: async () => {
      await sql.end();
      await server.close();
    },
  };
};

const fill = async (sql: Sql, rows: number): Promise<void> => {
  // Triggers and references one by one would take minutes; what the triggers note is noted at once below.
  await sql`set session_replication_role = replica`;
  await sql`insert into users (id, username, display_name) values ('owner', 'owner', 'Owner')`;
  await addListings(sql, { kind: 'team', rows: 1, from: 0 });
  await sql`
    insert into teams (id, incarnation, itag, vanity_ref, name)
    values ('team1', 1, md5('team1')::uuid, md5('team1')::uuid, 'Team')`;
  await addListings(sql, { kind: 'bot', rows, from: 1 });
  await sql`
    insert into bots (bot_id, incarnation, client_id, itag, vanity_ref, type, owner_id, library, prefix,
      short, long, invite, tags, created_at)
    select 'bot' || n, 1 + n, 'bot' || n, md5('bot' || n)::uuid, md5('bot' || n)::uuid,
      case n % 20 when 0 then 'pending' when 1 then 'certified' else 'approved' end, 'owner', 'discord.js',
      '!', 'Short words about a bot.', repeat('Long words. ', 50), 'https://example.org', '{fun,games}',
      ${bornAt(sql)}
    from generate_series(1, ${rows}::int) as n`;
  await addListings(sql, { kind: 'server', rows, from: 1 + rows });
  await sql`
    insert into servers (server_id, incarnation, itag, vanity_ref, team_id, type, name, short, tags,
      created_at)
    select 'server' || n, 1 + ${rows}::int + n, md5('server' || n)::uuid, md5('server' || n)::uuid, 'team1',
      'approved', 'Server', 'Short words.', '{fun}', ${bornAt(sql)}
    from generate_series(1, ${rows}::int) as n`;
  await addListings(sql, { kind: 'pack', rows, from: 1 + 2 * rows });
  await sql`
    insert into packs (url, incarnation, owner_id, name, short, tags, bot_ids, server_ids, created_at)
    select 'pack' || n, 1 + 2 * ${rows}::int + n, 'owner', 'Pack', 'Short words.', '{fun}',
      array['bot' || n, 'bot' || (n + 1)], array['server' || n], ${bornAt(sql)}
    from generate_series(1, ${rows}::int) as n`;
  await addVotes(sql, rows);
  await sql`
    insert into list_changes
    select 'bots', created_at, bot_id, 1 from bots where type in ('approved', 'certified')
    union all select 'servers', created_at, server_id, 1 from servers
    union all select 'packs', created_at, url, 1 from packs`;
  await sql`vacuum analyze`;
};

/** Half at one instant, half a second apart. */
const bornAt = (sql: Sql) => sql`
  timestamptz '2026-01-01' + case when n % 2 = 0 then interval '0' else make_interval(secs => n) end`;

const addListings = async (
  sql: Sql,
  { kind, rows, from }: { kind: string; rows: number; from: number },
): Promise<void> => {
  await sql`
    insert into totals (incarnation, kind, entity_id, shard, upvotes, clicks)
    select ${from}::int + n, ${kind}, ${kind} || n, n % 128, n * 7919::bigint % 99991,
      n * 104729::bigint % 999983
    from generate_series(1, ${rows}::int) as n`;
  await sql`
    insert into vanity (itag, code, target_type, target_id)
    select md5(${kind} || n)::uuid, ${kind} || '-' || n, ${kind}, ${kind} || n
    from generate_series(1, ${rows}::int) as n`;
};

/** On bot1: of as many voters; and a thousand of one user, before them. */
const addVotes = async (sql: Sql, votes: number): Promise<void> => {
  await sql`
    insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num)
    select gen_random_uuid(), now() - make_interval(secs => n), 2, 'bot', 'bot1',
      case when n > ${votes}::int then 'fan' else 'voter' || n end, true, 0
    from generate_series(1, ${1_000 + votes}::int) as n`;
};

/** The bot that votes are for. */
const votedBot = refOf('bot', 'bot1', 2);

const measure = async (
  { sql, server }: { sql: Sql; server: PostgresServer },
  what: string,
  call: () => Promise<unknown>,
): Promise<Figure> => {
  for (let warm = 0; warm < 3; warm++) await call();
  const times: number[] = [];
  const statements: number[] = [];
  for (let sample = 0; sample < samples; sample++) {
    const mark = `mark ${what} ${sample} ${performance.now()}`;
    await sql`select ${mark}::text`;
    const startedMs = performance.now();
    await call();
    times.push(performance.now() - startedMs);
    const text = await logAfter({ sql, server }, mark);
    statements.push(Math.max(0, ...[...text.matchAll(durations)].map((found) => Number(found[1]))));
  }
  return { what, statementMs: median(statements), callMs: median(times) };
};
const durations = /duration: ([0-9.]+) ms/g;

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((left, right) => left - right)[numbers.length >> 1] ?? 0;

/** What the server logged after the mark, complete because it has logged a later mark, too. */
const logAfter = async (
  { sql, server }: { sql: Sql; server: PostgresServer },
  mark: string,
): Promise<string> => {
  const end = `end of ${mark}`;
  await sql`select ${end}::text`;
  for (let look = 0; look < 1_000; look++) {
    const text = server.log();
    const at = text.lastIndexOf(`'${end}'`);
    if (at >= 0) return text.slice(text.indexOf('\n', text.indexOf(`'${mark}'`)), at);
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error('the server does not log');
};

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
