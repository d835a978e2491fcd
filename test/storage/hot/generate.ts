/**
 * Seeded sequences of hot store operations, for comparing an adapter with the model.
 *
 * Owns the choice of what happens next. It looks into the model to aim at edges: the instant a wait ends, a
 * version that moved, the next adjustment. The same seed and the same model answers give the same sequence.
 */

import { createRandom } from '../../../bench/shared/random.ts';
import type { AdjustItem, Batch, CastVote, CommitRules, Item } from '../../../engine/entity/items.ts';
import { emptyFacts, type Facts, presenceStatuses } from '../../../engine/entity/state.ts';
import type { EntityKind, EntityRef, Shard } from '../../../engine/ids.ts';
import { toAddress } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import type { FlushReceipt } from '../../../engine/ports.ts';
import type { HotModel } from '../../model/hot-model.ts';
import { pickPost, pickTotals } from '../../support/field-values.ts';
import { refOf, shardOf } from '../../support/refs.ts';

const hourMs = 3_600_000;
export const startMs = Date.parse('2026-11-19T20:00:00Z');
export const rules: CommitRules = {
  windows: {
    standard: { waitMs: 12 * hourMs, perUser: 1 },
    premium: { waitMs: 4 * hourMs, perUser: 1 },
    weekend: { waitMs: 6 * hourMs, perUser: 2 },
  },
  uptime: {
    checkMs: 300_000,
    freshMs: 900_000,
    downtimes: [{ fromMs: startMs + 40 * hourMs, toMs: startMs + 41 * hourMs }],
  },
  parts: { staleMs: 900_000, goneMs: 86_400_000, switchMs: 600_000 },
  visitorsMax: 5,
};
export const voters = ['111', '222', 'o dd/ü{s1} ', '333'];
const producers = ['node-a', 'node-b', 'node c/3'];
const visitors = ['0', '-1', '9223372036854775807', '-9223372036854775808', '5', '6', '7', '8'];

/** Ids that fall into few shards with either number of shards, so that listings share shards. */
const pickNames = (): { kind: EntityKind; id: string }[] => {
  const wanted: [EntityKind, string][] = [
    ['bot', ''],
    ['bot', ''],
    ['pack', 'a b{s1}:'],
    ['server', ''],
    ['team', ''],
  ];
  const shards = [3, 3, 3, 13, 12];
  return wanted.map(([kind, prefix], index) => {
    let number = 100 * (index + 1);
    while (shardOf(kind, `${prefix}${number}`) !== shards[index]) number++;
    return { kind, id: `${prefix}${number}` };
  });
};
export const names = pickNames();
export const usedShards: readonly Shard[] = [...new Set(names.map(({ kind, id }) => shardOf(kind, id)))];

export type Operation =
  | { readonly verb: 'commit'; readonly batches: readonly Batch[] }
  | { readonly verb: 'publish'; readonly generations: readonly { shard: Shard; generation: number }[] }
  | { readonly verb: 'settled'; readonly receipt: FlushReceipt }
  | {
      readonly verb: 'peek';
      readonly entities: number;
      readonly votes: number;
      readonly shards: readonly Shard[];
    }
  | {
      readonly verb: 'clear';
      readonly places: readonly { shard: Shard; generation: number; version: number }[];
    }
  | { readonly verb: 'sweep' }
  | { readonly verb: 'reopen' }
  | { readonly verb: 'wait'; readonly milliseconds: number };

export interface Generator {
  next(nowMs: number): Operation;
}
interface World {
  readonly model: HotModel;
  readonly random: () => number;
  readonly sent: Map<string, Batch>;
  /** Recent votes' times: waits are aimed at their edges. */
  readonly cast: CastVote[];
  itags: number;
}

const upTo = (world: World, bound: number): number => Math.floor(world.random() * bound);
const chance = (world: World, share: number): boolean => world.random() < share;
const pick = <Value>(world: World, values: readonly Value[]): Value =>
  values[upTo(world, values.length)] as Value;

