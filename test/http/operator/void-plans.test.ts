/**
 * Plans: votes that operators void by a query and restore, as operators and clients see it.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EntityRef } from '../../../engine/ids.ts';
import { upsertTier } from '../../../storage/catalogue/votes/credits.ts';
import { resetVotes } from '../../../storage/ledger/adjust.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { addCountedVotes } from '../../storage/ledger/votes.ts';
import { until } from '../../support/until.ts';
import { type Operated, openOperated, readerToken } from './world.ts';

const test = suite('plans of void votes');
const hourMs = 3_600_000;
const world = await openOperated({ flushIntervalMs: 50 });
const { sql, send, refused } = world;
const users = ['robin', 'ann', 'ben', 'cat', 'dan', 'eve'];
for (const user of users) await addUser(sql, user);
test.after(() => world.close());

let bots = 0;
/** A bot with these votes of ten days ago, all in the ledger. */
const newBot = async (upvotes = 0, downvotes = 0): Promise<EntityRef> => {
  const ref = await addBot(sql, `planned${++bots}`, { counted: { upvotes, downvotes } });
  await addCountedVotes(sql, ref, { upvotes, downvotes });
  return ref;
};
const vote = async (user: string, { id }: EntityRef): Promise<number> =>
  (await world.vote(user, `bots/${id}`)).status;
const votesOf = async ({ id }: EntityRef): Promise<number> => (await world.read(`/bots/${id}`)).votes;
const untilVotes = (ref: EntityRef, votes: number) =>
  until(`${votes} votes`, async () => (await votesOf(ref)) === votes);

/** Whatever was cast until a moment from now, on the world's clock or the real one. */
const always = { since: '2020-01-01T00:00:00Z', before: '2150-01-01T00:00:00Z', reason: 'A farm.' };
/** The plan when the node has nothing more to do for it. */
const finish = async ({ status, json }: Operated): Promise<Operated['json']> => {
  assert.is(status, 200, JSON.stringify(json));
  let plan = json;
  await until('the plan is done', async () => {
    plan = (await send(`GET /votes/void/${json.plan}`)).json;
    return !['planning', 'voiding', 'undoing'].includes(plan.state);
  });
  return plan;
};
const makePlan = async (fields: object) =>
  finish(await send('POST /votes/void?dry_run=true', { ...always, ...fields }));
const use = async ({ plan }: { plan: string }) => finish(await send('POST /votes/void', { plan }));
const undo = async ({ plan }: { plan: string }) => finish(await send(`POST /votes/void/${plan}/undo`));
const on = ({ kind, id }: EntityRef) => ({ target_type: kind, target_id: id });
const listLeft = async ({ plan }: { plan: string }): Promise<string[][]> =>
  (await send(`GET /votes/void/${plan}/left-out`)).json.votes.map(
    ({ author, why }: Record<string, string>) => [author, why],
  );
const countValid = async (ref: EntityRef): Promise<number> => {
  const [row] = await sql<{ votes: number }[]>`
    select coalesce(sum(case when upvote then 1 else -1 end), 0)::bigint as votes from vote_rows
    where incarnation = ${ref.incarnation} and not void`;
  return row?.votes ?? 0;
};

test('a preview changes nothing and shows counts, listings before and after, and samples', async () => {
  const one = await newBot(30, 10);
  const two = await newBot(3);
  const plan = await makePlan({ before: new Date(Date.now() - 9 * 24 * hourMs).toISOString() });

  assert.equal([plan.state, plan.votes, plan.listings_total, plan.samples.length], ['planned', 43, 2, 20]);
  const before = { ...on(one), upvotes: 30, downvotes: 10, votes_before: 20, votes_after: 0 };
  const after = { ...on(two), upvotes: 3, downvotes: 0, votes_before: 3, votes_after: 0 };
  assert.equal(plan.listings, [before, after]);
  assert.match(plan.summary, /^Voids 43 votes of 2 listings\. Their voters wait as if/);
  assert.equal([await votesOf(one), await countValid(one)], [20, 20]);
});

test('a field that no plan has is ignored, and the plan does not show it', async () => {
  const ref = await newBot(2);
  const plan = await makePlan({ ...on(ref), users: 'robin', upOnly: false });

  assert.equal(Object.keys(plan.query).sort(), ['before', 'since', 'target_id', 'target_type']);
  assert.is(plan.votes, 2);
});

test('the totals fall by exactly the plan, page by page, and an undo restores them to the vote', async () => {
  const [large, small, other] = [await newBot(1_100, 90), await newBot(7), await newBot(5)];
  const plan = await makePlan(on(large));
  const second = await makePlan(on(small));
  assert.equal([await votesOf(large), await votesOf(small), await votesOf(other)], [1_010, 7, 5]);

  const [used, usedSecond] = await Promise.all([use(plan), use(second)]);
  assert.equal([used.state, used.voided, used.left_out], ['voided', 1_190, {}]);
  assert.is(usedSecond.voided, 7);
  for (const ref of [large, small]) await untilVotes(ref, 0);
  assert.equal([await countValid(large), await countValid(small), await votesOf(other)], [0, 0, 5]);
  assert.is((await use(plan)).voided, 1_190, 'the same request again changes nothing');

  const undone = await undo(plan);
  assert.equal([undone.state, undone.restored, undone.left_out], ['undone', 1_190, {}]);
  await untilVotes(large, 1_010);
  assert.equal([await countValid(large), await votesOf(small)], [1_010, 0]);
});

