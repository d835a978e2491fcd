/**
 * Processes of one bot that post their shards while everything else goes on, and the checks of S1 to S6.
 *
 * Only some plans have them. They change to another shard count in the middle, each at its own time, and some
 * of them pause or stop. Random choices come from a stream of their own, so that they change no other seed's
 * history more than by their calls. The checks compare the log of posts with the hot store.
 */

import { createRandom, type Random } from '../../bench/shared/random.ts';
import type { EntityView } from '../../engine/engine.ts';
import type { HotState, Part, PartsTable } from '../../engine/entity/state.ts';
import { DomainError, StorageError } from '../../engine/errors.ts';
import { type EntityRef, toAddress } from '../../engine/ids.ts';
import { firstFacts } from './operator.ts';
import { rules } from './plan.ts';
import { count, type SimNode, violate, type World } from './world.ts';

/** The bot whose shards are posted. No other client or operator uses it. */
export const postedBot = 'epsilon';
export const postersOf = (seed: number): number => (seed % 3 === 0 ? 4 : 0);

interface Post {
  readonly shardCount: number;
  readonly ids: readonly number[];
  /** The number of servers of each posted part: its place in the log, from 1. */
  readonly value: number;
  readonly callMs: number;
  returnMs: number;
  outcome: 'pending' | 'ok' | 'refused' | 'fail' | 'unknown';
}

export interface Posters {
  readonly world: World;
  readonly random: Random;
  readonly posts: Post[];
  readonly ref: EntityRef;
}

const postsPerPoster = 14;
const judgeEveryMs = 250;
/** A part is marked at most this long after it became stale, if the nodes answer. */
const judgedLateMsMax = 3_000;

const shardCounts = [5, 7] as const;

export const createPosters = (world: World, seed: number): Posters => {
  const ref = world.ledger.list('bot', postedBot, firstFacts);
  world.refs.push(ref);
  return { world, random: createRandom(seed ^ 0x70617274), posts: [], ref };
};

/** Runs the posters, and the job of every node until the simulation ends. */
export const runPosters = async (posters: Posters): Promise<void> => {
  const { world } = posters;
  void judgeForever(world);
  const all = Array.from({ length: world.plan.posters }, (_, index) => runPoster(posters, index));
  await Promise.all(all);
};

const judgeForever = async ({ driver, nodes }: World): Promise<void> => {
  for (;;) {
    await driver.pause(judgeEveryMs);
    const judging = nodes.map((node) => (node.ready ? judge(node) : null));
    await Promise.race([Promise.all(judging), driver.pause(judgedLateMsMax / 2)]);
  }
};

const judge = async ({ engine }: SimNode): Promise<void> => {
  try {
    await engine?.judgeParts(new AbortController().signal);
  } catch (error) {
    if (!(error instanceof DomainError || error instanceof StorageError)) throw error;
  }
};

const runPoster = async (posters: Posters, index: number): Promise<void> => {
  const { world, random } = posters;
  const { driver, plan } = world;
  const changesAt = random.integer(3, postsPerPoster);
  const stopsAt = random.chance(0.25) ? random.integer(2, postsPerPoster) : postsPerPoster;
  for (let turn = 0; turn < stopsAt; turn++) {
    await driver.pause(random.chance(0.04) ? rules.parts.staleMs + 600 : random.integer(20, 400));
    const up = world.nodes.filter((node) => node.ready);
    if (up.length === 0) continue;
    const shardCount = shardCounts[turn < changesAt ? 0 : 1];
    const ids = Array.from({ length: shardCount }, (_, id) => id).filter((id) => id % plan.posters === index);
    await Promise.race([post(posters, random.pick(up), { shardCount, ids }), driver.pause(2_600)]);
  }
};

const post = async (
  posters: Posters,
  node: SimNode,
  { shardCount, ids }: Pick<Post, 'shardCount' | 'ids'>,
): Promise<void> => {
  const { world, posts } = posters;
  const value = posts.length + 1;
  const callMs = world.driver.nowMs();
  const entry: Post = {
    shardCount,
    ids,
    value,
    callMs,
    returnMs: Number.POSITIVE_INFINITY,
    outcome: 'pending',
  };
  posts.push(entry);
  world.driver.note(`${node.boot} shards ${value}: ${ids} of ${shardCount}`);
  const { clock } = node;
  try {
    const parts = ids.map((id) => ({ id, servers: value, users: value }));
    const view = await (node.engine as NonNullable<SimNode['engine']>).postParts(postedBot, {
      shardCount,
      parts,
    });
    entry.outcome = 'ok';
    checkView(world, view);
  } catch (error) {
    entry.outcome = classify(error);
  }
  if (clock.dead()) entry.outcome = 'unknown';
  entry.returnMs = world.driver.nowMs();
  count(world, `shards ${entry.outcome}`);
  world.driver.note(`${node.boot} shards ${value} → ${entry.outcome}`);
};

