/**
 * The ledger's contract on a Postgres server: the same claims as on the embedded SQL and on the model.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { StorageError } from '../../../engine/errors.ts';
import type { OutboxVote } from '../../../engine/ports.ts';
import { resetVotes } from '../../../storage/ledger/adjust.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import { lockTotals } from '../../../storage/ledger/totals.ts';
import type { Sql, Transaction } from '../../../storage/sql/client.ts';
import { locks } from '../../../storage/sql/locks.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { buildSearchIndex } from '../../../storage/sql/search-index.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { until } from '../../support/until.ts';
import { claimLedger } from '../ledger/contract.ts';
import { claimLetters, claimRetries } from '../ledger/letters.ts';
import { claimLineages } from '../ledger/timelines.ts';
import { registerVoteLogTests } from '../ledger/vote-log.ts';
import { registerWebhookEditTests } from '../ledger/webhook-edits.ts';
import { registerWebhookLeaseTests } from '../ledger/webhook-leases.ts';
import { registerWebhookScopeTests } from '../ledger/webhook-scopes.ts';
import { registerWebhookTests } from '../ledger/webhooks.ts';
import { dirty, vote, worldOn } from '../ledger/world.ts';

const test = suite('ledger on postgres');
const server = await startPostgres();
const url = await server.database('ledger');
const opened = await openServerSql(url);
await migrate(opened.sql);
const world = worldOn(opened.sql, opened.close);
test.after(async () => {
  await world.close();
  await server.close();
});

// Each test numbers its own flushes, and listings of several tests share a shard.
test.before.each(async () => {
  await world.sql`delete from generations`;
});

claimLedger(test, () => world);
claimLetters(test, () => world);
claimRetries(test, () => world);
claimLineages(test, () => world);
registerVoteLogTests(test, () => world);
registerWebhookTests(test, () => world);
registerWebhookLeaseTests(test, () => world);
registerWebhookScopeTests(test, () => world);
registerWebhookEditTests(test, () => world);

test('a reset may take longer than the statement timeout, which is for requests', async () => {
  const impatient = await openServerSql(url, { statementTimeoutMs: 1_000, lockTimeoutMs: 20_000 });
  const { sql } = opened;
  const { incarnation } = await world.list('long-reset');
  try {
    const reset = await sql.begin(async (holder) => {
      await holder`select pg_advisory_xact_lock_shared(${locks.votes})`;
      const waiting = resetVotes(impatient.sql, { scope: incarnation, atMs: 1_000, reason: 'operator' });
      await Promise.race([waiting, holder`select pg_sleep(1.6)`]);
      return { waiting };
    });
    assert.is(await reset.waiting, 0);
  } finally {
    await impatient.close();
  }
});

test('the index of the search is built while votes are written', async () => {
  const { sql } = opened;
  await sql`drop index search_words`;
  // Not in a transaction, whose snapshot the build would wait for.
  const writer = await sql.reserve();
  try {
    await writer`select pg_advisory_lock_shared(${locks.votes})`;
    assert.is(await buildSearchIndex(sql), true);
  } finally {
    await writer`select pg_advisory_unlock_all()`;
    writer.release();
  }
});

/** Counts the transactions that begin. */
const countBegins = (sql: Sql) => {
  let begins = 0;
  const get = (target: Sql, name: string | symbol): unknown => {
    if (name === 'begin') begins += 1;
    return Reflect.get(target, name);
  };
  return { sql: new Proxy(sql, { get }), count: () => begins };
};

const insertVote = (
  transaction: Transaction,
  { itag, atMs, ref }: OutboxVote,
  number: number | null,
): Promise<unknown> => transaction`
  insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num,
    log_number)
  values (${itag}, ${new Date(atMs)}, ${ref.incarnation}, ${ref.kind}, ${ref.id}, 'one', true, 0, ${number})`;

/** So many transactions wait for locks. */
const wait = async (count: number): Promise<void> =>
  until(`${count} transactions wait`, async () => {
    const waiting = await opened.sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return waiting.length >= count;
  });

/**
 * Flushes two votes while another transaction writes the first of them, and commits once the flush waits for
 * it. Resolves to the numbers of all votes, one earlier vote included, and how often the flush began.
 */
