/**
 * Merges posts about single shards of a bot (*parts*) into its totals, and judges which parts are live.
 *
 * A table is the set of parts of one shard count. The sums of the current table are the bot's totals. Another
 * shard count begins a table that counts for nothing (`building`) until all its parts were seen, none has
 * been added for `switchMs`, or the current table has no live part: so a total does not fall because clusters
 * restart, the shard count changes or the store lost its data. A part that stops posting is stale after
 * `staleMs`, which the status shows, and gone after `goneMs`, which the sums show. A post changes the sums by
 * the difference of its parts, so its cost does not grow with the table. Pure. The same rules in Lua:
 * `storage/hot/redis/functions/3-parts.lua`.
 *
 * In Lua, too: 3-parts.lua (ARCHITECTURE.md, *Rules in two languages*).
 */
import { limits } from '../limits.ts';
import type { PartsItem, PartsRules, PartsSwitch, PostedPart } from './items.ts';
import { type Part, type PartsState, type PartsTable, presenceStatuses, type Totals } from './state.ts';

/** The stored parts of the entity, as the batch sees them. */
export interface PartsLookups {
  part(shardCount: number, id: number): Part | null;
  parts(shardCount: number): ReadonlyMap<number, Part>;
}

export interface PartsContext extends PartsLookups {
  /** The store's clock. */
  readonly nowMs: number;
  readonly rules: PartsRules;
}

/** A write besides the state; `null` removes a part. They apply in order. */
export type PartsEffect =
  | { readonly kind: 'part'; readonly shardCount: number; readonly id: number; readonly part: Part | null }
  | { readonly kind: 'drop_parts'; readonly shardCount: number };

export type PartsHolder = Totals & { readonly parts?: PartsState };

export interface PartsOutcome {
  /** The fields of the state that change; `null` for none. */
  readonly changes: Partial<PartsHolder> | null;
  readonly effects: readonly PartsEffect[];
  readonly switched: PartsSwitch | null;
  /** The posted parts belong to a replaced table and were not merged. */
  readonly refused: boolean;
}

const offline = presenceStatuses.indexOf('offline');

type OpenTable = { -readonly [Name in keyof PartsTable]: PartsTable[Name] } & { live: number[] };

/** The parts of one entity while one item changes them. */
interface PartsWork {
  readonly context: PartsContext;
  readonly effects: PartsEffect[];
  /** What `effects` changed, by shard count. */
  readonly written: Map<number, Map<number, Part | null>>;
  readonly dropped: Set<number>;
  current: OpenTable | null;
  building: OpenTable | null;
  replaced: number;
  dueMs: number;
  switched: PartsSwitch | null;
  /** The totals must be written again. */
  counted: boolean;
  /** New numbers of servers in the current table, by id. */
  readonly servers: Map<number, number>;
  /** Which numbers the post contains. */
  readonly named: { servers: boolean; users: boolean };
  /** The totals that the bot shows. */
  readonly shown: { servers: string; users: string };
}

const openTable = (table: PartsTable | null): OpenTable | null =>
  table === null ? null : { ...table, live: [...table.live] };

const openWork = (state: PartsHolder, context: PartsContext): PartsWork => ({
  context,
  effects: [],
  written: new Map(),
  dropped: new Set(),
  current: openTable(state.parts?.current ?? null),
  building: openTable(state.parts?.building ?? null),
  replaced: state.parts?.replaced ?? 0,
  dueMs: state.parts?.dueMs ?? limits.counterMax,
  switched: null,
  counted: false,
  servers: new Map(),
  named: { servers: false, users: false },
  shown: { servers: state.servers, users: state.users },
});

const readPart = (work: PartsWork, shardCount: number, id: number): Part | null => {
  const written = work.written.get(shardCount)?.get(id);
  if (written !== undefined) return written;
  return work.dropped.has(shardCount) ? null : work.context.part(shardCount, id);
};

