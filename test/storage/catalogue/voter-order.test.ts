/**
 * Pages of voters on the embedded store: after any changes of votes they equal those of a plain statement,
 * and an order that is not read any longer leaves no rows behind.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import type { EntityRef } from '../../../engine/ids.ts';
import { createVoterOrders, purgeVoterOrders } from '../../../storage/catalogue/votes/voter-order.ts';
import { refOf } from '../../support/refs.ts';
import { addBot, addUser, openDirectory } from './directory.ts';
import { addVotes, changeVotes, plainVoters } from './voter-order.ts';

const test = suite('orders of voters');
const seed = Number(process.env.SEED ?? 11);
/** Segments so small that they are often cut and joined; and every list counts as long. */
const options = { segmentVoters: 3, fewVotesMax: 0 };
let bots = 0;

const directory = await openDirectory();
await addUser(directory.sql, 'robin');
test.after(() => directory.close());

const addNewBot = (): Promise<EntityRef> => addBot(directory.sql, `voted${++bots}`);

const insertVoters = async (ref: EntityRef, from: number, to: number): Promise<void> => {
  await directory.sql`
    insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num)
    select gen_random_uuid(), timestamptz '2026-04-01' + number / 2 * interval '1 microsecond',
      ${ref.incarnation}, ${ref.kind}, ${ref.id}, 'voter' || number, true, 0
    from generate_series(${from}::int, ${to}::int) as number`;
};

type VoterOrders = ReturnType<typeof createVoterOrders>;

const readAllPages = async (orders: VoterOrders, ref: EntityRef): Promise<readonly string[]> => {
  const seen: string[] = [];
  for (let page = 1; ; page++) {
    const voters = await orders.page(ref, page);
    if (voters.length === 0) return seen;
    seen.push(...voters);
  }
};

test('after any votes, voids and resets, page 1 equals that of a plain statement', async () => {
  const { sql } = directory;
  const random = createRandom(seed);
  const nodes = [createVoterOrders(sql, options), createVoterOrders(sql, options)];
  const ref = await addNewBot();
  for (let round = 0; round < 40; round++) {
    for (let change = random.below(4); change > 0; change--) await changeVotes(sql, ref, random);

    const shown = await (nodes[random.below(2)] as VoterOrders).page(ref, 1);

    assert.equal(shown, await plainVoters(sql, ref), `seed ${seed}, round ${round}`);
  }
  const [counted] = await sql<{ segments: number; entries: number; voters: number }[]>`
    select count(*) as segments, sum(entries)::bigint as entries,
      (select count(*) from voters where incarnation = ${ref.incarnation}) as voters
    from voter_segments where incarnation = ${ref.incarnation}`;
  assert.is(counted?.entries, counted?.voters);
  assert.ok((counted?.segments ?? 0) > 1, 'the order was cut');
});

test('the pages have every voter once, in order, with segments of all sizes', async () => {
  const { sql } = directory;
  for (const segmentVoters of [7, 100, 1_000]) {
    const ref = await addNewBot();
    await insertVoters(ref, 1, 700);
    const orders = createVoterOrders(sql, { segmentVoters, fewVotesMax: 0 });
    await orders.page(ref, 1);
    await insertVoters(ref, 600, 1_250);

    assert.equal(
      await readAllPages(orders, ref),
      await plainVoters(sql, ref),
      `${segmentVoters} to a segment`,
    );
  }
});

for (const [amount, fewVotesMax] of [
  ['many', 0],
  ['few', 500],
] as const) {
  test(`later pages fit page 1 while votes arrive in between, on a list of ${amount} votes`, async () => {
    const { sql } = directory;
    const orders = createVoterOrders(sql, { fewVotesMax });
    const ref = await addNewBot();
    await insertVoters(ref, 1, 250);
    const before = await plainVoters(sql, ref);

    const pages = [...(await orders.page(ref, 1))];
    await addVotes(sql, ref, { random: createRandom(seed), votes: 20 });
    pages.push(...(await orders.page(ref, 2)), ...(await orders.page(ref, 3)));

    assert.equal(pages, before);
    assert.equal(await orders.page(ref, 1), (await plainVoters(sql, ref)).slice(0, 100));
  });
}

test('a change that waits longer than the maximum age is counted in for any page', async () => {
  const { sql } = directory;
  const orders = createVoterOrders(sql, { fewVotesMax: 0 });
  const ref = await addNewBot();
  await insertVoters(ref, 1, 250);
  await orders.page(ref, 1);
  await insertVoters(ref, 251, 252);
  await sql`update voter_changes set noted_at = noted_at - interval '2 seconds'`;

  assert.equal(await orders.page(ref, 2), (await plainVoters(sql, ref)).slice(100, 200));
});

test('an entity with few votes gets no order', async () => {
  const { sql } = directory;
  const orders = createVoterOrders(sql);
  const ref = await addNewBot();
  await insertVoters(ref, 1, 499);

  assert.equal(await orders.page(ref, 5), (await plainVoters(sql, ref)).slice(400));
  assert.is((await sql`select from voter_orders where incarnation = ${ref.incarnation}`).length, 0);
  await insertVoters(ref, 500, 501);
  await orders.page(ref, 1);
  assert.is((await sql`select from voter_orders where incarnation = ${ref.incarnation}`).length, 1);
});

test('a deleted listing shows no voters, with and without an order', async () => {
  const { sql } = directory;
  for (const fewVotesMax of [0, 500]) {
    const ref = refOf('bot', 'gone', 900_000 + fewVotesMax);
    const orders = createVoterOrders(sql, { fewVotesMax });
    await insertVoters(ref, 1, 20);
    await sql`update votes set immutable = true where incarnation = ${ref.incarnation}`;
    assert.is((await orders.page(ref, 1)).length, 20);
    await sql`
      insert into vote_resets (scope, at, reason) values (${String(ref.incarnation)}, 'infinity', 'deleted')`;

    assert.equal(await orders.page(ref, 1), []);
  }
});

test('an order that is not read is dropped with all its rows, and can be created again', async () => {
  const { sql } = directory;
  const orders = createVoterOrders(sql, options);
  const ref = await addNewBot();
  await insertVoters(ref, 1, 120);
  const before = await readAllPages(orders, ref);
  await purgeVoterOrders(sql);
  assert.is((await sql`select from voters where incarnation = ${ref.incarnation}`).length, 120);
  await sql`
    update voter_orders set read_at = now() - interval '25 hours' where incarnation = ${ref.incarnation}`;

  await insertVoters(ref, 121, 122);
  await purgeVoterOrders(sql);

  for (const table of ['voter_orders', 'voters', 'voter_segments', 'voter_changes']) {
    const left = await sql`select from ${sql(table)} where incarnation = ${ref.incarnation}`;
    assert.is(left.length, 0, table);
  }
  await insertVoters(ref, 123, 130);
  assert.is((await readAllPages(orders, ref)).length, before.length + 10);
});

test.run();