test('a plan selects by origin: an address, a network, or one of several flags', async () => {
  const ref = await newBot(12);
  const largest = '9223372036854775807';
  await sql`
    insert into vote_origins (itag, at, incarnation, author, address_hash, network_hash, agent_hash, flags)
    select itag, created_at, incarnation, author,
      case when at < 5 then -1 else 1 end * ${largest}::text::bigint, case when at < 8 then -3 else 3 end,
      0, at
    from (select *, row_number() over (order by created_at) - 1 as at from votes
      where incarnation = ${ref.incarnation}) as votes
    where at < 10`;
  const countOf = async (query: object) => (await makePlan({ ...on(ref), ...query })).votes;

  assert.is(await countOf({}), 12);
  assert.is(await countOf({ address_hash: `-${largest}` }), 5);
  assert.is(await countOf({ network_hash: '-3' }), 8);
  assert.is(await countOf({ network_hash: '-3', address_hash: largest }), 3);
  assert.is(await countOf({ flags: 8 }), 2);
  assert.is(await countOf({ flags: 5 }), 7);
  assert.is(await countOf({ address_hash: '7' }), 0);
  const tooLarge = [{ address_hash: '9223372036854775808' }, { network_hash: '-9223372036854775809' }];
  for (const wrong of [{ flags: 16 }, { address_hash: '1.2.3.4' }, ...tooLarge])
    assert.is((await refused('POST /votes/void?dry_run=true', { ...always, ...wrong }))[0], 400);
  assert.is(await countOf({ network_hash: '-9223372036854775808' }), 0);
  const plan = await use(await makePlan({ ...on(ref), flags: 8 }));
  assert.equal([plan.voided, await countValid(ref)], [2, 10]);
});

test('voters of a plan wait until their window ends, also after an undo', async () => {
  const ref = await newBot();
  assert.is(await vote('ann', ref), 204);
  const plan = await use(await makePlan({ user: 'ann', ...on(ref) }));
  assert.is(plan.voided, 1);
  await untilVotes(ref, 0);

  assert.is(await vote('ann', ref), 429);
  assert.equal([(await undo(plan)).restored, await vote('ann', ref)], [1, 429]);
  await untilVotes(ref, 1);
  world.clock.skip(13 * hourMs);
  assert.is(await vote('ann', ref), 204);
  await untilVotes(ref, 2);
});

test('SQL gives a hot store the waiting voters of a plan again, but not released ones', async () => {
  for (const release of [false, true]) {
    const ref = await newBot();
    assert.is(await vote('ben', ref), 204);
    await use(await makePlan({ ...on(ref), release }));
    await untilVotes(ref, 0);
    const page = { sinceMs: 0, after: null, limit: 10 };
    assert.is((await createLedger(sql).listVoters(ref, page)).length, release ? 0 : 1);
  }
});

test('released voters may vote again at once; an undo names those who did or still may', async () => {
  const ref = await newBot();
  for (const user of ['cat', 'dan', 'eve']) assert.is(await vote(user, ref), 204);
  const plan = await use(await makePlan({ ...on(ref), release: true }));
  await untilVotes(ref, 0);
  assert.is(await vote('cat', ref), 204);

  const early = await undo(plan);
  assert.equal([early.restored, early.left_out], [0, { may_vote_again: 2, voted_again: 1 }]);
  const left = [
    ['cat', 'voted_again'],
    ['dan', 'may_vote_again'],
    ['eve', 'may_vote_again'],
  ];
  assert.equal((await listLeft(plan)).sort(), left);
  assert.match(early.summary, /1 whose author has voted again/);
  world.clock.skip(13 * hourMs);
  assert.is(await vote('dan', ref), 204, 'after the wait of the first vote: both count');
  const late = await undo(plan);

  assert.equal([late.restored, late.left_out], [2, { voted_again: 1 }]);
  await untilVotes(ref, 4);
  assert.equal([await countValid(ref), await listLeft(plan)], [4, [['cat', 'voted_again']]]);
});

