/**
 * The contract of webhook deliveries in SQL: a vote has one delivery per enabled endpoint, whatever flushes
 * are repeated or race; one sender has an endpoint at a time; no new work is overlooked. Run on both kinds
 * of SQL.
 */
import * as assert from 'uvu/assert';
import type { EntityRef } from '../../../engine/ids.ts';
import { enqueueReplay } from '../../../storage/catalogue/webhooks/deliveries.ts';
import {
  deleteEndpoint,
  insertEndpoint,
  updateEndpoint,
} from '../../../storage/catalogue/webhooks/endpoints.ts';
import { createWebhookQueue, type Lease } from '../../../storage/catalogue/webhooks/queue.ts';
import { expireBacklogs, purgeDeliveries } from '../../../storage/catalogue/webhooks/upkeep.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { itagOf, type RealWorld, vote } from './world.ts';

export type Claims = (title: string, claim: () => Promise<void>) => void;

const at = Date.UTC(2026, 10, 20, 12);
export const nowMs = at + 60_000;
export const wanted = { nowMs, limit: 8 };
export const places = { leaseMs: 1_000, limit: 1_000, unprovenLimit: 1_000, lapsePauseMs: 0 };
let endpoints = 0;

export const addEndpoint = async (
  sql: Sql,
  ref: EntityRef,
  upOnly = false,
  events: readonly string[] = ['vote.created'],
): Promise<string> => {
  const id = `00000000-0000-7000-8000-${String(++endpoints).padStart(12, '0')}`;
  const secret = { sealed: Buffer.from('sealed'), hint: '' };
  const fields = { name: 'x', url: 'https://example.org/', events, format: 'standard' };
  const endpoint = { ...fields, id, upOnly, secret, createdBy: 'owner' };
  assert.is(await insertEndpoint(sql, ref, { endpoint, max: 10 }), 'created');
  return id;
};
const readNumbers = async (sql: Sql, id: string): Promise<readonly number[]> => {
  const rows = await sql<{ number: number }[]>`
    select log_number as number from webhook_deliveries where endpoint_id = ${id} order by log_number`;
  return rows.map(({ number }) => number);
};
/** The counter beside the rows that it counts. */
export const readPending = async (sql: Sql, id: string): Promise<readonly unknown[]> => {
  const [row] = await sql<{ pending: number; rows: number }[]>`
    select pending, (select count(*) from webhook_deliveries where endpoint_id = ${id} and state = 0) as rows
    from webhook_endpoints where id = ${id}`;
  return [row?.pending, row?.rows];
};
export const makeVotes = (ref: EntityRef, first: number, count: number) =>
  Array.from({ length: count }, (_, index) => vote(ref, first + index, { atMs: at + index }));
export const takeOne = async (sql: Sql, id: string, timeMs = nowMs): Promise<Lease> => {
  const leases = await createWebhookQueue(sql).take({ nowMs: timeMs, ...places });
  const lease = leases.find((one) => one.id === id);
  assert.ok(lease);
  return lease as Lease;
};
const attempt = { at: '', status: 200, milliseconds: 1, error: '', detail: '', response: '' };
const healthy = { failures: 0, failingSinceMs: 0, waitUntilMs: 0, slowUntilMs: 0 };

const registerFlushTests = (test: Claims, open: () => RealWorld): void => {
  test('webhooks: one delivery per vote and enabled endpoint, however often it is flushed', async () => {
    const { ledger, list, sql } = open();
    const [ref, other] = [await list('hook-one'), await list('hook-none')];
    const [one, ups, off] = [
      await addEndpoint(sql, ref),
      await addEndpoint(sql, ref, true),
      await addEndpoint(sql, ref),
    ];
    assert.ok(await updateEndpoint(sql, ref, { id: off, changes: { enabled: false }, nowMs }));
    const votes = [...makeVotes(ref, 62_001, 3), vote(ref, 62_009, { upvote: false, atMs: at + 9 })];
    for (let round = 0; round < 3; round++) {
      await ledger.flush({ entities: [], votes: [...votes, vote(other, 62_010)] });
    }

    assert.equal(await readNumbers(sql, one), [1, 2, 3, 4]);
    assert.equal(await readNumbers(sql, ups), [1, 2, 3]);
    assert.equal(await readNumbers(sql, off), []);
    assert.equal(await readPending(sql, one), [4, 4]);
  });

  test('webhooks: the votes of one request are one delivery', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('hook-double');
    const id = await addEndpoint(sql, ref);
    const both = [0, 1].map((voteNumber) => vote(ref, 62_020 + voteNumber, { user: 'twice', voteNumber }));
    await ledger.flush({ entities: [], votes: [...both, vote(ref, 62_030, { atMs: at + 1 })] });

    assert.equal(await readNumbers(sql, id), [1, 3]);
    const lease = await takeOne(sql, id);
    const page = await createWebhookQueue(sql).readPage(lease, wanted);
    assert.equal(
      page?.deliveries.map((delivery) => delivery.vote?.itags),
      [[itagOf(62_020), itagOf(62_021)], [itagOf(62_030)]],
    );
  });
};