/** Mostly the active listing, sometimes an earlier or a later one. */
const anyTarget = (world: World, shard: Shard): EntityRef => {
  const name = pick(
    world,
    names.filter(({ kind, id }) => shardOf(kind, id) === shard),
  );
  const slot = world.model.shards[shard]?.slots.get(toAddress(name.kind, name.id));
  const base = slot?.incarnation ?? 1;
  const step = chance(world, 0.08) ? pick(world, [-1, 1]) : 0;
  // Half of the time a later listing follows a deleted one.
  const reborn = slot && !slot.state && chance(world, 0.5) ? 1 : 0;
  return refOf(name.kind, name.id, Math.max(1, base + step + reborn));
};

const anyFacts = (world: World, nowMs: number, revision: number): Facts => ({
  ...emptyFacts,
  revision,
  listed: chance(world, 0.9),
  voteBanned: chance(world, 0.05),
  premiumUntilMs: chance(world, 0.3) ? nowMs + upTo(world, 30) * hourMs : 0,
  listedSinceMs: nowMs - upTo(world, 5) * hourMs,
});

const anyInit = (world: World, target: EntityRef, nowMs: number): Item => {
  const shard = world.model.shards[target.shard];
  const generation = (shard?.generation ?? 0) + (chance(world, 0.05) ? 1 : 0);
  const version = Math.max(0, (shard?.version ?? 0) + pick(world, [-2, -1, 0, 0, 0, 1]));
  const near = chance(world, 0.1) ? limits.counterMax - 1 : upTo(world, 50);
  const totals = {
    ...pickTotals((values) => pick(world, values)),
    ...{ clicks: near, inviteClicks: near, upvotes: near, uptimeCheckedMs: nowMs },
  };
  const facts = anyFacts(world, nowMs, upTo(world, 4));
  const row = { generation, version };
  if (chance(world, 0.6)) return { kind: 'init', target, facts, totals, row };
  return {
    kind: 'init',
    target,
    facts,
    totals,
    row,
    readUnder: (shard?.generation ?? 0) + pick(world, [-1, 0, 0, 1]),
  };
};

const anyRemember = (world: World, target: EntityRef): Item => {
  const readUnder = (world.model.shards[target.shard]?.generation ?? 0) + pick(world, [-1, 0, 0, 0]);
  const marks = () => world.cast.filter(() => chance(world, 0.3));
  const cast = marks();
  // A row of SQL is one or the other.
  const isCast = (vote: CastVote) => cast.some(({ user, atMs }) => user === vote.user && atMs === vote.atMs);
  return { kind: 'remember', target, readUnder, cast, pinned: marks().filter((vote) => !isCast(vote)) };
};

const aroundNow = (world: World, nowMs: number): number =>
  nowMs + (chance(world, 0.12) ? pick(world, [2_000, 2_001, 90_000, -1, -30_000, -20 * hourMs]) : 0);

const anyVote = (world: World, target: EntityRef, nowMs: number): Item => {
  const user = pick(world, voters);
  const atMs = aroundNow(world, nowMs);
  world.cast.push({ user, atMs });
  if (world.cast.length > 20) world.cast.shift();
  world.itags += 2;
  const itags = [world.itags - 1, world.itags].map((tag) => `0192-${String(tag).padStart(8, '0')}`);
  const vote = { kind: 'vote', target, user, upvote: chance(world, 0.7), atMs, itags } as const;
  const digits = pick(world, [1, 51, 61, 64]);
  const source = chance(world, 0.5) ? {} : { source: pick(world, ['a', 'x.Y_9~-', '7', 'z'.repeat(64)]) };
  const from = chance(world, 0.3) ? {} : { origin: String(upTo(world, 10)).repeat(digits) };
  return { ...vote, ...from, ...source };
};

const anyAdjust = (world: World, target: EntityRef, nowMs: number): AdjustItem => {
  const state = world.model.shards[target.shard]?.slots.get(target.address)?.state;
  const sequence = Math.max(1, (state?.adjustment ?? 0) + pick(world, [1, 1, 1, 1, 0, 2]));
  const marks = () => world.cast.filter(() => chance(world, 0.3));
  return {
    kind: 'adjust',
    target,
    sequence,
    upvotes: upTo(world, 8) - 4,
    downvotes: upTo(world, 4) - 2,
    releaseBeforeMs: chance(world, 0.2) ? nowMs - upTo(world, 3) * hourMs : 0,
    release: marks(),
    pinned: marks(),
  };
};