test('redeemed, immutable and void votes, and those before a reset, are skipped and counted', async () => {
  await upsertTier(sql, { id: 'tier', target_type: 'bot', position: 0, votes: 100, cents: 10 });
  const ref = await newBot(20);
  const rows = await sql<{ itag: string }[]>`
    select itag from votes where incarnation = ${ref.incarnation} order by created_at desc`;
  await sql`update votes set immutable = true where itag = ${rows[0]?.itag ?? ''}`;
  assert.is((await send(`DELETE /votes/${rows[1]?.itag}`)).status, 200);
  const [oldest] = await sql<{ at_ms: number }[]>`
    select (extract(epoch from created_at) * 1000)::bigint as at_ms from votes
    where itag = ${rows[17]?.itag ?? ''}`;
  const atMs = (oldest?.at_ms ?? 0) + 1;
  await resetVotes(sql, { scope: ref.incarnation, atMs, reason: 'monthly_reset' });
  await world.engine.deliverAdjustments('bot', ref.id);
  const token = await world.token('bot', ref.id);
  const planned = await makePlan(on(ref));
  assert.is((await world.ask('POST', `/bots/${ref.id}/votes/credits?votes=4`, { token })).status, 200);
  const plan = await makePlan(on(ref));

  assert.equal([planned.votes, planned.skipped], [15, { immutable: 1, monthly_reset: 3, operator: 1 }]);
  assert.equal([plan.votes, plan.skipped.redeemed], [11, 4]);
  assert.match(plan.summary, /left out: .*4 redeemed/);
  const used = await use(planned);
  assert.equal([used.voided, used.left_out], [11, { redeemed: 4, monthly_reset: 3 }]);
  await untilVotes(ref, 1);
  assert.equal([(await listLeft(planned)).length, await countValid(ref)], [7, 1]);
  assert.is((await undo(planned)).restored, 11);
  await untilVotes(ref, 12);
});

test('votes that come while a plan is used stay, and a reset covers its votes for good', async () => {
  const ref = await newBot(1_300);
  const plan = await makePlan(on(ref));
  world.clock.skip(13 * hourMs);
  const [, ...statuses] = await Promise.all([use(plan), vote('ann', ref), vote('ben', ref)]);
  assert.equal(statuses, [204, 204]);
  await untilVotes(ref, 2);

  const atMs = Date.now() - 9 * 24 * hourMs;
  await resetVotes(sql, { scope: ref.incarnation, atMs, reason: 'monthly_reset' });
  const undone = await undo(plan);
  assert.equal([undone.restored, undone.left_out], [0, { monthly_reset: 1_300 }]);
  assert.match(
    undone.summary,
    /^0 votes of 1300 void ones count again; left out: 1300 void by a monthly reset/,
  );
  assert.equal([await votesOf(ref), await countValid(ref)], [2, 2]);
});

test('a plan says who made it, and the audit log has its query', async () => {
  const ref = await newBot(2);
  const plan = await use(await makePlan({ ...on(ref), reason: 'Two accounts.' }));
  await undo(plan);
  const { plans } = (await send('GET /votes/void')).json;
  const { entries } = (await send('GET /audit?operation=votes')).json;

  const [first] = plans;
  assert.equal([first.plan, first.state, first.operator], [plan.plan, 'undone', 'admin']);
  assert.equal(
    entries.slice(0, 2).map(({ operation, outcome }: Record<string, string>) => [operation, outcome]),
    [
      ['votes undo', 'done'],
      ['votes void-many', 'done'],
    ],
  );
  for (const { details } of entries.slice(0, 2)) {
    assert.equal([details.target_id, details.reason, details.votes], [ref.id, 'Two accounts.', 2]);
  }
});

test('nothing becomes void without a plan that was shown', async () => {
  const ref = await newBot(2);
  const invalid = [400, 'validation_failed'];
  assert.equal(await refused('POST /votes/void', { ...always, ...on(ref) }), invalid);
  assert.equal(await refused('POST /votes/void?dry_run=true', { ...always, since: undefined }), invalid);
  assert.equal(await refused('POST /votes/void?dry_run=true', { ...always, reason: undefined }), invalid);
  assert.equal(await refused('POST /votes/void?dry_run=true', { ...always, target_type: 'bot' }), invalid);
  const turned = { since: always.before, before: always.since };
  assert.equal(await refused('POST /votes/void?dry_run=true', { ...always, ...turned }), invalid);
  const unknown = crypto.randomUUID();
  assert.equal(await refused('POST /votes/void', { plan: unknown }), [404, 'not_found']);
  assert.equal(await refused(`GET /votes/void/${unknown}`), [404, 'not_found']);
  assert.equal(await refused(`GET /votes/void/${unknown}/left-out`), [404, 'not_found']);
  const plan = await makePlan(on(ref));
  assert.equal(await refused(`POST /votes/void/${plan.plan}/undo`), invalid);
  const body = { ...always, ...on(ref) };
  assert.is((await world.operate('POST', '/votes/void?dry_run=true', body, readerToken)).status, 403);
  await sql`update void_plans set created_at = now() - interval '25 hours' where id = ${plan.plan}`;
  assert.equal(await refused('POST /votes/void', { plan: plan.plan }), invalid);
  const used = await use(await makePlan(on(ref)));
  await undo(used);
  assert.equal(await refused('POST /votes/void', { plan: used.plan }), invalid);
  await sql`update void_plans set started_at = now() - interval '31 days' where id = ${used.plan}`;
  assert.equal(await refused(`POST /votes/void/${used.plan}/undo`), invalid);
  assert.is(await countValid(ref), 2);
});

test.run();