const listParts = (work: PartsWork, shardCount: number): ReadonlyMap<number, Part> => {
  const parts = new Map(work.dropped.has(shardCount) ? [] : work.context.parts(shardCount));
  for (const [id, part] of work.written.get(shardCount) ?? []) {
    if (part === null) parts.delete(id);
    else parts.set(id, part);
  }
  return parts;
};

const writePart = (work: PartsWork, write: Omit<PartsEffect & { kind: 'part' }, 'kind'>): void => {
  const { shardCount, id, part } = write;
  work.effects.push({ kind: 'part', ...write });
  const written = work.written.get(shardCount) ?? new Map<number, Part | null>();
  work.written.set(shardCount, written.set(id, part));
};

const dropTable = (work: PartsWork, shardCount: number): void => {
  work.effects.push({ kind: 'drop_parts', shardCount });
  work.written.delete(shardCount);
  work.dropped.add(shardCount);
};

/** Adds a part to the sums of its table, or with -1 subtracts it. */
const addToSums = (table: OpenTable, part: Part, sign: 1 | -1): void => {
  table.seen += sign;
  table.servers += sign * part.servers;
  table.users += sign * part.users;
  if (part.live) (table.live[presenceStatuses.indexOf(part.status)] as number) += sign;
};

/** Counts the live parts of a table. */
export const countLive = ({ live }: PartsTable): number => live.reduce((sum, count) => sum + count, 0);

/** Counts the live parts of a table that have not said that they are offline. */
const countRunning = (table: PartsTable): number => countLive(table) - (table.live[offline] as number);

/**
 * Whether the building table may not come into force yet: it has no live part, or it has at most half as many
 * shards as the current table while most shards of that one still run. So a developer's machine does not
 * replace a fleet.
 */
const isHeldBack = (building: PartsTable, current: PartsTable): boolean =>
  countLive(building) === 0 ||
  (building.shardCount * 2 <= current.shardCount && countRunning(current) * 2 > current.shardCount);

/** Finds why the building table comes into force now; `null` if it does not. */
const findSwitch = ({ current, building, replaced, context }: PartsWork): PartsSwitch | null => {
  if (building === null || (current !== null && isHeldBack(building, current))) return null;
  if (building.seen === building.shardCount) return 'complete';
  // A few forgotten processes of the former shard count must not win by time alone: that table must be
  // complete while the current one still runs.
  const isFormer = current !== null && building.shardCount === replaced && countRunning(current) > 0;
  if (!isFormer && context.nowMs - building.sinceMs >= context.rules.switchMs) return 'time';
  return current !== null && countLive(current) === 0 ? 'idle' : null;
};

const switchTables = (work: PartsWork): void => {
  const reason = findSwitch(work);
  if (reason === null) return;
  if (work.current !== null) dropTable(work, work.current.shardCount);
  work.replaced = work.current?.shardCount ?? 0;
  work.current = work.building;
  work.building = null;
  work.switched = reason;
  work.counted = true;
};

/** Judges all parts of a table and sums it up again. */
const judgeTable = (work: PartsWork, table: OpenTable | null): void => {
  if (table === null) return;
  const { nowMs, rules } = work.context;
  Object.assign(table, { seen: 0, servers: 0, users: 0, live: presenceStatuses.map(() => 0) });
  for (const [id, stored] of listParts(work, table.shardCount)) {
    const ageMs = nowMs - stored.atMs;
    const live = stored.live && ageMs <= rules.staleMs;
    const part = ageMs > rules.goneMs ? null : live === stored.live ? stored : { ...stored, live };
    if (part !== stored) {
      writePart(work, { shardCount: table.shardCount, id, part });
      if (table === work.current) {
        work.counted = true;
        work.servers.set(id, part?.servers ?? 0);
      }
    }
    if (part === null) continue;
    addToSums(table, part, 1);
    work.dueMs = Math.min(work.dueMs, stored.atMs + (live ? rules.staleMs : rules.goneMs) + 1);
  }
};

