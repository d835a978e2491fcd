/**
 * The routes of vote credits against a complete Rollcall.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EntityRef } from '../../../engine/ids.ts';
import { RedeemQuery } from '../../../http/api/credits.ts';
import { deleteTier, upsertTier } from '../../../storage/catalogue/votes/credits.ts';
import { resetVotes } from '../../../storage/ledger/adjust.ts';
import { addBot, addMember, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { addCountedVotes } from '../../storage/ledger/votes.ts';
import { pluck } from '../../support/pluck.ts';
import { codeOf, openWorld } from './world.ts';

const test = suite('routes of vote credits');
let bots = 0;
const hourMs = 3_600_000;

const world = await openWorld();
const { sql } = world;
for (const user of ['robin', 'wren']) await addUser(sql, user);
await addTeam(sql, 'team1');
await addMember(sql, 'team1', { user: 'wren', permissions: ['redeem_vote_credits'] });
await addServer(sql, 'server1', { team_id: 'team1' });
for (const [position, votes, cents] of [
  [0, 100, 10],
  [1, 200, 5],
  [2, 50, 2],
] as const) {
  await upsertTier(sql, { id: `bot-${position}`, target_type: 'bot', position, votes, cents });
}
test.after(() => world.close());

/** A bot with these votes, all of the past and all in the ledger. */
const newBot = async (upvotes: number, downvotes = 0): Promise<EntityRef> => {
  const id = `voted${++bots}`;
  const ref = await addBot(world.sql, id, { counted: { upvotes, downvotes } });
  await addCountedVotes(world.sql, ref, { upvotes, downvotes });
  return ref;
};
const tokenOf = (ref: EntityRef) => world.token('bot', ref.id);
const redeem = async (ref: EntityRef, votes: number | string, token?: string) =>
  world.ask('POST', `/bots/${ref.id}/votes/credits?votes=${votes}`, {
    token: token ?? (await tokenOf(ref)),
  });
const read = async (path: string) => (await world.ask('GET', path)).json;
const overview = (ref: EntityRef) => read(`/bots/${ref.id}/votes/credit-tiers`);
const credits = (ref: EntityRef) => read(`/bots/${ref.id}/votes/credits`);
const votesOf = async (ref: EntityRef): Promise<number> => (await read(`/bots/${ref.id}`)).votes;

test('GET /votes/credit-tiers → 200 in ascending order, of one kind or all', async () => {
  await upsertTier(world.sql, { id: 'a-server', target_type: 'server', position: 1, votes: 5, cents: 1 });
  const all = await read('/votes/credit-tiers');
  const servers = await read('/votes/credit-tiers?target_type=servers');
  await deleteTier(world.sql, 'a-server');

  assert.equal(pluck(all, 'id'), ['bot-0', 'bot-1', 'a-server', 'bot-2']);
  assert.equal(pluck(servers, 'id'), ['a-server']);
  assert.equal(codeOf(await world.ask('GET', '/votes/credit-tiers?target_type=team')), [
    400,
    'target_type_unsupported',
  ]);
});

test('GET /:type/:id/votes/credit-tiers → 200 with slabs and worth of what can be redeemed', async () => {
  for (const [upvotes, downvotes, slices, worth] of [
    [0, 0, [0, 0, 0], 0],
    [3, 5, [0, 0, 0], 0],
    [42, 2, [40, 0, 0], 400],
    [250, 0, [100, 150, 0], 1_750],
    [625, 0, [100, 200, 325], 2_650],
  ] as const) {
    const shown = await overview(await newBot(upvotes, downvotes));
    assert.equal([shown.slab_overview, shown.total_credits], [slices, worth]);
    assert.is(shown.votes, upvotes - downvotes);
    assert.is(shown.tiers.length, 3);
    assert.is(shown.vote_info.vote_credits, true);
  }
});

