/**
 * Runs one seed: creates the directory, boots the nodes, runs clients and accidents, ends all faults, waits
 * for rest, checks.
 *
 * The same seed gives the same trace and hash.
 */

import type { Shard } from '../../engine/ids.ts';
import { checkWorld } from './checks.ts';
import { createDriver } from './clock.ts';
import type { LedgerFaults } from './ledger.ts';
import { foundDirectory, runOperators } from './operator.ts';
import { drawPlan, type Plan } from './plan.ts';
import { checkPosters, createPosters, postedBot, postersOf, runPosters } from './posters.ts';
import { createWorkload, runClient, targets, type Workload } from './workload.ts';
import { addNode, boot, createWorld, type SimNode, violate, type World } from './world.ts';

export interface SimulationOptions {
  readonly seed: number;
  /** Receives every line of the trace. */
  readonly print?: (line: string) => void;
  readonly faults?: LedgerFaults;
}
export interface SimulationResult {
  readonly seed: number;
  readonly plan: Plan;
  readonly violations: readonly string[];
  readonly hash: string;
  readonly events: number;
  readonly ops: number;
  /** Operations that met something unusual: a fault, a refusal, an activation. */
  readonly special: number;
  readonly counts: ReadonlyMap<string, number>;
}

const eventsMax = 60_000;

export const simulate = async (options: SimulationOptions): Promise<SimulationResult> => {
  const { seed } = options;
  const driver = createDriver(seed, options.print);
  const plan = drawPlan(driver.random, { posters: postersOf(seed) });
  driver.note(JSON.stringify(plan));
  const world = createWorld(driver, plan, options.faults ?? {});
  const work = createWorkload(world);
  let done = false;
  const story = runSimulation(work, options.seed).finally(() => {
    done = true;
  });
  story.catch(() => {});
  const onBug = (error: unknown): void =>
    violate(world, 'bug', error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.on('unhandledRejection', onBug);
  try {
    await driver.run(() => done, eventsMax);
    if (!done) violate(world, 'I15', 'no event is left before the simulation ends');
    else await story;
  } catch (error) {
    onBug(error);
  } finally {
    process.off('unhandledRejection', onBug);
  }
  return report(options.seed, work);
};

const report = (seed: number, { world, log }: Workload): SimulationResult => {
  for (const op of log) count(world.counts, `op ${op.outcome}`);
  const special = log.filter((op) => op.special || op.outcome === 'pending').length;
  return {
    seed,
    plan: world.plan,
    violations: world.violations,
    hash: world.driver.hash(),
    events: world.driver.events(),
    ops: log.length,
    special,
    counts: world.counts,
  };
};

const count = (counts: Map<string, number>, what: string): void => {
  counts.set(what, (counts.get(what) ?? 0) + 1);
};

const runSimulation = async (work: Workload, seed: number): Promise<void> => {
  const { world } = work;
  const { driver, plan } = world;
  foundDirectory(world);
  const posters = plan.posters > 0 ? createPosters(world, seed) : null;
  for (let index = 1; index <= plan.nodes; index++) addNode(world, `node${index}`);
  await Promise.all(world.nodes.map((node) => boot(world, node)));
  const clients = Array.from({ length: plan.clients }, (_, index) => runClient(work, index));
  await Promise.all([...clients, runOperators(world), posters && runPosters(posters)]);
  world.healed = true;
  driver.note('all faults end');
  // The latest call that may still take effect is this far away.
  await driver.pause(6_000);
  await checkFreshNode(work);
  await checkNodesSee(world, ['version', 'clicks', 'upvotes', 'downvotes', 'servers']);
  await checkNodesSee(world, ['flushedVotes']);
  // The reads took time, in which a bot may have been judged.
  await rest(world);
  checkWorld(work);
  if (posters !== null) checkPosters(posters);
};

type SeenName = 'version' | 'clicks' | 'upvotes' | 'downvotes' | 'servers' | 'flushedVotes';

/**
 * I9, second half: a second after the last change every node shows the store's state. Flushed votes of
 * another node, which change no version, show a few polls later. The reads take time, in which a bot may be
 * judged: then they say nothing, and it waits for another quiet second.
 */
const checkNodesSee = async (world: World, names: readonly SeenName[]): Promise<void> => {
  for (let tries = 20, isDone = false; tries > 0 && !isDone; tries--) {
    await rest(world);
    const before = listPositions(world);
    const unseen = await listUnseen(world, names);
    const after = listPositions(world);
    const judged = unseen.filter(({ shard }) => tries === 1 || before[shard] === after[shard]);
    for (const { what } of judged) violate(world, 'I9', what);
    isDone = judged.length === unseen.length;
  }
};

const listUnseen = async (world: World, names: readonly SeenName[]) => {
  const unseen: { readonly shard: Shard; readonly what: string }[] = [];
  for (const node of world.nodes) {
    if (node.engine === null || !node.ready) continue;
    for (const { ref } of world.ledger.listings.values()) {
      const slot = world.hot.shards[ref.shard]?.slots.get(ref.address);
      const stored = slot?.incarnation === ref.incarnation ? slot.state : null;
      if (!stored) continue;
      const { state } = await node.engine.read(ref.kind, ref.id);
      for (const name of names) {
        const what = `${node.boot} shows ${name} ${state[name]} of ${ref.address}, not ${stored[name]}`;
        if (state[name] !== stored[name]) unseen.push({ shard: ref.shard, what });
      }
    }
  }
  return unseen;
};

/** Checks that a newly started node finds every listing, and no other. */
const checkFreshNode = async ({ world }: Workload): Promise<void> => {
  const exact = world.losses.every((loss) => loss.emptied);
  addNode(world, 'fresh');
  const node = world.nodes.at(-1) as SimNode;
  await boot(world, node);
  const posted = world.plan.posters > 0 ? [{ kind: 'bot', id: postedBot } as const] : [];
  for (const { kind, id } of [...targets, ...posted]) {
    const ref = [...world.ledger.listings.values()].find(
      ({ ref }) => ref.kind === kind && ref.id === id,
    )?.ref;
    try {
      const view = await node.engine?.read(kind, id);
      if (exact && view?.ref.incarnation !== ref?.incarnation)
        violate(world, 'I12', `a fresh node finds a removed ${kind}`);
    } catch (error) {
      if (exact && ref !== undefined)
        violate(world, 'I1', `a fresh node does not find ${ref.address}: ${error}`);
    }
  }
};

const atRest = (world: World): boolean =>
  world.hot.shards.every((shard) => shard.dirty.size + shard.outbox.size === 0) &&
  world.ledger.adjustments.every((adjustment) => adjustment.isDelivered);

const listPositions = (world: World): readonly string[] =>
  world.hot.shards.map(({ generation, version }) => `${generation}.${version}`);

/** Until nothing waits, and a second more in which nothing changes. */
const rest = async (world: World): Promise<void> => {
  for (let looks = 60; looks > 0; looks--) {
    const before = listPositions(world).join();
    const wasAtRest = atRest(world);
    await world.driver.pause(wasAtRest ? 1_000 : 500);
    if (wasAtRest && atRest(world) && listPositions(world).join() === before) return;
  }
};