const registerNeighbourTests = (test: Claims, open: () => RealWorld): void => {
  test('webhooks: the votes of one request are neighbours, whatever order they come in', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('hook-neighbours');
    // Of each user the first and the last that is left, all at one time.
    const votes = Array.from({ length: 12 }, (_, index) =>
      vote(ref, 63_001 + index, {
        user: `user${Math.min(index, 11 - index)}`,
        voteNumber: index > 5 ? 1 : 0,
      }),
    );
    await ledger.flush({ entities: [], votes });
    const readAuthors = async (): Promise<readonly string[]> => {
      const rows = await sql<{ author: string }[]>`
        select author from votes where incarnation = ${ref.incarnation} order by log_number`;
      return rows.map(({ author }) => author);
    };
    const paired = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5].map((user) => `user${user}`);
    assert.equal(await readAuthors(), paired);
  });
};

const registerRaceTests = (test: Claims, open: () => RealWorld): void => {
  test('webhooks: flushes that race while endpoints come leave counters and rows equal', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('hook-race');
    const id = await addEndpoint(sql, ref);
    const votes = makeVotes(ref, 62_100, 60);
    const slices = Array.from({ length: 20 }, (_, index) => votes.slice(index, index + 41));
    const late = addEndpoint(sql, ref);
    await Promise.all([...slices.map((slice) => ledger.flush({ entities: [], votes: slice })), late]);

    assert.equal(
      await readNumbers(sql, id),
      votes.map((_, index) => index + 1),
    );
    assert.equal(await readPending(sql, id), [60, 60]);
    const [pending, rows] = await readPending(sql, await late);
    assert.is(pending, rows);
  });

  test('webhooks: a delivery that is there already does not stop the flush', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('hook-there');
    const id = await addEndpoint(sql, ref);
    await sql`
      insert into webhook_deliveries (endpoint_id, log_number, kind, weight, votes)
      values (${id}, 1, 1, 1, 1)`;
    await ledger.flush({ entities: [], votes: makeVotes(ref, 62_701, 2) });

    assert.equal(await readNumbers(sql, id), [1, 2]);
  });
};

const registerQueueTests = (test: Claims, open: () => RealWorld): void => {
  test('webhooks: working endpoints do not wait for the places of unproven ones', async () => {
    const { ledger, list, sql } = open();
    const refs = [await list('hook-new'), await list('hook-failing'), await list('hook-proven')] as const;
    const [, failing, proven] = await Promise.all(refs.map((ref) => addEndpoint(sql, ref)));
    await sql`
      update webhook_endpoints set last_delivered_at = now(), failures = (id = ${failing as string})::integer
      where id in (${failing as string}, ${proven as string})`;
    await ledger.flush({ entities: [], votes: refs.map((ref, index) => vote(ref, 62_351 + index)) });
    const queue = createWebhookQueue(sql);
    const few = await queue.take({ nowMs: nowMs + 5_000, ...places, unprovenLimit: 1 });
    assert.is(few.filter(({ unproven }) => unproven).length, 1);
    assert.is(few.find(({ id }) => id === proven)?.unproven, false);
    const one = await queue.take({ nowMs: nowMs + 10_000, ...places, limit: 1 });
    assert.is(one.length, 1);
    const rest = await queue.take({ nowMs: nowMs + 10_000, ...places });
    assert.ok([...one, ...rest].find(({ id }) => id === failing)?.unproven);
  });

  test('webhooks: work that comes while a sender ends is not overlooked', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('hook-signal');
    const id = await addEndpoint(sql, ref);
    await ledger.flush({ entities: [], votes: [vote(ref, 62_401)] });
    const queue = createWebhookQueue(sql);
    const lease = await takeOne(sql, id);
    const page = await queue.readPage(lease, wanted);
    assert.ok(page);
    const { endpoint, deliveries } = page as NonNullable<typeof page>;
    await ledger.flush({ entities: [], votes: [vote(ref, 62_402, { atMs: at + 1 })] });
    const results = deliveries.map((delivery) => {
      return { delivery, state: 'delivered' as const, nextAtMs: 0, body: null, attempt };
    });
    const done = { endpoint, results, health: healthy, nowMs, isLast: true };
    assert.is(await queue.record(lease, done), false);
    assert.is(await queue.release(lease, endpoint.signal), false);
    assert.equal(
      (await queue.readPage(lease, wanted))?.deliveries.map(({ number }) => number),
      [2],
    );
    assert.equal(await readPending(sql, id), [1, 1]);
  });
};