const judgeTables = (work: PartsWork): void => {
  const { current, building } = work;
  const known = { servers: (current?.servers ?? 0) > 0, users: (current?.users ?? 0) > 0 };
  work.dueMs = limits.counterMax;
  judgeTable(work, current);
  judgeTable(work, building);
  if (building?.seen === 0) {
    dropTable(work, building.shardCount);
    work.building = null;
  }
  switchTables(work);
  waitForSwitch(work);
  showSums(work, work.current === current ? known : unnamed);
};

/** Sets when a waiting table is judged by time. Later, only a stale part or a post can change anything. */
const waitForSwitch = (work: PartsWork): void => {
  if (work.building === null) return;
  const switchAtMs = work.building.sinceMs + work.context.rules.switchMs;
  if (switchAtMs > work.context.nowMs) work.dueMs = Math.min(work.dueMs, switchAtMs);
};

const unnamed = { servers: false, users: false };

/** Shows the sums of the current table. A total stays as it was if no post has contained that number. */
const showSums = ({ current, shown }: PartsWork, named: PartsWork['named']): void => {
  if (current === null) return;
  if (named.servers || current.servers > 0) shown.servers = String(current.servers);
  if (named.users || current.users > 0) shown.users = String(current.users);
};

const buildList = (work: PartsWork, { shardCount }: PartsTable): string => {
  const entries = new Array<number>(shardCount).fill(0);
  for (const [id, { servers }] of listParts(work, shardCount)) entries[id] = servers;
  return entries.join(',');
};

/** Lists the servers by shard id; `list` is the list before this item. */
const renderList = (work: PartsWork, table: PartsTable, list: string): string => {
  if (work.servers.size === 0 && work.switched === null) return list;
  const entries = list.split(',');
  if (work.switched !== null || entries.length !== table.shardCount) return buildList(work, table);
  for (const [id, servers] of work.servers) entries[id] = String(servers);
  return entries.join(',');
};

const closeWork = (work: PartsWork, state: PartsHolder, refused = false): PartsOutcome => {
  const { current, building, replaced, dueMs, effects, switched } = work;
  const parts = { current, building, replaced, dueMs };
  if (current === null || !work.counted) return { changes: { parts }, effects, switched, refused };
  const best = current.live.findIndex((count) => count > 0);
  const changes = {
    parts,
    ...work.shown,
    shards: String(current.shardCount),
    shardList: renderList(work, current, state.shardList),
    status: best < 0 ? 'offline' : presenceStatuses[best],
  } as const;
  return { changes, effects, switched, refused };
};

const unchanged: PartsOutcome = { changes: null, effects: [], switched: null, refused: false };

/** Judges the parts of an entity if that is due. Repeating it at the same time changes nothing. */
export const judgeParts = (state: PartsHolder, context: PartsContext): PartsOutcome => {
  if (state.parts === undefined || state.parts.dueMs > context.nowMs) return unchanged;
  const work = openWork(state, context);
  judgeTables(work);
  return closeWork(work, state);
};

/**
 * Computes the time of a post by the store's clock: at most now, and at most `limits.clockBehindMaxMs` ago,
 * so that a node's wrong clock makes no part stale. A post that the store lost keeps its original time.
 */
export const computePostedMs = (atMs: number, { nowMs, lost }: { nowMs: number; lost: boolean }): number =>
  Math.min(nowMs, lost ? atMs : Math.max(atMs, nowMs - limits.clockBehindMaxMs));

const findTable = ({ current, building }: PartsWork, shardCount: number): OpenTable | null =>
  [current, building].find((table) => table?.shardCount === shardCount) ?? null;

/** Whether the store has parts of this shard count. */
export const hasPartsOf = ({ parts }: PartsHolder, shardCount: number): boolean =>
  [parts?.current, parts?.building].some((table) => table?.shardCount === shardCount && table.seen > 0);