const anyItem = (world: World, shard: Shard, nowMs: number): Item => {
  const target = anyTarget(world, shard);
  const known = world.model.shards[shard]?.slots.get(target.address);
  if (!known?.state && chance(world, 0.2)) return anyRemember(world, target);
  if (!known?.state && chance(world, 0.7)) return anyInit(world, target, nowMs);
  const random = world.random();
  if (random < 0.35) return anyVote(world, target, nowMs);
  if (random < 0.5) return { kind: 'click', target, visitor: pick(world, visitors) };
  if (random < 0.55) return { kind: 'invite', target };
  if (random < 0.62) return anyStats(world, target, nowMs);
  if (random < 0.75 && target.kind === 'bot')
    return chance(world, 0.2) ? { kind: 'liveness', target } : anyParts(world, target, nowMs);
  if (random < 0.85) return anyAdjust(world, target, nowMs);
  if (random < 0.93) {
    const revision = Math.max(0, (known?.state?.facts.revision ?? 0) + pick(world, [1, 1, 0, -1]));
    return { kind: 'facts', target, facts: anyFacts(world, nowMs, revision), atMs: aroundNow(world, nowMs) };
  }
  if (random < 0.96) return anyInit(world, target, nowMs);
  if (random < 0.97) return anyRemember(world, target);
  return { kind: 'forget', target };
};

const anyStats = (world: World, target: EntityRef, nowMs: number): Item => ({
  kind: 'stats',
  target,
  atMs: aroundNow(world, nowMs),
  ...pickPost((values) => pick(world, values)),
});

/** Few shard counts and ids, so that tables fill, switch and are replaced. */
const anyParts = (world: World, target: EntityRef, nowMs: number): Item => {
  const shardCount = pick(world, [1, 2, 3, 3, 5]);
  const maybe = <Value>(value: Value): Value | undefined => (chance(world, 0.7) ? value : undefined);
  const ids = Array.from({ length: shardCount }, (_, id) => id).filter(() => chance(world, 0.6));
  const generation = world.model.shards[target.shard]?.generation ?? 0;
  return {
    kind: 'parts',
    target,
    atMs: aroundNow(world, nowMs),
    shardCount,
    parts: (ids.length === 0 ? [0] : ids).map((id) => ({
      id,
      servers: maybe(pick(world, [0, 7, 2 ** 39 - 1])),
      users: maybe(upTo(world, 1_000)),
      status: maybe(pick(world, presenceStatuses)),
    })),
    cluster: maybe(pick(world, ['', 'eu-1'])),
    ...(ids.length < 2 && (ids[0] ?? 0) === 0 && chance(world, 0.1) && { orTotals: true }),
    ...(chance(world, 0.1) && { lostAt: { generation, version: 1 } }),
  };
};

/** Sometimes an item as it is resent. Its position is in no row, because only Redis keeps rows' positions. */
const maybeLost = (world: World, item: Item): Item => {
  if (!['stats', 'click', 'invite', 'vote', 'parts'].includes(item.kind) || chance(world, 0.95)) return item;
  const copies = producers.map((producer) => ({ producer, sequence: 1 + upTo(world, 60) }));
  return { ...item, lostAt: { generation: 1e9, version: 1, copies: copies.slice(upTo(world, 3)) } };
};

const anyBatch = (world: World, shard: Shard, nowMs: number): Batch => {
  const producer = pick(world, producers);
  const key = `${shard} ${producer}`;
  const last = world.model.shards[shard]?.producers.get(producer)?.sequence ?? 0;
  const newest = world.sent.get(key);
  if (newest && chance(world, 0.1)) return newest;
  const sequence = Math.max(1, last + (chance(world, 0.08) ? pick(world, [-1, 0, 2, 3]) : 1));
  const items = Array.from({ length: upTo(world, 6) }, () => maybeLost(world, anyItem(world, shard, nowMs)));
  // Two votes of one user in one batch: only the first may pass.
  const vote = items.find((item) => item.kind === 'vote');
  if (vote?.kind === 'vote' && chance(world, 0.4)) {
    items.push({ ...vote, itags: vote.itags.map((itag) => `${itag}-again`) });
  }
  const batch = { shard, producer, sequence, items };
  if (sequence === last + 1) world.sent.set(key, batch);
  return batch;
};

