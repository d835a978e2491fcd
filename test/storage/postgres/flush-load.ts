/**
 * Flushing under load on a real Postgres: a hot store in memory, several flushers with a pool each, and a
 * stream of clicks and votes, while the test disturbs the server.
 *
 * A trigger in SQL records every decrease of (generation, version), so I10 is checked at each step and not
 * only at the end. At rest SQL must equal the hot store, and every accepted vote must have exactly one row
 * (I11).
 */
import * as assert from 'uvu/assert';
import type { Decision, Item } from '../../../engine/entity/items.ts';
import { StorageError } from '../../../engine/errors.ts';
import { deliverAdjustments } from '../../../engine/flush/delivery.ts';
import { createFlusher, type Flusher } from '../../../engine/flush/flusher.ts';
import { type EntityRef, listAllShards, toShard } from '../../../engine/ids.ts';
import type { EngineMeters, Ledger } from '../../../engine/ports.ts';
import { systemClock } from '../../../ops/clock.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import { openServerSql, type ServerSql } from '../../../storage/sql/server.ts';
import { createHotModel, type HotModel } from '../../model/hot-model.ts';
import { rules } from '../../sim/plan.ts';
import { itagOf, type RealWorld, worldOn } from '../ledger/world.ts';

export interface FlushLoad {
  readonly world: RealWorld;
  readonly hot: HotModel;
  readonly flushers: readonly Flusher[];
  readonly refs: readonly EntityRef[];
  /** Votes the hot store accepted, by itag. */
  readonly accepted: Set<string>;
  /** How often a flush failed, by reason. */
  readonly failures: Map<string, number>;
  /** Commits one batch of clicks and votes. */
  commit(): Promise<void>;
  /** Commits continuously until `stop` is called. */
  flow(): { stop(): Promise<void> };
  /** Waits until everything is flushed, and checks I10 and I11. */
  finish(): Promise<{ readonly votes: number; readonly clicks: number; readonly rounds: number }>;
  close(): Promise<void>;
}

export interface FlushLoadOptions {
  readonly address: string;
  readonly flushers: number;
  readonly entities: number;
  /** Wraps the ledger of a flusher. */
  readonly wrap?: (ledger: Ledger, index: number) => Ledger;
}

const watchFalls = `
  create table falls (incarnation bigint);
  create function watch_falls() returns trigger language plpgsql as $$
  begin
    if (new.generation, new.version) < (old.generation, old.version) then
      insert into falls values (old.incarnation);
    end if;
    return new;
  end $$;
  create trigger watch_falls before update on totals for each row execute function watch_falls()`;

interface LoadState {
  readonly hot: HotModel;
  readonly refs: readonly EntityRef[];
  readonly accepted: Set<string>;
  readonly sequences: number[];
  numbers: number;
}

/** Creates the entities, fills the hot store and starts the flushers. The database must be migrated. */
export const openFlushLoad = async (options: FlushLoadOptions): Promise<FlushLoad> => {
  const main = await openServerSql(options.address);
  await main.sql.unsafe(watchFalls);
  const world = worldOn(main.sql, main.close);
  const refs: EntityRef[] = [];
  for (let index = 0; index < options.entities; index++) refs.push(await world.list(`pack-${index}`));
  const hot = createHotModel({ clock: Date.now });
  const shards = listAllShards();
  const generation = await world.ledger.takeGeneration(shards, 0);
  await hot.publish(shards.map((shard) => ({ shard, generation })));
  const state: LoadState = { hot, refs, accepted: new Set(), sequences: [], numbers: 0 };
  for (const target of refs) await send(state, [await createInit(world.ledger, target)]);
  return assemble(state, { main, world, options });
};

interface Parts {
  readonly main: ServerSql;
  readonly world: RealWorld;
  readonly options: FlushLoadOptions;
}

const assemble = async (state: LoadState, { world, options }: Parts): Promise<FlushLoad> => {
  const failures = new Map<string, number>();
  const pools: ServerSql[] = [];
  const flushers: Flusher[] = [];
  let rounds = 0;
  const meters = {
    recordFlush: () => {
      rounds += 1;
    },
    recordFlushFailure: (reason: string) => failures.set(reason, (failures.get(reason) ?? 0) + 1),
    recordBacklog: () => {},
    recordDeadLetters: () => failures.set('buried', (failures.get('buried') ?? 0) + 1),
  } as unknown as EngineMeters;
  for (let index = 0; index < options.flushers; index++) {
    const pool = await openServerSql(options.address);
    pools.push(pool);
    const own = createLedger(pool.sql);
    const ledger = options.wrap?.(own, index) ?? own;
    flushers.push(createFlusherOn(state, ledger, meters));
  }
  for (const flusher of flushers) flusher.start();
  return {
    world,
    hot: state.hot,
    flushers,
    refs: state.refs,
    accepted: state.accepted,
    failures,
    commit: () => commit(state),
    flow: () => flow(state),
    finish: async () => {
      await finish(state, world, flushers);
      return { votes: state.accepted.size, clicks: await checkRest(state, world), rounds };
    },
    close: async () => {
      for (const flusher of flushers) await flusher.drain(0);
      await Promise.all(pools.map((pool) => pool.close()));
      await world.close();
    },
  };
};

