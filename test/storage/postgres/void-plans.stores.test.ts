/**
 * Plans of void votes on a real Postgres: several nodes work on one while votes are flushed and a reset is
 * made, and afterwards the totals with all adjustments equal the rows.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EntityRef } from '../../../engine/ids.ts';
import { fillPlan, takePage } from '../../../storage/catalogue/operator/plan-steps.ts';
import {
  createPlan,
  findPlan,
  startUndo,
  startVoiding,
} from '../../../storage/catalogue/operator/void-plans.ts';
import { resetVotes } from '../../../storage/ledger/adjust.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { dirty, vote, worldOn } from '../ledger/world.ts';
import { openDatabase } from './database.ts';

const test = suite('plans of void votes on postgres');
const { sql, pools } = await openDatabase(test, 4);
const [, ...nodes] = pools;
const world = worldOn(sql, async () => {});
const waits = { nowMs: Date.now(), waitMsMax: 43_200_000 };
const votedMs = Date.UTC(2026, 9, 2);
const votesEach = 900;

/** A pack whose votes are counted as a flush counts them, and each was cast by a user of its own. */
const newPack = async (index: number): Promise<EntityRef> => {
  const ref = await world.list(`farmed-${index}`);
  const votes = Array.from({ length: votesEach }, (_, number) =>
    vote(ref, 10_000 * (index + 1) + number, { atMs: votedMs + number, upvote: number % 3 > 0 }),
  );
  await world.ledger.flush({ entities: [dirty(ref, 1, { version: 1, ...countOf(votes) })], votes });
  return ref;
};
const countOf = (votes: readonly { readonly upvote: boolean }[]) => ({
  upvotes: votes.filter(({ upvote }) => upvote).length,
  downvotes: votes.filter(({ upvote }) => !upvote).length,
});

/** Listings whose total with all adjustments differs from their valid rows. */
const listWrong = async (): Promise<readonly object[]> => [
  ...(await sql`
  select totals.entity_id, counted.votes, valid.votes as rows from totals cross join lateral (
    select upvotes - downvotes + coalesce(sum((payload ->> 'upvotes')::bigint
      - (payload ->> 'downvotes')::bigint), 0) as votes
    from adjustments where adjustments.incarnation = totals.incarnation and sequence > totals.adjustment
  ) as counted cross join lateral (
    select coalesce(sum(case when upvote then 1 else -1 end), 0) as votes from vote_rows
    where vote_rows.incarnation = totals.incarnation and not void
  ) as valid
  where counted.votes <> valid.votes`),
];

const runNode = async (node: Sql, id: string): Promise<number> => {
  for (let pages = 0; ; ) {
    const { isMore, listing } = await takePage(node, id, waits);
    if (listing !== null) pages += 1;
    const state = (await findPlan(node, id))?.state ?? '';
    if (!isMore && !['voiding', 'undoing'].includes(state)) return pages;
  }
};

/** New votes of other users, flushed while the plan is worked on. */
const flushVotes = async (refs: readonly EntityRef[], from: number): Promise<void> => {
  const ledger = createLedger(sql);
  for (let round = 0; round < 10; round++) {
    for (const [index, ref] of refs.entries()) {
      const number = from + 10 * index + round;
      const votes = [vote(ref, number, { atMs: Date.now() })];
      await ledger.flush({ entities: [], votes });
      await sql`update totals set upvotes = upvotes + 1 where incarnation = ${ref.incarnation}`;
    }
  }
};

test('three nodes take each page once, beside flushes and a reset, and undo it', async () => {
  const refs: EntityRef[] = [];
  for (let index = 0; index < 4; index++) refs.push(await newPack(index));
  const query = { since: '2026-10-01T00:00:00Z', before: '2026-10-03T00:00:00Z' };
  const plan = { query, reason: 'A farm.', operator: 'robin', releases: true };
  const id = (await createPlan(sql, plan)) ?? '';
  await Promise.all(nodes.map((node) => fillPlan(node, id)));
  assert.is((await findPlan(sql, id))?.votes, 4 * votesEach);
  assert.ok(await startVoiding(sql, id));
  const resetMs = votedMs + votesEach / 3;
  const [pages] = await Promise.all([
    Promise.all(nodes.map((node) => runNode(node, id))),
    flushVotes(refs, 100_000),
    resetVotes(sql, { scope: 'all', atMs: resetMs, reason: 'monthly_reset' }),
  ]);
  const { voided = 0, left_out = {} } = (await findPlan(sql, id)) ?? {};

  assert.is(
    pages.reduce((sum, one) => sum + one, 0),
    Math.ceil((4 * votesEach) / 500),
  );
  assert.is(voided + (left_out.monthly_reset ?? 0), 4 * votesEach);
  assert.equal(await listWrong(), []);

  assert.ok(await startUndo(sql, id));
  await Promise.all([...nodes.map((node) => runNode(node, id)), flushVotes(refs, 200_000)]);
  const { restored = 0, left_out: left = {} } = (await findPlan(sql, id)) ?? {};
  assert.is(restored, (4 * votesEach * 2) / 3);
  // The reset has these, whether the plan was there before it or only rejected them.
  assert.equal(left, { monthly_reset: (4 * votesEach) / 3 });
  assert.equal(await listWrong(), []);
});

test.run();