const anyReceipt = (world: World): FlushReceipt => {
  const shard = world.model.shards[pick(world, usedShards)];
  const entities: FlushReceipt['entities'][number][] = [];
  for (const [address, { incarnation, state }] of shard?.slots ?? []) {
    const name = names.find(({ kind, id }) => toAddress(kind, id) === address);
    if (!state || !name || chance(world, 0.3)) continue;
    const ref = refOf(name.kind, name.id, incarnation - (chance(world, 0.1) ? 1 : 0));
    const version = state.version - (chance(world, 0.3) ? 1 : 0);
    const { generation: now } = shard as NonNullable<typeof shard>;
    const generation = now - (chance(world, 0.2) ? 1 : 0);
    entities.push({ ref, generation, version, flushedVotes: upTo(world, 20) - 10 });
    if (chance(world, 0.2))
      entities.push({ ref, generation, version: state.version - upTo(world, 2), flushedVotes: 1 });
  }
  const tagged = [...(shard?.outbox.values() ?? [])].filter(() => chance(world, 0.6));
  return { entities, votes: tagged.map(({ itag, ref }) => ({ itag, shard: ref.shard })) };
};

/** When the parts of some bot are due to be judged, 0 for never. */
const findDueMs = ({ model }: World): number => {
  const states = usedShards.flatMap((shard) => [...(model.shards[shard]?.slots.values() ?? [])]);
  const dueMs = states.find(({ state }) => state?.parts !== undefined)?.state?.parts?.dueMs ?? 0;
  return dueMs < limits.counterMax ? dueMs : 0;
};

/** To 1 ms before, at or after the end of a recent vote's wait; else some minutes or hours. */
const anyWait = (world: World, nowMs: number): number => {
  const vote = world.cast.at(-1 - upTo(world, 4));
  if (vote && chance(world, 0.5)) {
    const { standard, premium, weekend } = rules.windows;
    const edgeMs = vote.atMs + pick(world, [standard, premium, weekend]).waitMs + pick(world, [-1, 0, 1]);
    if (edgeMs > nowMs) return edgeMs - nowMs;
  }
  const dueMs = findDueMs(world);
  if (dueMs > nowMs && chance(world, 0.4)) return dueMs - nowMs + pick(world, [-1, 0, 1]);
  return pick(world, [1, 1_000, 299_999, 300_001, hourMs, 5 * hourMs, 13 * hourMs]);
};

/** The shard's current position, or an earlier one. */
const anyClear = (world: World): Operation => {
  const shard = pick(world, usedShards);
  const { generation = 0, version = 0 } = world.model.shards[shard] ?? {};
  return { verb: 'clear', places: [{ shard, generation, version: version - pick(world, [0, 1]) }] };
};

/** The operations of one seed. Call `next` only after the last operation was applied to the model. */
export const generate = (seed: number, model: HotModel): Generator => {
  const world: World = { model, random: createRandom(seed).next, sent: new Map(), cast: [], itags: 0 };
  let first = true;
  const raise = (shards: readonly Shard[]): Operation => ({
    verb: 'publish',
    generations: shards.map((shard) => ({
      shard,
      generation: Math.max(1, (model.shards[shard]?.generation ?? 0) + pick(world, [0, 1, 3])),
    })),
  });
  return {
    next(nowMs) {
      const wasFirst = first;
      first = false;
      if (wasFirst) return raise(usedShards.slice(chance(world, 0.2) ? 1 : 0));
      const empty = usedShards.find((shard) => model.shards[shard]?.generation === 0);
      if (empty !== undefined && chance(world, 0.2)) return raise([empty]);
      const random = world.random();
      if (random < 0.68) {
        const shards = usedShards.filter((_, index) => index === 0 || chance(world, 0.4));
        return { verb: 'commit', batches: shards.map((shard) => anyBatch(world, shard, nowMs)) };
      }
      if (random < 0.82) return { verb: 'wait', milliseconds: anyWait(world, nowMs) };
      if (random < 0.9) return { verb: 'settled', receipt: anyReceipt(world) };
      if (random < 0.94) {
        const shards = [pick(world, usedShards)];
        return { verb: 'peek', entities: upTo(world, 3), votes: upTo(world, 4), shards };
      }
      if (random < 0.955) return { verb: 'sweep' };
      if (random < 0.96) return anyClear(world);
      if (random < 0.98) return raise([pick(world, usedShards)]);
      return { verb: 'reopen' };
    },
  };
};