const registerUpkeepTests = (test: Claims, open: () => RealWorld): void => {
  test('webhooks: too long a backlog expires, oldest first; a replay sends it again', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('hook-backlog');
    const id = await addEndpoint(sql, ref);
    await ledger.flush({ entities: [], votes: [vote(ref, 62_501)] });
    await sql`
      insert into webhook_deliveries (endpoint_id, log_number, kind, weight, votes)
      select ${id}, number, 1, 1, 1 from generate_series(2, 10002) as number`;
    // Failing, so that a page has one waiting delivery and room for replays.
    await sql`update webhook_endpoints set pending = 10002, failures = 3 where id = ${id}`;
    await expireBacklogs(sql);

    assert.equal(await readPending(sql, id), [10_000, 10_000]);
    const replay = {
      id,
      incarnation: ref.incarnation,
      format: 'standard',
      scope: 'listing',
      upOnly: false,
      range: { fromNumber: 1, toNumber: 1 },
      nowMs,
    };
    assert.is(await enqueueReplay(sql, replay), 1);
    const page = await createWebhookQueue(sql).readPage(await takeOne(sql, id), wanted);
    assert.ok(page?.deliveries.some(({ number, replay: again }) => number === 1 && again));
  });

  test('webhooks: deliveries of deleted endpoints and listings are purged, others by age', async () => {
    const { ledger, list, remove, sql } = open();
    const [kept, gone] = [await list('hook-kept'), await list('hook-gone')];
    const ids = [await addEndpoint(sql, kept), await addEndpoint(sql, kept), await addEndpoint(sql, gone)];
    await ledger.flush({ entities: [], votes: [...makeVotes(kept, 62_601, 2), vote(gone, 62_609)] });
    assert.ok(await deleteEndpoint(sql, kept, ids[1] as string));
    await remove(gone);
    await sql`
      update webhook_deliveries set created_at = now() - interval '31 days'
      where endpoint_id = ${ids[0] as string} and log_number = 1`;
    await purgeDeliveries(sql, 30, new AbortController().signal);

    const left = await Promise.all(ids.map((id) => readNumbers(sql, id)));
    assert.equal(left, [[2], [], []]);
    assert.equal(await readPending(sql, ids[0] as string), [1, 1]);
  });
};

const registerReplayTests = (test: Claims, open: () => RealWorld): void => {
  test('webhooks: a replay sends the votes of one request as one event', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('hook-replay');
    const both = [1, 0].map((voteNumber, index) => vote(ref, 62_801 + index, { user: 'twice', voteNumber }));
    const sent = await addEndpoint(sql, ref);
    await ledger.flush({ entities: [], votes: both });
    const range = { fromNumber: 1, toNumber: 2 };
    for (const id of [sent, await addEndpoint(sql, ref)]) {
      const { incarnation } = ref;
      const request = { id, incarnation, format: 'standard', scope: 'listing', upOnly: false, range, nowMs };
      assert.is(await enqueueReplay(sql, request), 1);
      assert.is(await enqueueReplay(sql, request), 0, 'it waits already, and is sent once');
      const page = await createWebhookQueue(sql).readPage(await takeOne(sql, id), wanted);
      assert.equal(
        page?.deliveries.map((delivery) => delivery.vote?.itags),
        [[itagOf(62_801), itagOf(62_802)]],
      );
    }
  });
};