const flushBeside = async (
  itag: number,
  other: (transaction: Transaction, incarnation: number) => Promise<number | null>,
) => {
  const { sql } = opened;
  const counted = countBegins(sql);
  const ledger = createLedger(counted.sql);
  const ref = await world.list(`beside-${itag}`);
  const [earlier, first, second] = [vote(ref, itag), vote(ref, itag + 1), vote(ref, itag + 2)];
  // Looks for the month's partition, in a transaction of its own.
  await ledger.flush({ entities: [], votes: [earlier] });
  const before = counted.count();
  const { flushed } = await sql.begin(async (transaction) => {
    const number = await other(transaction, ref.incarnation);
    await insertVote(transaction, first, number);
    const flushed = ledger.flush({ entities: [], votes: [first, second] });
    await Promise.race([wait(1), flushed]);
    return { flushed };
  });
  await flushed;
  const numbers = await sql<{ log_number: number | null }[]>`
    select log_number from votes where incarnation = ${ref.incarnation} order by itag`;
  return { numbers: numbers.map((row) => row.log_number), begins: counted.count() - before };
};

test('a flush of votes alone waits for the one before, and reads what it wrote', async () => {
  const lockAndNumber = async (transaction: Transaction, incarnation: number): Promise<number> => {
    await lockTotals(transaction, [incarnation]);
    await transaction`update totals set votes_logged = 2 where incarnation = ${incarnation}`;
    return 2;
  };
  assert.equal(await flushBeside(7_000_000, lockAndNumber), { numbers: [1, 2, 3], begins: 2 });
});

test('a flush that begins again waits for the one before, and then knows its votes', async () => {
  const { sql } = opened;
  const { sql: counting, count } = countBegins(sql);
  const ledger = createLedger(counting);
  const ref = await world.list('beside-again');
  const [earlier, first, second] = [7_000_020, 7_000_021, 7_000_022].map((itag) => vote(ref, itag)) as [
    OutboxVote,
    OutboxVote,
    OutboxVote,
  ];
  await ledger.flush({ entities: [], votes: [earlier] });
  const before = count();
  const { flushed, other } = await sql.begin(async (transaction) => {
    await insertVote(transaction, first, null);
    const flushed = ledger.flush({ entities: [], votes: [first, second] });
    await wait(1);
    // Gets the lock when the flush's first transaction ends, and keeps it until the second one waits.
    const other = sql.begin(async (next) => {
      await lockTotals(next, [ref.incarnation]);
      await next`update totals set votes_logged = 2 where incarnation = ${ref.incarnation}`;
      await insertVote(next, second, 2);
      await wait(1);
    });
    await wait(2);
    return { flushed, other };
  });
  await Promise.all([flushed, other]);
  assert.is(count() - before, 2);
});

test('a flush that waits for a new generation is then refused', async () => {
  const { sql } = opened;
  const ref = await world.list('fenced');
  const generation = await world.ledger.takeGeneration([ref.shard], 0);
  const flush = (version: number) =>
    world.ledger.flush({ entities: [dirty(ref, generation, { version, clicks: version })], votes: [] });
  await flush(1);

  const { flushed } = await sql.begin(async (transaction) => {
    await transaction`update generations set generation = generation + 1 where shard = ${ref.shard}`;
    const flushed = flush(2).then(
      () => 'written',
      (error: StorageError) => error.reason,
    );
    await wait(1);
    return { flushed };
  });

  assert.is(await flushed, 'outdated');
  const [totals] = await sql`select clicks from totals where incarnation = ${ref.incarnation}`;
  assert.is(totals?.clicks, 1);
});

test('a flush of totals waits for the one before, and writes what is newer', async () => {
  const { sql } = opened;
  const ref = await world.list('ordered');
  const generation = await world.ledger.takeGeneration([ref.shard], 0);
  const flush = (version: number) =>
    world.ledger.flush({ entities: [dirty(ref, generation, { version, clicks: version })], votes: [] });
  await flush(1);

  const { later } = await sql.begin(async (transaction) => {
    await transaction`update generations set flushed_version = 3 where shard = ${ref.shard}`;
    await transaction`update totals set version = 3, clicks = 3 where incarnation = ${ref.incarnation}`;
    const later = Promise.all([flush(2), flush(4)]);
    await wait(2);
    return { later };
  });
  await later;

  const [totals] = await sql`select version, clicks from totals where incarnation = ${ref.incarnation}`;
  assert.equal({ ...totals }, { version: 4, clicks: 4 });
  assert.equal((await world.ledger.readFlushedPositions())[ref.shard], { generation, version: 4 });
});

test('a flush that meets a vote without a number begins again, and leaves no hole', async () => {
  const { numbers, begins } = await flushBeside(7_000_010, async () => null);
  assert.equal({ numbers, begins }, { numbers: [1, null, 2], begins: 2 });
});

test.run();
