/**
 * Reminders and the push outbox under concurrent requests on a Postgres server. The embedded store runs one
 * transaction at a time, so only here can two nodes be concurrent.
 */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EntityRef } from '../../../engine/ids.ts';
import type { OutboxVote } from '../../../engine/ports.ts';
import { createPushOutbox, type NewSubscription } from '../../../storage/catalogue/votes/push.ts';
import { createReminders } from '../../../storage/catalogue/votes/reminders.ts';
import { deleteListing } from '../../../storage/ledger/adjust.ts';
import { markDueByReleases, markDueByVotes } from '../../../storage/ledger/due-reminders.ts';
import { refOf } from '../../support/refs.ts';
import { addBot, addUser } from '../catalogue/directory.ts';
import { openDatabase } from './database.ts';

const test = suite('reminders on postgres');
const { sql } = await openDatabase(test);
const reminders = createReminders(sql);
const outbox = createPushOutbox(sql);
const users = Array.from({ length: 12 }, (_, index) => `user${index}`);
const refs: EntityRef[] = [];

await addUser(sql, 'robin');
for (const user of users) await addUser(sql, user);
for (let bot = 0; bot < 12; bot++) refs.push(await addBot(sql, `bot${bot}`));
const start = { nowMs: 1_000, votedAtMs: 0, dueAtMs: 1_000, max: 100 };
const set = (userId: string, id: string, max = 100) =>
  reminders.set({ userId, kind: 'bot', id }, { ...start, max });
const clear = () => sql`delete from reminders`;
const repeat = <Result>(count: number, task: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => task(index)));
const subscription = (userId: string, endpoint: string): NewSubscription => ({
  id: randomUUID(),
  userId,
  endpoint,
  auth: 'a',
  p256dh: 'b',
  browserInfo: { browser: '', browser_ver: '', mobile: false, os: '' },
  nowMs: 1_000,
});

test('the caps on reminders and browsers hold under concurrency', async () => {
  const outcomes = await repeat(12, (index) => set('user0', `bot${index}`, 5));
  const browsers = await repeat(12, (index) =>
    outbox.subscribe(subscription('user0', `https://a/${index}`), 3),
  );

  assert.is(outcomes.filter((outcome) => outcome === 'set').length, 5);
  assert.is(browsers.filter(Boolean).length, 3);
  assert.equal([(await reminders.list('user0')).length, (await outbox.list('user0')).length], [5, 3]);
});

test('an endpoint that many users claim at once belongs to one', async () => {
  for (let round = 0; round < 5; round++) {
    const endpoint = `https://claimed/${round}`;
    const taken = await Promise.all(users.map((user) => outbox.subscribe(subscription(user, endpoint), 50)));
    const owners = await Promise.all(users.map((user) => outbox.list(user)));

    assert.ok(taken.every(Boolean));
    assert.is(owners.flat().filter((row) => row.endpoint === endpoint).length, 1);
  }
});

test('of many updates of a due reminder one succeeds, and a vote makes it due again', async () => {
  await clear();
  await set('user1', 'bot0');
  await outbox.subscribe(subscription('user1', 'https://settled'), 50);
  const [due] = await reminders.listDue(1_000, 10);
  assert.ok(due);
  const updated = await repeat(8, () => reminders.recordCheck(due, { kind: 'over', nowMs: 2_000 }));
  assert.is(updated.filter(Boolean).length, 1);
  const count = await sql`select from push_messages`;
  assert.is(count.length, (await outbox.list('user1')).length);

  await markDueByVotes(sql, [makeVote('user1', 0, 5_000)]);
  const [again] = await reminders.listDue(5_000, 10);
  assert.ok(again);
  await markDueByVotes(sql, [makeVote('user1', 0, 6_000)]);
  assert.is(await reminders.recordCheck(again, { kind: 'idle' }), false);
  assert.is((await reminders.listDue(6_000, 10))[0]?.votedAtMs, 6_000);
  await markDueByVotes(sql, [makeVote('user1', 0, 6_000), makeVote('user1', 0, 5_000)]);
  const [last] = await reminders.listDue(6_000, 10);
  assert.ok(last && (await reminders.recordCheck(last, { kind: 'idle' })));
  await markDueByVotes(sql, [makeVote('user1', 0, 6_000)]);
  assert.is((await reminders.listDue(9_000, 10)).length, 0);
});

const makeVote = (user: string, bot: number, atMs: number): OutboxVote => {
  const { incarnation } = refs[bot] as EntityRef;
  const ref = refOf('bot', `bot${bot}`, incarnation);
  return { itag: randomUUID(), ref, user, upvote: true, atMs, voteNumber: 0 };
};

test('concurrent takes lease each message once, and again after the lease', async () => {
  await clear();
  await sql`delete from push_subscriptions`;
  for (const user of users) {
    await outbox.subscribe(subscription(user, `https://taken/${user}`), 50);
    for (const bot of [0, 1, 2]) await set(user, `bot${bot}`);
  }
  const due = await reminders.listDue(1_000, 100);
  await Promise.all(due.map((reminder) => reminders.recordCheck(reminder, { kind: 'over', nowMs: 2_000 })));
  const takeAll = async (nowMs: number) =>
    (await repeat(9, () => outbox.take({ nowMs, leaseMs: 100, limit: 4 }))).flat();

  // The leases of messages taken together end apart: after 80 to 100 ms here.
  const first = await takeAll(2_000);
  assert.is(new Set(first.map(({ id }) => id)).size, 36);
  assert.equal([first.length, (await takeAll(2_079)).length], [36, 0]);
  const second = await takeAll(2_100);
  assert.is(second.length, 36);
  assert.equal(
    second.filter(({ attempts }) => attempts !== 2),
    [],
  );
});

test('flushes, releases and checks in any order cause no deadlock', async () => {
  await clear();
  for (const user of users) for (const bot of [3, 4, 5, 6]) await set(user, `bot${bot}`);
  await sql`
    insert into adjustments (incarnation, kind, entity_id, action, sequence, payload)
    select incarnation, kind, entity_id, 'adjust', 1, '{"releaseBeforeMs": 1}' from totals`;
  const ids = (await sql<{ id: number }[]>`select id from adjustments`).map(({ id }) => id);
  const pairs = users.flatMap((user) => [3, 4, 5, 6].map((bot) => [user, bot] as const));
  for (let round = 1; round <= 10; round++) {
    const votes = pairs.map(([user, bot]) => makeVote(user, bot, round * 10_000));
    const due = await reminders.listDue(round * 10_000, 100);
    await Promise.all([
      markDueByVotes(sql, votes),
      markDueByVotes(sql, votes.toReversed()),
      markDueByReleases(sql, ids),
      markDueByReleases(sql, ids.toReversed()),
      ...due.map((reminder) =>
        reminders.recordCheck(reminder, { kind: 'later', votedAtMs: 0, dueAtMs: round * 10_000 }),
      ),
    ]);
  }
  const rows = await sql`select from reminders where voted_at_ms = 100000`;
  assert.is(rows.length, pairs.length);
});

test('a listing that is deleted while reminders are set leaves no reminder', async () => {
  await clear();
  for (const bot of [8, 9, 10]) {
    const [outcomes] = await Promise.all([
      Promise.all(users.map((user) => set(user, `bot${bot}`))),
      sql.begin((transaction) => deleteListing(transaction, { kind: 'bot', id: `bot${bot}` })),
    ]);
    assert.ok(outcomes.every((outcome) => outcome === 'set' || outcome === 'not_found'));
  }
  assert.is((await sql`select from reminders`).length, 0);
});

test.run();