/** Whether the current table seems to be in use. While it is, the former shard count is refused. */
const isInUse = ({ current, context }: PartsWork, lastPostMs: number): boolean =>
  current !== null && countRunning(current) > 0 && context.nowMs - lastPostMs < limits.formerCountQuietMs;

/** Begins a table. It replaces another one that is building. */
const beginTable = (work: PartsWork, shardCount: number, sinceMs: number): OpenTable => {
  if (work.building !== null) dropTable(work, work.building.shardCount);
  // The store may still have parts of an earlier table of this size.
  dropTable(work, shardCount);
  const live = presenceStatuses.map(() => 0);
  work.building = { shardCount, sinceMs, seen: 0, servers: 0, users: 0, live };
  waitForSwitch(work);
  return work.building;
};

/** Puts a posted part into its table, unless the table has a newer one. Returns whether it did. */
const mergePart = (
  work: PartsWork,
  table: OpenTable,
  { posted, cluster, atMs }: { posted: PostedPart; cluster: string | undefined; atMs: number },
): boolean => {
  const before = readPart(work, table.shardCount, posted.id);
  if (before !== null && atMs < before.atMs) return false;
  const part: Part = {
    atMs,
    servers: posted.servers ?? before?.servers ?? 0,
    users: posted.users ?? before?.users ?? 0,
    status: posted.status ?? before?.status ?? 'online',
    live: true,
    cluster: cluster ?? before?.cluster ?? '',
  };
  if (before !== null) addToSums(table, before, -1);
  else table.sinceMs = Math.max(table.sinceMs, atMs);
  addToSums(table, part, 1);
  if (posted.servers !== undefined) work.named.servers = true;
  if (posted.users !== undefined) work.named.users = true;
  writePart(work, { shardCount: table.shardCount, id: posted.id, part });
  if (table === work.current && part.servers !== (before?.servers ?? 0))
    work.servers.set(posted.id, part.servers);
  return true;
};

/** Merges a post. `atMs`: see `computePostedMs`; `lost`: the store applied the post before and lost it. */
export const mergeParts = (
  state: PartsHolder,
  { item, atMs, lost }: { item: PartsItem; atMs: number; lost: boolean },
  context: PartsContext,
): PartsOutcome => {
  const work = openWork(state, context);
  const isDue = work.dueMs <= context.nowMs;
  if (isDue) judgeTables(work);
  const { shardCount, cluster } = item;
  const known = findTable(work, shardCount);
  if (known === null) {
    const refused = shardCount === work.replaced && isInUse(work, state.lastStatsPostMs);
    // A resent post must not begin a table that a newer post of totals has ended.
    if (refused || (lost && atMs < state.lastStatsPostMs))
      return isDue ? closeWork(work, state, refused) : { ...unchanged, refused };
  }
  const table = known ?? beginTable(work, shardCount, atMs);
  let merged = false;
  for (const posted of item.parts) merged = mergePart(work, table, { posted, cluster, atMs }) || merged;
  if (!merged) return isDue ? closeWork(work, state) : unchanged;
  if (table === work.current) work.counted = true;
  work.dueMs = Math.min(work.dueMs, atMs + context.rules.staleMs + 1);
  switchTables(work);
  showSums(work, table === work.current ? work.named : unnamed);
  const outcome = closeWork(work, state);
  return {
    ...outcome,
    changes: { ...outcome.changes, lastStatsPostMs: Math.max(state.lastStatsPostMs, atMs) },
  };
};

/** Lists the effects of ending the mode: a post of totals has the last word. */
export const dropAllParts = ({ current, building }: PartsState): readonly PartsEffect[] =>
  [current, building].flatMap((table) =>
    table === null ? [] : [{ kind: 'drop_parts', shardCount: table.shardCount }],
  );
