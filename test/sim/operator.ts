/**
 * The actions of operators and the accidents in a world while its clients work: edits, voids, resets,
 * removals, crashes, clock jumps, lost stores.
 *
 * Each runs at a time drawn from the seed. Like the catalogue routes it writes to the ledger first and calls
 * the engine second, and retries while that fails. It checks nothing.
 */
import type { Facts } from '../../engine/entity/state.ts';
import { type EntityAddress, toAddress } from '../../engine/ids.ts';
import { type Target, targets, users } from './workload.ts';
import { boot, count, crash, emptyHot, restoreHot, type SimNode, snapshotHot, type World } from './world.ts';

export const firstFacts: Facts = {
  revision: 1,
  listed: true,
  voteBanned: false,
  premiumUntilMs: 0,
  listedSinceMs: 0,
};

/** How long clients and operators work, in ms. */
const spanMs = 4_000;

/** Creates all listings; they are only in SQL until a client requests them. */
export const foundDirectory = (world: World): void => {
  for (const { kind, id } of targets) world.refs.push(world.ledger.list(kind, id, firstFacts));
};

const anyNode = (world: World): SimNode | null => {
  const up = world.nodes.filter((node) => node.ready);
  return up.length === 0 ? null : world.driver.random.pick(up);
};

/** Calls one node after the other until one succeeds; a crash of the node counts as a failure. */
const insist = async (world: World, ask: (node: SimNode) => Promise<unknown>): Promise<boolean> => {
  for (let attempt = 0; attempt < 100; attempt++) {
    const node = anyNode(world);
    if (node !== null) {
      const late = world.driver.pause(3_000).then(() => false);
      const done = ask(node).then(
        () => true,
        () => false,
      );
      if (await Promise.race([done, late])) return true;
    }
    await world.driver.pause(100);
  }
  return false;
};

const edit = async (world: World, target: Target): Promise<void> => {
  const { random } = world.driver;
  const nowMs = world.driver.nowMs() + world.plan.epochMs;
  const address = toAddress(target.kind, target.id);
  const change = random.pick(['premium', 'premium', 'ban', 'list'] as const);
  world.driver.note(`operator edits ${address}: ${change}`);
  const listing = world.ledger.listings.get(address);
  if (listing === undefined) return;
  const { ref, facts } = listing;
  const premiumUntilMs = random.chance(0.7) ? nowMs + random.integer(500, 4_000) : 0;
  if (change === 'premium') world.ledger.edit(ref, { premiumUntilMs });
  else if (change === 'ban') world.ledger.edit(ref, { voteBanned: !facts.voteBanned });
  else world.ledger.edit(ref, { listed: !facts.listed });
  await insist(world, async (node) => node.engine?.refreshFacts(target.kind, target.id));
};

const voidVotes = async (world: World, target: Target): Promise<void> => {
  const address = toAddress(target.kind, target.id);
  const user = world.driver.random.pick(users);
  if (!(await insist(world, async (node) => node.engine?.waitForFlush(target.kind, target.id)))) return;
  const incarnation = world.ledger.listings.get(address)?.ref.incarnation;
  const own = [...world.ledger.votes.values()].filter(
    (vote) => vote.ref.incarnation === incarnation && vote.user === user,
  );
  const hit = own.filter((vote) => world.ledger.voidVote(vote.itag, 'operator')).length;
  world.driver.note(`operator voids ${hit} votes of ${user} on ${address}`);
  await insist(world, async (node) => node.engine?.deliverAdjustments(target.kind, target.id));
};

const reset = async (world: World): Promise<void> => {
  const agoMs = world.driver.random.integer(0, 800);
  const atMs = world.driver.nowMs() + world.plan.epochMs - agoMs;
  world.ledger.reset({ scope: 'all', atMs, reason: 'monthly_reset' });
  world.driver.note(`monthly reset, ${agoMs} ms ago`);
  for (const { kind, id } of targets)
    await insist(world, async (node) => node.engine?.deliverAdjustments(kind, id));
};

const remove = async (world: World, target: Target): Promise<void> => {
  const address: EntityAddress = toAddress(target.kind, target.id);
  world.driver.note(`operator removes ${address}`);
  const listing = world.ledger.listings.get(address);
  if (listing === undefined) return;
  world.ledger.remove(listing.ref);
  const delivered = insist(world, async (node) => node.engine?.deliverAdjustments(target.kind, target.id));
  await world.driver.pause(world.driver.random.integer(0, 1_500));
  if (world.ledger.listings.has(address)) return;
  if (world.driver.random.chance(0.8)) {
    world.driver.note(`${address} is listed again`);
    world.refs.push(world.ledger.list(target.kind, target.id, firstFacts));
  }
  await delivered;
};

const crashAndBoot = async (world: World): Promise<void> => {
  const node = anyNode(world);
  if (node === null) return;
  crash(world, node);
  await world.driver.pause(world.driver.random.integer(10, 1_500));
  await boot(world, node);
};

const jump = async (world: World): Promise<void> => {
  const node = anyNode(world);
  const byMs = world.driver.random.integer(-6_000, 6_000);
  node?.clock.jump(byMs);
  world.driver.note(`the clock of ${node?.boot} jumps by ${byMs}`);
};

/** Rolls the hot store back to a snapshot, but never to one from before another loss. */
const rollBack = async (world: World): Promise<void> => {
  const losses = world.losses.length;
  const snapshot = snapshotHot(world);
  await world.driver.pause(world.driver.random.integer(1, 1_200));
  if (!world.healed && losses === world.losses.length) restoreHot(world, snapshot);
};

/** Schedules all actions and accidents; resolves when all of them are done. */
export const runOperators = async (world: World): Promise<void> => {
  const { plan, driver } = world;
  const { random } = driver;
  const all: Promise<void>[] = [];
  const schedule = (name: string, times: number, act: () => Promise<void>): void => {
    for (let time = 0; time < times; time++) {
      const delayMs = random.integer(50, spanMs);
      all.push(
        driver.pause(delayMs).then(() => {
          count(world, name);
          return act();
        }),
      );
    }
  };
  schedule('edit', plan.edits, () => edit(world, random.pick(targets)));
  schedule('void', plan.voids, () => voidVotes(world, random.pick(targets)));
  schedule('reset', plan.resets, () => reset(world));
  schedule('removal', plan.removals, () => remove(world, random.pick(targets)));
  schedule('crash and boot', plan.crashes, () => crashAndBoot(world));
  schedule('clock jump', plan.jumps, () => jump(world));
  schedule('hot store loss', plan.emptied, async () => emptyHot(world));
  schedule('hot store roll-back', plan.rolledBack, () => rollBack(world));
  await Promise.all(all);
};