test('GET /:type/:id/votes/credit-tiers → without tiers there are no slabs and no worth', async () => {
  const shown = await read('/servers/server1/votes/credit-tiers');

  assert.equal([shown.slab_overview, shown.tiers, shown.total_credits], [[], [], 0]);
});

test('GET of credits → 400 for teams, packs and users, 404 for an unknown bot', async () => {
  for (const path of ['votes/credit-tiers', 'votes/credits']) {
    for (const target of ['teams/team1', 'packs/pack1', 'users/robin']) {
      const { status, json } = await world.ask('GET', `/${target}/${path}`);
      assert.equal([status, json.context.code], [400, 'target_type_unsupported'], `${target}/${path}`);
    }
    assert.is((await world.ask('GET', `/bots/nobody/${path}`)).status, 404);
  }
});

test('POST /:type/:id/votes/credits → 200: votes are used up, totals fall, credits are there', async () => {
  const ref = await newBot(250, 10);
  assert.is(await votesOf(ref), 240);
  const reply = await redeem(ref, 140);
  const { json } = reply;

  assert.equal([reply.status, json.context.credits, json.context.votes], [200, '1200', '140']);
  assert.is(await votesOf(ref), 100);
  assert.equal((await overview(ref)).slab_overview, [0, 100, 0]);
  const shown = await credits(ref);
  assert.equal(
    [shown.total_credits, shown.redeemed_credits, shown.available_credits, shown.redeems.length],
    [1_200, 0, 1_200, 1],
  );
  const [one] = shown.redeems;
  assert.equal([one.id, one.credits, one.redeemed_at], [json.context.id, 1_200, null]);
  assert.equal([one.target_type, one.target_id], ['bot', ref.id]);
});

test('POST /:type/:id/votes/credits → the oldest upvotes become void and carry the redeem', async () => {
  const ref = await newBot(5, 2);
  const { json } = await redeem(ref, 2);
  const rows = await world.sql<{ upvote: boolean; void_reason: string; credit_redeem: string | null }[]>`
    select upvote, void_reason, credit_redeem from vote_rows where target_id = ${ref.id}
    order by created_at`;

  assert.equal(pluck(rows, 'void_reason'), ['redeemed', 'redeemed', '', '', '', '', '']);
  assert.equal(pluck(rows, 'credit_redeem'), [
    json.context.id,
    json.context.id,
    null,
    null,
    null,
    null,
    null,
  ]);
});

test('POST /:type/:id/votes/credits → in parts worth the same, until a monthly reset', async () => {
  const ref = await newBot(625);
  for (let part = 0; part < 6; part++) assert.is((await redeem(ref, 100)).status, 200);
  assert.is((await redeem(ref, 25)).json.context.credits, '50');
  assert.is((await credits(ref)).total_credits, 2_650);

  const atMs = world.clock.nowMs() - 2 * 24 * hourMs;
  await resetVotes(world.sql, { scope: ref.incarnation, atMs, reason: 'monthly_reset' });
  await world.engine.deliverAdjustments('bot', ref.id);
  await world.sql`update votes set created_at = ${new Date(atMs + 1_000)}, void = false, void_reason = '',
    credit_redeem = null where itag in (select itag from votes where target_id = ${ref.id} limit 100)`;

  assert.is((await redeem(ref, 40)).json.context.credits, '400', 'tiers start again');
});

test('POST /:type/:id/votes/credits → a voter of a redeemed vote still waits, and has voted', async () => {
  const ref = await newBot(0);
  const token = await world.token('user', 'robin');
  const path = `/users/robin/bots/${ref.id}/votes`;
  assert.is((await world.ask('PUT', `${path}?upvote=true`, { token })).status, 204);
  assert.is((await redeem(ref, 1)).status, 200, 'a vote just cast can be redeemed');

  const { has_voted, valid_votes } = await read(path);
  assert.equal([has_voted, valid_votes], [true, []]);
  assert.is((await world.ask('PUT', `${path}?upvote=true`, { token })).status, 429);
  await resetVotes(world.sql, { scope: ref.incarnation, atMs: world.clock.nowMs(), reason: 'operator' });
  await world.engine.deliverAdjustments('bot', ref.id);
  assert.is((await read(path)).has_voted, true, 'nor does a reset let him go');
  assert.is((await world.ask('PUT', `${path}?upvote=true`, { token })).status, 429);
});

