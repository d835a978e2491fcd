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

const registerDeathTests = (test: Claims, open: () => RealWorld): void => {
  test('webhooks: after a delivery has crashed two nodes, the others wait longer', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('hook-deadly');
    const id = await addEndpoint(sql, ref);
    await ledger.flush({ entities: [], votes: makeVotes(ref, 62_321, 2) });
    const queue = createWebhookQueue(sql);
    await takeOne(sql, id);
    await endLeaseOf(sql, id);
    const lease = await takeOne(sql, id);
    const [delivery] = (await queue.readPage(lease, { nowMs, limit: 1 }))?.deliveries ?? [];
    assert.ok(delivery);
    const attempted = delivery as NonNullable<typeof delivery>;
    await queue.begin(lease, { delivery: attempted, nextAtMs: nowMs + 1, triesMax: 2 });
    await endLeaseOf(sql, id);

    const others = await queue.take({ nowMs, ...places });
    assert.is(others.filter((other) => other.id === id).length, 0, 'the second death makes others wait');
    await sql`update webhook_endpoints set lease_until_ms = 1 where id = ${id}`;
    const later = await takeOne(sql, id);
    const next = await queue.readPage(later, { nowMs, limit: 1 });
    assert.equal([next?.endpoint.failures, next?.deliveries[0]?.number], [2, 2], 'the other one goes first');
    await queue.begin(later, { delivery: attempted, nextAtMs: nowMs + 1, triesMax: 2 });
    assert.equal(await readPending(sql, id), [1, 1], 'its last attempt expires it');
  });
};

export const registerWebhookLeaseTests: typeof registerHeldTests = (test, open) => {
  registerHeldTests(test, open);
  registerDeathTests(test, open);
};
