/**
 * Plans of void votes in SQL: each page is all or nothing, whatever ends it, and what is not needed any
 * longer is deleted.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import type { EntityRef } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import { fillPlan, takePage } from '../../../storage/catalogue/operator/plan-steps.ts';
import {
  createPlan,
  findPlan,
  purgePlans,
  startUndo,
  startVoiding,
} from '../../../storage/catalogue/operator/void-plans.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import type { Sql, Transaction } from '../../../storage/sql/client.ts';
import { addCountedVotes } from '../ledger/votes.ts';
import { addBot, addUser, openDirectory } from './directory.ts';

const test = suite('plans of void votes in SQL');
const seed = Number(process.env.SEED ?? 35);
const { sql, close } = await openDirectory();
await addUser(sql, 'robin');
test.after(close);

const always = { since: '2020-01-01T00:00:00Z', before: '2150-01-01T00:00:00Z' };
const waits = { nowMs: Date.now(), waitMsMax: 43_200_000 };
const makePlan = async (query: object = {}, releases = false): Promise<string> => {
  const plan = { query: { ...always, ...query }, reason: 'A farm.', operator: 'robin', releases };
  const id = (await createPlan(sql, plan)) ?? '';
  await fillPlan(sql, id);
  return id;
};
let bots = 0;
const newBot = async (upvotes: number): Promise<EntityRef> => {
  const ref = await addBot(sql, `bot${++bots}`, { counted: { upvotes } });
  await addCountedVotes(sql, ref, { upvotes, downvotes: 0 });
  return ref;
};

/** The valid rows, and the total that the hot store will have: the last one and all open adjustments. */
const readSums = async (ref: EntityRef): Promise<readonly [valid: number, total: number]> => {
  const [row] = await sql<{ valid: number; total: number }[]>`
    select (select count(*) from vote_rows where incarnation = ${ref.incarnation} and not void) as valid,
      upvotes + coalesce((select sum((payload ->> 'upvotes')::bigint) from adjustments
        where adjustments.incarnation = totals.incarnation), 0)::bigint as total
    from totals where incarnation = ${ref.incarnation}`;
  return [row?.valid ?? -1, row?.total ?? -1];
};

/** A pool whose next transaction fails at that statement, as when the process or the connection ends. */
const failAt = (statement: number): Sql =>
  new Proxy(sql, {
    get: (pool, name) => (name === 'begin' ? beginFailing(statement) : Reflect.get(pool, name)),
  });
const beginFailing = (statement: number) => (task: (transaction: Transaction) => Promise<unknown>) => {
  let statements = 0;
  return sql.begin((transaction) =>
    task(
      new Proxy(transaction, {
        apply: (target, self, args) => {
          const strings = args[0] as readonly string[];
          const isStatement = /^\s*(select|update|insert|with)\b/.test(strings[0] ?? '');
          if (isStatement && ++statements === statement) throw new Error('cut off');
          return Reflect.apply(target as never, self, args);
        },
      }),
    ),
  );
};

test('a page that is cut off at any statement is done again as a whole; no vote counts twice', async () => {
  const random = createRandom(seed);
  const [one, two] = [await newBot(1_250), await newBot(300)];
  const id = await makePlan();
  const runPages = async (): Promise<void> => {
    for (let isMore = true; isMore; ) {
      const cut = takePage(failAt(1 + random.below(12)), id, waits);
      ({ isMore } = await cut.catch(() => takePage(sql, id, waits)));
      const sums = await Promise.all([one, two].map(readSums));
      for (const [valid, total] of sums) assert.is(valid, total, `seed ${seed}`);
    }
  };
  assert.ok(await startVoiding(sql, id));
  await runPages();
  assert.equal(
    [await readSums(one), await readSums(two)],
    [
      [0, 0],
      [0, 0],
    ],
  );
  assert.is((await findPlan(sql, id))?.voided, 1_550);

  assert.ok(await startUndo(sql, id));
  await runPages();
  assert.equal(
    [await readSums(one), await readSums(two)],
    [
      [1_250, 1_250],
      [300, 300],
    ],
  );
  assert.is((await findPlan(sql, id))?.restored, 1_550);
});