test('POST /:type/:id/votes/credits → 400 for everything but a whole number from 1', async () => {
  const ref = await newBot(10);
  const { pattern } = RedeemQuery.properties.votes as { readonly pattern?: string };
  const odd = ['', '0', '-1', '+1', '1.5', '1e3', '0x10', '01', ' 5', 'all', '1000000000001', '9'.repeat(30)];
  for (const votes of odd) {
    const { status, json } = await redeem(ref, encodeURIComponent(votes));
    assert.equal([status, json.context.code], [400, 'validation_failed'], votes);
    assert.match(json.context['/votes'], /whole number from 1/);
    assert.not.match(votes, new RegExp(pattern ?? ''), `the document allows ${votes}`);
  }
  assert.is((await redeem(ref, 1_000_000_000_000)).status, 409);
  const token = await tokenOf(ref);
  const missing = await world.ask('POST', `/bots/${ref.id}/votes/credits`, { token });
  assert.equal([missing.status, missing.json.context['/votes']], [400, 'is missing']);
  assert.is((await credits(ref)).redeems.length, 0);
});

test('POST /:type/:id/votes/credits → 409 for more than there is, and where no tiers are', async () => {
  const ref = await newBot(10, 4);
  const { status, json } = await redeem(ref, 7);
  assert.equal([status, json.context.code, json.context.redeemable], [409, 'votes_insufficient', '6']);
  assert.is((await redeem(ref, 6)).status, 200);
  assert.is((await redeem(ref, 1)).json.context.redeemable, '0');
  assert.is(await votesOf(ref), 0);

  const token = await world.token('server', 'server1');
  const server = await world.ask('POST', '/servers/server1/votes/credits?votes=1', { token });
  assert.equal([server.status, server.json.context.code], [409, 'no_credit_tiers']);
});

test('POST /:type/:id/votes/credits → 200 with redeem_vote_credits; 404, 400', async () => {
  const ref = await newBot(20);
  await world.sql`update bots set owner_id = null, team_id = 'team1' where bot_id = ${ref.id}`;
  world.catalogue.bots.drop(ref.id);
  for (const token of [
    await world.token('team', 'team1'),
    await world.token('user', 'wren'),
    await world.token('bot', ref.id, { permLimits: ['redeem_vote_credits'] }),
  ]) {
    assert.is((await redeem(ref, 1, token)).status, 200);
  }
  const unknown = await world.token('user', 'wren');
  const ask = (target: string) => world.ask('POST', `/${target}/votes/credits?votes=1`, { token: unknown });
  assert.is((await ask('bots/nobody')).status, 404);
  assert.is((await ask('teams/team1')).status, 400);
});

test('if a node dies before it delivers a redeem to the hot store, the next flush delivers it', async () => {
  const ref = await newBot(30);
  assert.is(await votesOf(ref), 30);
  const outcome = await world.catalogue.credits.redeem({ ref, kind: 'bot', votes: 20 });
  assert.is(outcome.kind, 'redeemed');
  assert.equal((await overview(ref)).slab_overview, [10, 0, 0], 'what is to come is reckoned with');
  assert.is((await redeem(ref, 11)).status, 409);

  const untilMs = performance.now() + 20_000;
  while ((await votesOf(ref)) !== 10 && performance.now() < untilMs)
    await world.engine.waitForFlush('bot', ref.id);
  assert.is(await votesOf(ref), 10);
  assert.is((await redeem(ref, 10)).status, 200);
});

test.run();