const classify = (error: unknown): Post['outcome'] => {
  if (error instanceof StorageError) return 'fail';
  if (!(error instanceof DomainError)) throw error;
  if (error.code === 'shards_inconsistent') return 'refused';
  return error.context.outcome === 'unknown' ? 'unknown' : 'fail';
};

/** S3 and S4: totals come from the current table alone, and all its sums belong together. */
const checkView = (world: World, { state, ref }: EntityView): void => {
  const { servers, users, shards, shardList, parts } = state;
  const listed = shardList === '' ? [] : shardList.split(',').map(Number);
  const sum = listed.reduce((total, entry) => total + entry, 0);
  if (servers !== users || servers !== String(sum) || shards !== String(listed.length))
    violate(world, 'S4', `${ref.address} shows ${servers}, ${users} and ${shardList}`);
  const { current = null } = parts ?? {};
  if (current !== null && String(current.servers) !== servers)
    violate(world, 'S3', `${ref.address} shows ${servers}, its shards have ${current.servers}`);
  if (current === null && world.losses.length === 0 && servers !== '0')
    violate(world, 'S3', `${ref.address} shows ${servers} without a table in force`);
};

/** Checks the bot's parts in the hot store at rest. */
export const checkPosters = (posters: Posters): void => {
  const { world, ref } = posters;
  const shard = world.hot.shards[ref.shard];
  const state = shard?.slots.get(ref.address)?.state;
  const tables =
    shard?.parts.get(`${ref.address} ${ref.incarnation}`) ?? new Map<number, Map<number, Part>>();
  if (!state?.parts) return;
  for (const table of [state.parts.current, state.parts.building]) {
    if (table === null) continue;
    const parts = tables.get(table.shardCount) ?? new Map<number, Part>();
    checkSums(world, table, parts);
    for (const [id, part] of parts) checkPart(posters, table, { id, part });
  }
  checkState(world, state);
  checkView(world, { ref, state });
};

/** S1: sums at rest are those of the parts. */
const checkSums = (world: World, table: PartsTable, parts: ReadonlyMap<number, Part>): void => {
  const servers = [...parts.values()].reduce((sum, part) => sum + part.servers, 0);
  const live = [...parts.values()].filter((part) => part.live).length;
  const sums = [table.seen, table.servers, table.live.reduce((sum, one) => sum + one, 0)];
  if (String(sums) !== String([parts.size, servers, live]))
    violate(
      world,
      'S1',
      `table ${table.shardCount} has the sums ${sums}, its parts ${[parts.size, servers, live]}`,
    );
};

/** S2: a part is as the newest acknowledged post of it says, or a newer one. S5: it is stale in time. */
const checkPart = (posters: Posters, table: PartsTable, { id, part }: { id: number; part: Part }): void => {
  const { world, posts } = posters;
  const name = `part ${id} of ${table.shardCount}`;
  const shown = posts[part.servers - 1];
  if (shown === undefined || shown.outcome === 'fail' || shown.outcome === 'refused')
    violate(world, 'S2', `${name} shows post ${part.servers}, which was not taken`);
  const sinceMs = table.sinceMs - world.plan.epochMs;
  const later = posts.find(
    (one) =>
      one.outcome === 'ok' &&
      one.shardCount === table.shardCount &&
      one.ids.includes(id) &&
      one.callMs > Math.max(shown?.returnMs ?? 0, sinceMs),
  );
  // A lost post is resent unless the store has a newer one by the clocks of their nodes.
  if (later !== undefined && world.losses.length === 0 && world.plan.jumps === 0)
    violate(world, 'S2', `${name} shows post ${part.servers}, ${later.value} was acknowledged later`);
  const ageMs = world.driver.nowMs() + world.plan.epochMs - part.atMs;
  if (part.live && ageMs > rules.parts.staleMs + judgedLateMsMax)
    violate(world, 'S5', `${name} is live ${ageMs} ms after its post`);
};

/** S5: the bot shows that all its parts are stale. */
const checkState = (world: World, { parts, status }: HotState): void => {
  const live = parts?.current?.live.some((one) => one > 0) ?? true;
  if (!live && status !== 'offline')
    violate(world, 'S5', `${toAddress('bot', postedBot)} is ${status} without a live part`);
};
