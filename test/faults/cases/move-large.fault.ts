/**
 * A directory of 100,000 listings with 1,000,000 votes moves from the embedded stores to Redis and Postgres,
 * and back, with progress; the target is 60 seconds each, on a quiet machine.
 *
 * Rows come from `generate_series`. `LISTINGS` sets the number of listings. Time limit: 900 s.
 */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { emptyFacts, emptyTotals, type HotState } from '../../../engine/entity/state.ts';
import { reconcileGenerations } from '../../../engine/flush/generations.ts';
import { type EntityAddress, type Incarnation, toAddress } from '../../../engine/ids.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import type { HotRecord } from '../../../storage/move/records.ts';
import type { Stores } from '../../../storage/open.ts';
import { prepareStores } from '../../../storage/prepare.ts';
import { formatNumbers, type Sql } from '../../../storage/sql/client.ts';
import { openAtRest } from '../../support/directory.ts';
import { makeFolder } from '../../support/folder.ts';
import { runOps } from '../../support/ops-process.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { startRedis } from '../../support/redis-server.ts';
import { shardOf } from '../../support/refs.ts';
import { makeBareFolder } from '../../support/sql-template.ts';
import { printFigures } from '../harness/figures.ts';

const test = suite('a large directory moves');
const listings = Number(process.env.LISTINGS ?? 100_000);
const votesPerListing = 10;
const visitorsPerListing = 5;
const folder = makeFolder('rollcall-move-large-');
const postgres = await startPostgres();
const redis = await startRedis();
test.after(async () => {
  await redis.dispose();
  await postgres.close();
});

/** Each listing with its account, vanity code, totals and votes. */
const fillSql = async (sql: Sql): Promise<void> => {
  const shards = Array.from({ length: listings }, (_, at) => shardOf('bot', String(at + 1)));
  await sql`
    insert into users (id, username, display_name)
    select n, 'user' || n, 'User ' || n from generate_series(1, ${listings}::int) as n`;
  await sql`
    insert into totals (incarnation, kind, entity_id, shard, upvotes, votes_logged, clicks, servers)
    select n, 'bot', n, shard, ${votesPerListing}, ${votesPerListing}, n % 991, n * 7919 % 5003
    from unnest(${formatNumbers(shards)}::smallint[]) with ordinality as listed (shard, n)`;
  await sql`select setval('incarnations', ${listings})`;
  await sql`
    with coded as (
      insert into vanity (itag, code, target_type, target_id)
      select gen_random_uuid(), 'v' || n, 'bot', n from generate_series(1, ${listings}::int) as n
      returning itag, target_id)
    insert into bots (bot_id, incarnation, client_id, itag, vanity_ref, type, owner_id, library, prefix,
      short, long, invite)
    select target_id, target_id::bigint, target_id, gen_random_uuid(), itag, 'approved', '1', 'any', '!',
      'Counts what it is asked to count.', repeat('Counts what it is asked to count. ', 10), ''
    from coded`;
  await sql`
    insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num,
      log_number)
    select gen_random_uuid(), now() - (v * 7 * interval '1 day') - n * interval '1 second', n, 'bot', n,
      (n * 31 + v) % ${listings}::int + 1, true, 1, ${votesPerListing} - v
    from generate_series(1, ${listings}::int) as n, generate_series(0, ${votesPerListing - 1}::int) as v`;
};

const listRecords = (n: number, nowMs: number): readonly HotRecord[] => {
  const listing = { address: toAddress('bot', String(n)) as EntityAddress, incarnation: n as Incarnation };
  const facts = { ...emptyFacts, revision: 1, listed: true };
  const counted = { upvotes: votesPerListing, clicks: n % 991, servers: String((n * 7919) % 5003) };
  const state = { ...emptyTotals, ...counted, facts, flushedVotes: votesPerListing, version: 0 };
  const visitors = Array.from({ length: visitorsPerListing }, (_, at) => String(n * 10 + at));
  return [
    { kind: 'state', ...listing, state: state as HotState },
    { kind: 'votes', ...listing, user: String(n), votes: [{ atMs: nowMs - (n % 10_000), flag: 'cast' }] },
    { kind: 'visitors', ...listing, visitors },
  ];
};

const fill = async (stores: Stores): Promise<void> => {
  await prepareStores(stores);
  await fillSql(stores.sql);
  await stores.sql`analyze`;
  await reconcileGenerations(stores.hot, createLedger(stores.sql));
  for (let first = 1; first <= listings; first += 1_000) {
    const records: HotRecord[] = [];
    for (let n = first; n < first + 1_000 && n <= listings; n++) records.push(...listRecords(n, Date.now()));
    await stores.hot.transfer.writeRecords(records);
  }
};

/** Moves; resolves to its seconds. */
const move = async (
  dataDir: string,
  settings: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<number> => {
  const startedMs = performance.now();
  const { code, err } = await runOps(dataDir, ['move', ...args], { settings });
  const seconds = (performance.now() - startedMs) / 1_000;
  assert.is(code, 0, err);
  assert.match(err, /\(\d+ %\)/, 'it shows progress');
  return seconds;
};

test('to Redis and Postgres, and back', async () => {
  const [first, third] = [join(folder, 'first'), join(folder, 'third')];
  await makeBareFolder(first);
  const stores = await openAtRest(first);
  await fill(stores).finally(() => stores.close());
  const servers = { REDIS_URL: redis.url, DATABASE_URL: await postgres.database('large') };
  const toServers = ['--to-redis', servers.REDIS_URL, '--to-database', servers.DATABASE_URL];
  const thereSeconds = await move(first, {}, toServers);
  const backSeconds = await move(join(folder, 'second'), servers, ['--to-data', third]);
  const votes = listings * votesPerListing;
  printFigures('a large directory moves', { listings, votes, thereSeconds, backSeconds });
});

test.run();
