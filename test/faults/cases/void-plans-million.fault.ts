/**
 * A plan of a million votes on Redis and Postgres: its query is done within 30 s, and its votes become void
 * while posts, votes and a monthly reset go on; the totals equal the rows afterwards. Time limit: 1200 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { resetVotes } from '../../../storage/ledger/adjust.ts';
import { createPartitions } from '../../../storage/ledger/partitions.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { shardOf } from '../../support/refs.ts';
import { until } from '../../support/until.ts';
import { faultCase } from '../harness/fault-case.ts';
import { onServers } from '../harness/on-servers.ts';
import { type Life, outsider, type Stack } from '../harness/stack.ts';
import { acknowledged, underLoad } from '../harness/waits.ts';
import { addPastVotes, createPlans, readVotes, type ShownPlan, slowly } from './void-plans.ts';

const test = suite('a plan of a million votes');
const sizes = { packs: 1_000, packVotes: 500, botVotes: 500_000 };
const votes = sizes.packs * sizes.packVotes + sizes.botVotes;
const planSecondsMax = 30;

/** Lists packs with these votes, which the load does not know. */
const addFarmedPacks = async (sql: Sql): Promise<void> => {
  const ids = Array.from({ length: sizes.packs }, (_, index) => `farmed-${index}`);
  const shards = ids.map((id) => shardOf('pack', id));
  await sql`
    with listed as (
      insert into totals (incarnation, kind, entity_id, shard)
      select nextval('incarnations'), 'pack', id, shard
      from unnest(${ids}::text[], ${shards}::smallint[]) as pack (id, shard) returning incarnation, entity_id
    )
    insert into packs (url, incarnation, owner_id, name, short)
    select entity_id, incarnation, (select id from users limit 1), 'Pack', '' from listed`;
  await addPastVotes(sql, ids, sizes.packVotes, 'pack');
};

/**
 * Half of the bot's votes are older, none of the packs'. As the job does: with so many votes it takes longer
 * than a request may.
 */
const resetWhileVoiding = async ({ stores: { sql } }: Stack): Promise<void> => {
  const [row] = await sql<{ created_at: Date }[]>`
    select created_at from votes where author = ${`farm${sizes.botVotes / 2}`} and target_id = ${outsider}`;
  const atMs = row?.created_at.getTime() ?? 0;
  assert.ok((await resetVotes(sql, { scope: 'all', atMs, reason: 'monthly_reset' })) >= 0);
};

const countRows = (sql: Sql): Promise<number> =>
  slowly(sql, async (transaction) => {
    const [row] = await transaction<{ votes: number }[]>`
      select count(*) as votes from vote_rows where author like 'farm%' and not void`;
    return row?.votes ?? -1;
  });

const timed = async <Result>(task: () => Promise<Result>): Promise<readonly [Result, number]> => {
  const fromMs = performance.now();
  return [await task(), (performance.now() - fromMs) / 1_000];
};

/** The bot shows so many votes at every node, and so have all listings together, as last flushed. */
const untilVotes = (stack: Stack, votes: number): Promise<void> =>
  until(
    `${votes} votes in all`,
    async () => {
      const [row] = await stack.stores.sql<{ all: number; bot: number }[]>`
        select sum(upvotes)::bigint as all, sum(upvotes) filter (where kind = 'bot')::bigint as bot
        from totals where entity_id = ${outsider} or entity_id like 'farmed-%'`;
      const shown = await Promise.all(
        stack.alive().map(({ node }) => readVotes(stack.client, node, outsider)),
      );
      return row?.all === votes && shown.every((one) => one === row.bot);
    },
    300_000,
  );

const run = async (stack: Stack) => {
  const { sql } = stack.stores;
  await createPartitions(sql).prepare([{ atMs: Date.now() - 11 * 86_400_000 }, { atMs: Date.now() }]);
  await addPastVotes(sql, [outsider], sizes.botVotes);
  await addFarmedPacks(sql);
  await stack.open();
  await stack.open();
  const findNode = async () => (stack.random.pick(stack.alive()) as Life).node;
  const plans = createPlans({ client: stack.client, findNode });
  let plan = null as ShownPlan | null;
  const seconds = { plan: 0, void: 0, totals: 0, undo: 0 };
  await underLoad(stack, 8, async () => {
    await acknowledged(stack.log, 50);
    [plan, seconds.plan] = await timed(() => plans.make());
    assert.equal([plan.state, plan.votes], ['planned', votes]);
    const used = plans.start(plan).then(plans.finish);
    await acknowledged(stack.log, 200);
    await resetWhileVoiding(stack);
    [plan, seconds.void] = await timed(() => used);
    const { monthly_reset = 0 } = plan.left_out;
    assert.is(plan.voided + monthly_reset, votes);
    [, seconds.totals] = await timed(() => untilVotes(stack, 0));
    assert.is(await countRows(sql), 0);
    const [undone, undoSeconds] = await timed(async () => plans.finish(await plans.undo(plan as ShownPlan)));
    seconds.undo = undoSeconds;
    assert.is(await countRows(sql), undone.restored);
    await untilVotes(stack, undone.restored);
    await acknowledged(stack.log, 100);
  });
  console.log(`seconds: ${JSON.stringify(seconds)}`);
  assert.ok(seconds.plan <= planSecondsMax, `planned in ${seconds.plan} s`);
  // The judge of the load reads all votes.
  await slowly(sql, (transaction) => transaction`delete from votes where author like 'farm%'`);
  return { seconds, voided: plan?.voided ?? 0 };
};

faultCase(test, {
  title: 'a million votes are planned within 30 s, and voided while posts, votes and a reset go on',
  name: 'a plan of a million votes',
  once: true,
  run: ({ seed }) =>
    onServers({ seed, nodes: 0 }, async ({ stack }) => {
      const { seconds, voided } = await run(stack);
      const figures = await stack.judge();
      return {
        ...figures,
        voided,
        planSecondsMax: seconds.plan,
        voidSecondsMax: seconds.void,
        totalsSecondsMax: seconds.totals,
        undoSecondsMax: seconds.undo,
      };
    }),
});

test.run();