const readVoided = async (sql: Sql, id: string): Promise<readonly unknown[]> => {
  const rows = await sql<{ number: number; votes: number; details: Record<string, unknown> }[]>`
    select log_number as number, votes, details from webhook_deliveries
    where endpoint_id = ${id} and kind = 2 order by log_number`;
  return rows.map(({ number, votes, details: { reason, upvotes, downvotes, single } }) => {
    return [number, votes, reason, upvotes, downvotes, single];
  });
};

const registerVoidedTests = (test: Claims, open: () => RealWorld): void => {
  test('webhooks: a decision about past votes is one delivery per endpoint that wants it', async () => {
    const { ledger, list, reset, sql, voidVote } = open();
    const ref = await list('hook-voided');
    const both = await addEndpoint(sql, ref, false, ['vote.created', 'vote.voided']);
    const ups = await addEndpoint(sql, ref, true, ['vote.voided']);
    const none = await addEndpoint(sql, ref);
    const off = await addEndpoint(sql, ref, false, ['vote.voided']);
    assert.ok(await updateEndpoint(sql, ref, { id: off, changes: { enabled: false }, nowMs }));
    const votes = [...makeVotes(ref, 62_901, 4), vote(ref, 62_909, { upvote: false, atMs: at + 9 })];
    await ledger.flush({ entities: [], votes });
    // As a flush of the store's totals.
    await sql`update totals set upvotes = 4, downvotes = 1 where incarnation = ${ref.incarnation}`;

    for (const round of [1, 2]) {
      assert.is(await voidVote(itagOf(62_909), 'operator'), round === 1);
      assert.is(await voidVote(itagOf(62_902), 'redeemed'), round === 1);
      await reset(ref, at + 5);
    }

    const down = [5, 4, 'operator', 0, 1, true];
    const others = [
      [2, 3, 'redeemed', 1, 0, true],
      [4, 0, 'operator', 3, 0, false],
    ];
    assert.equal(await readVoided(sql, both), [...others, down]);
    assert.equal(await readVoided(sql, ups), others);
    assert.equal([await readVoided(sql, none), await readVoided(sql, off)], [[], []]);
    assert.equal(await readPending(sql, both), [8, 8]);
    const queue = createWebhookQueue(sql);
    const page = await queue.readPage(await takeOne(sql, ups), wanted);
    assert.equal(
      page?.deliveries.map(({ number, kind, details }) => [
        number,
        kind,
        details && 'beforeMs' in details && details.beforeMs,
      ]),
      [
        [2, 2, null],
        [4, 2, at + 5],
      ],
    );
  });

  test('webhooks: two resets without a vote between them are two events', async () => {
    const { ledger, list, reset, sql } = open();
    const ref = await list('hook-resets');
    const id = await addEndpoint(sql, ref, false, ['vote.voided']);
    await ledger.flush({ entities: [], votes: makeVotes(ref, 62_911, 3) });
    for (const atMs of [at + 1, at + 2, at + 3]) await reset(ref, atMs);

    assert.equal(
      (await readVoided(sql, id)).map((row) => (row as number[])[0]),
      [1, 2, 3],
    );
  });

  registerVoidedReplayTests(test, open);
};

const registerVoidedReplayTests = (test: Claims, open: () => RealWorld): void => {
  test('webhooks: a replay sends votes, not what became void', async () => {
    const { ledger, list, sql, voidVote } = open();
    const ref = await list('hook-voided-replay');
    const id = await addEndpoint(sql, ref, false, ['vote.voided']);
    const both = [0, 1].map((voteNumber) => vote(ref, 62_921 + voteNumber, { user: 'twice', voteNumber }));
    await ledger.flush({ entities: [], votes: both });
    for (const number of [62_921, 62_922]) assert.ok(await voidVote(itagOf(number), 'operator'));
    const { incarnation } = ref;
    const request = { id, incarnation, format: 'standard', scope: 'listing', upOnly: false, nowMs };
    for (const failedOnly of [true, false]) {
      const range = { since: new Date(at), until: new Date(at), failedOnly };
      assert.is(await enqueueReplay(sql, { ...request, range }), failedOnly ? 0 : 1);
    }
    assert.equal(await readNumbers(sql, id), [1, 1, 2]);
  });
};

export const registerWebhookTests = (test: Claims, open: () => RealWorld): void => {
  registerFlushTests(test, open);
  registerNeighbourTests(test, open);
  registerRaceTests(test, open);
  registerQueueTests(test, open);
  registerUpkeepTests(test, open);
  registerReplayTests(test, open);
  registerVoidedTests(test, open);
};
