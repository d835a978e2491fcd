/**
 * Leases of webhook endpoints: one sender at a time, and what follows when one dies. Run on both kinds of
 * SQL.
 */
import * as assert from 'uvu/assert';
import { createWebhookQueue, type Lease } from '../../../storage/catalogue/webhooks/queue.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import {
  addEndpoint,
  type Claims,
  makeVotes,
  nowMs,
  places,
  readPending,
  takeOne,
  wanted,
} from './webhooks.ts';
import { type RealWorld, vote } from './world.ts';

/** As after the death of a sender, when the lease has just ended. */
const endLeaseOf = async (sql: Sql, id: string): Promise<void> => {
  await sql`
    update webhook_endpoints set lease_until_ms = (extract(epoch from clock_timestamp()) * 1000)::bigint
    where id = ${id}`;
};
/** How long the lease lasts. */
const readLeaseMs = async (sql: Sql, id: string): Promise<number> => {
  const [row] = await sql<{ ms: number }[]>`
    select lease_until_ms - (extract(epoch from clock_timestamp()) * 1000)::bigint as ms
    from webhook_endpoints where id = ${id}`;
  return row?.ms ?? 0;
};

const registerHeldTests = (test: Claims, open: () => RealWorld): void => {
  test('webhooks: one of many senders gets an endpoint; after its lease another one does', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('hook-lease');
    const id = await addEndpoint(sql, ref);
    await ledger.flush({ entities: [], votes: [vote(ref, 62_301)] });
    const queue = createWebhookQueue(sql);
    const take = (timeMs: number) => queue.take({ nowMs: timeMs, ...places });
    const taken = (await Promise.all([1, 2, 3, 4, 5, 6].map(() => take(nowMs)))).flat();
    const mine = taken.filter((lease) => lease.id === id);
    assert.is(mine.length, 1);
    // A node whose clock is ahead does not take it, either: the lease is by SQL's clock.
    assert.is((await take(nowMs + 3_600_000)).filter((lease) => lease.id === id).length, 0);
    await endLeaseOf(sql, id);
    const [next] = (await take(nowMs)).filter((lease) => lease.id === id);
    assert.ok(next?.lapsed);
    assert.is(await queue.readPage(mine[0] as Lease, wanted), null);
  });

  test('webhooks: a renewed lease lasts; a lease that has ended is not renewed', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('hook-renewed');
    const id = await addEndpoint(sql, ref);
    await ledger.flush({ entities: [], votes: [vote(ref, 62_311)] });
    const queue = createWebhookQueue(sql);
    const lease = await takeOne(sql, id);
    await queue.renew([lease], 600_000);
    assert.ok((await readLeaseMs(sql, id)) > 500_000);
    await queue.hand(lease, nowMs);
    await queue.renew([lease], 600_000);
    const next = await takeOne(sql, id);
    await queue.renew([lease], 600_000);
    assert.not.ok(next.lapsed);
    assert.ok((await readLeaseMs(sql, id)) <= 1_000);
  });
};

/** Takes the endpoint after the death of its sender, and begins the deliveries of these numbers. */
const beginAndDie = async (sql: Sql, id: string, numbers: readonly number[]) => {
  const queue = createWebhookQueue(sql);
  const lease = await takeOne(sql, id);
  const page = await queue.readPage(lease, wanted);
  const begun = (page?.deliveries ?? []).filter(({ number }) => numbers.includes(number ?? 0));
  assert.is(begun.length, numbers.length);
  const attempts = begun.map(({ place, kind }) => ({ place, kind, replay: 0 as const, nextAtMs: nowMs + 1 }));
  await queue.begin(lease, { attempts, triesMax: 2 });
  await endLeaseOf(sql, id);
  return page;
};
const readWaiting = async (sql: Sql, id: string, timeMs = nowMs) => {
  const lease = await takeOne(sql, id);
  const page = await createWebhookQueue(sql).readPage(lease, { ...wanted, nowMs: timeMs });
  await endLeaseOf(sql, id);
  return page?.deliveries.map(({ number, tries, begun }) => [number, tries, begun]);
};

const registerDeathTests = (test: Claims, open: () => RealWorld): void => {
  test('webhooks: deaths delay only what was begun, and do not judge the receiver', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('hook-deadly');
    const id = await addEndpoint(sql, ref);
    await ledger.flush({ entities: [], votes: makeVotes(ref, 62_321, 3) });
    for (let death = 0; death < 5; death++) await beginAndDie(sql, id, []);
    await beginAndDie(sql, id, [1]);
    assert.equal(await readWaiting(sql, id), [
      [2, 0, false],
      [3, 0, false],
    ]);
    const page = await beginAndDie(sql, id, [2]);
    const { failures, failingSinceMs, waitUntilMs } = page?.endpoint ?? {};
    assert.equal([failures, failingSinceMs, waitUntilMs], [0, 0, 0]);

    assert.equal(await readWaiting(sql, id), [[3, 0, false]]);
    assert.equal(await readWaiting(sql, id, nowMs + 1), [
      [1, 1, true],
      [2, 1, true],
      [3, 0, false],
    ]);
    await sql`update webhook_deliveries set next_at_ms = 0 where endpoint_id = ${id}`;
    await beginAndDie(sql, id, [1]);
    assert.equal(await readPending(sql, id), [2, 2], 'its last attempt expires it');
  });

  test('webhooks: the time in which nobody sent does not count as failing', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('hook-outage');
    const id = await addEndpoint(sql, ref);
    await ledger.flush({ entities: [], votes: makeVotes(ref, 62_331, 1) });
    const [dueMs, dayMs] = [nowMs + 60_000, 86_400_000];
    await sql`
      update webhook_endpoints set failures = 4, failing_since_ms = ${nowMs}, due_at_ms = ${dueMs}
      where id = ${id}`;
    for (const days of [6, 6, 7]) {
      const lease = await takeOne(sql, id, dueMs + days * dayMs);
      const page = await createWebhookQueue(sql).readPage(lease, { nowMs: dueMs + days * dayMs, limit: 1 });
      assert.is(page?.endpoint.failingSinceMs, nowMs + days * dayMs);
      await endLeaseOf(sql, id);
    }
  });
};

export const registerWebhookLeaseTests: typeof registerHeldTests = (test, open) => {
  registerHeldTests(test, open);
  registerDeathTests(test, open);
};