test('adjustments of a page are dense per listing, and list each voter once', async () => {
  const ref = await newBot(700);
  const id = await makePlan({ target_type: 'bot', target_id: ref.id }, true);
  await startVoiding(sql, id);
  while ((await takePage(sql, id, waits)).isMore);
  const items = (await createLedger(sql).listAdjustments(10, ref)).map(({ item }) => item);
  const voids = items.filter((item) => item.kind === 'adjust');

  assert.equal(
    voids.map(({ sequence, upvotes, release }) => [sequence, upvotes, release.length]),
    [
      [1, -500, 500],
      [2, -200, 200],
    ],
  );
});

test('a voter of whose request another vote still counts is not released', async () => {
  const ref = await newBot(2);
  await sql`
    update votes set author = 'twice', created_at = '2026-04-01T00:00:00.123456Z', upvote = vote_num = 0
    where incarnation = ${ref.incarnation}`;
  await sql`
    update votes set immutable = true where itag in (
      select itag from votes where incarnation = ${ref.incarnation} limit 1)`;
  const id = await makePlan({ target_type: 'bot', target_id: ref.id }, true);
  await startVoiding(sql, id);
  assert.is((await takePage(sql, id, waits)).isMore, false);
  const [adjustment] = await createLedger(sql).listAdjustments(10, ref);

  assert.equal(adjustment?.item.kind === 'adjust' && [adjustment.item.upvotes, adjustment.item.release], [
    -1,
    [],
  ]);
  await sql`update votes set immutable = false where incarnation = ${ref.incarnation}`;
  const rest = await makePlan({ target_type: 'bot', target_id: ref.id }, true);
  await startVoiding(sql, rest);
  await takePage(sql, rest, waits);
  const released = (await createLedger(sql).listAdjustments(10, ref))[1]?.item;
  assert.equal(released?.kind === 'adjust' && released.release.map(({ user }) => user), ['twice']);
});

test('too many votes refuse the plan, and too many plans another one', async () => {
  const ref = await newBot(3);
  const query = { ...always, target_type: 'bot', target_id: ref.id } as const;
  const id = (await createPlan(sql, { query, reason: 'x', operator: 'robin', releases: false })) ?? '';
  await fillPlan(sql, id, 2);
  assert.is((await findPlan(sql, id))?.state, 'refused');
  assert.is(await startVoiding(sql, id), false);
  for (let plans = 0; plans < limits.openPlansMax; plans++)
    await createPlan(sql, {
      query: { ...always, before: always.since },
      reason: 'x',
      operator: 'robin',
      releases: false,
    });
  assert.is(await createPlan(sql, { query: always, reason: 'x', operator: 'robin', releases: false }), null);
  await sql`delete from void_plans where state = 'planning'`;
});

test('the purge keeps what can be undone, and deletes the rest, unconfirmed plans included', async () => {
  const [old, recent, unused] = [await makePlan(), await makePlan(), await makePlan()];
  for (const id of [old, recent]) {
    await startVoiding(sql, id);
    while ((await takePage(sql, id, waits)).isMore);
  }
  await sql`update void_plans set started_at = now() - interval '32 days' where id = ${old}`;
  await sql`update void_plans set created_at = now() - interval '2 days' where id = ${unused}`;
  await purgePlans(sql, new AbortController().signal);
  const rows = await sql<{ plan: string }[]>`
    select distinct plan from void_plan_votes where plan = any(${[old, recent, unused]}::uuid[])`;

  assert.equal(
    rows.map(({ plan }) => plan),
    [recent],
  );
  assert.equal([(await findPlan(sql, old))?.state, await findPlan(sql, unused)], ['voided', null]);
});

test.run();