const createFlusherOn = (state: LoadState, ledger: Ledger, meters: EngineMeters): Flusher =>
  createFlusher({
    hot: state.hot,
    ledger,
    clock: systemClock,
    meters,
    intervalMs: 20,
    listShards: () => null,
    onFlushed: () => {},
    deliver: async () => {
      const delivered = await deliverAdjustments({ ledger, send: (item) => send(state, [item]).then(first) });
      return delivered.count;
    },
    reconcile: async () => {},
  });

const first = (decisions: readonly Decision[]): Decision => decisions[0] as Decision;

const createInit = async (ledger: Ledger, target: EntityRef): Promise<Item> => {
  const [row] = await ledger.find([target]);
  assert.ok(row);
  return {
    kind: 'init',
    target,
    facts: row.facts,
    totals: row.totals,
    row: { generation: row.generation, version: row.version },
  };
};

/** Commits items that all belong to one shard. */
const send = async (state: LoadState, items: readonly Item[]): Promise<readonly Decision[]> => {
  const shard = items[0]?.target.shard ?? toShard(0);
  const sequence = (state.sequences[shard] ?? 0) + 1;
  state.sequences[shard] = sequence;
  const [reply] = await state.hot.commit([{ shard, producer: 'load', sequence, items }], rules);
  assert.is(reply?.outcome, 'applied');
  return reply?.decisions ?? [];
};

const commit = async (state: LoadState): Promise<void> => {
  const target = state.refs[state.numbers % state.refs.length] as EntityRef;
  const number = state.numbers++;
  const itags = [itagOf(2 * number + 1), itagOf(2 * number + 2)];
  const vote: Item = {
    kind: 'vote',
    target,
    user: `voter-${number}`,
    upvote: number % 3 > 0,
    atMs: Date.now(),
    itags,
  };
  const decisions = await send(state, [{ kind: 'click', target, visitor: String(number) }, vote]);
  const outcome = decisions[1];
  assert.is(outcome?.kind, 'voted');
  if (outcome?.kind !== 'voted') return;
  for (const itag of itags.slice(0, outcome.count)) state.accepted.add(itag);
};

const flow = (state: LoadState): { stop(): Promise<void> } => {
  let isRunning = true;
  const loop = async (): Promise<void> => {
    while (isRunning) {
      for (let count = 0; count < 2; count++) await commit(state);
      await new Promise((resolve) => setTimeout(resolve, 4));
    }
  };
  const running = loop();
  return {
    stop: () => {
      isRunning = false;
      return running;
    },
  };
};

const finishMsMax = 30_000;

const finish = async (state: LoadState, world: RealWorld, flushers: readonly Flusher[]): Promise<void> => {
  const endMs = performance.now() + finishMsMax;
  while (performance.now() < endMs) {
    const { entities, votes } = await state.hot.countBacklog();
    const open = await world.ledger.listAdjustments(1).catch((error) => {
      if (error instanceof StorageError) return [error];
      throw error;
    });
    if (entities + votes + open.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(
    `not at rest after ${finishMsMax} ms: ${flushers.map((flusher) => flusher.getLastError()).join('; ')}`,
  );
};

/** Checks that SQL equals the hot store. Resolves to the number of clicks. */
const checkRest = async (state: LoadState, world: RealWorld): Promise<number> => {
  const rows = await world.ledger.find(state.refs);
  let clicks = 0;
  for (const [index, ref] of state.refs.entries()) {
    const hotState = state.hot.shards[ref.shard]?.slots.get(ref.address)?.state;
    const row = rows[index];
    assert.ok(hotState && row, `${ref.id} is in both stores`);
    const { clicks: seen, upvotes, downvotes, adjustment } = row.totals;
    assert.equal(
      { seen, upvotes, downvotes, adjustment, version: row.version },
      {
        seen: hotState.clicks,
        upvotes: hotState.upvotes,
        downvotes: hotState.downvotes,
        adjustment: hotState.adjustment,
        version: hotState.version,
      },
    );
    clicks += seen;
  }
  assert.is(clicks, state.numbers, 'every click is in the totals once');
  const votes = await world.votes();
  assert.equal(Object.keys(votes).sort(), [...state.accepted].sort());
  await checkNonVoid(state, world);
  const [falls] = await world.sql<{ count: number }[]>`select count(*) as count from falls`;
  assert.is(falls?.count, 0, 'no (generation, version) ever fell in SQL');
  return clicks;
};

/** Checks that the totals equal the sums of the vote rows. */
const checkNonVoid = async (state: LoadState, world: RealWorld): Promise<void> => {
  const counted = await world.sql<{ id: string; votes: number }[]>`
    select target_id as id, sum(case when upvote then 1 else -1 end) as votes
    from vote_rows where not void group by target_id`;
  const byId = new Map(counted.map((row) => [row.id, Number(row.votes)]));
  for (const { id, shard, address } of state.refs) {
    const hotState = state.hot.shards[shard]?.slots.get(address)?.state;
    assert.is((hotState?.upvotes ?? 0) - (hotState?.downvotes ?? 0), byId.get(id) ?? 0, `votes of ${id}`);
  }
};
