/**
 * The form of a slot in Redis: two packed arrays in one value, so that a stats post reads and writes only the
 * first.
 *
 * Owns the order of the fields, which must match the positions in `functions/1-slots.lua`, and reads the
 * slots of a reply. Unsigned 64-bit values are text and stay text. No I/O. Used by codec.ts, store.ts and
 * backlog.ts.
 */
import type { Slot } from '../../../engine/entity/apply.ts';
import type { LazyState } from '../../../engine/entity/lazy-state.ts';
import { checkState } from '../../../engine/entity/snapshot.ts';
import type { HotState, PresenceStatus } from '../../../engine/entity/state.ts';
import type { Incarnation } from '../../../engine/ids.ts';
import type { Value } from './pack.ts';
import { readPartsState } from './parts-state.ts';
import {
  type ByteCursor,
  createCursor,
  skip,
  takeArray,
  takeBytes,
  takeFlag,
  takeNumber,
  takeText,
} from './unpack.ts';

type FirstArray = readonly [
  incarnation: Incarnation,
  since: number,
  version: number,
  listed: boolean,
  listedSinceMs: number,
  servers: string,
  shards: string,
  users: string,
  shardList: string,
  status: PresenceStatus | '',
  lastStatsPostMs: number,
  uptime: number,
  totalUptime: number,
  uptimeCheckedMs: number,
];
type RestArray = readonly [
  flushedVotes: number,
  revision: number,
  voteBanned: boolean,
  premiumUntilMs: number,
  clicks: number,
  uniqueClicks: number,
  inviteClicks: number,
  upvotes: number,
  downvotes: number,
  releasedBeforeMs: number,
  adjustment: number,
];

/** Values of the rest that this program reads always; further ones are the SQL row, then the parts if any. */
const restLength = 11;
const restLengthWithParts = 14;

/** Packs a clean state into its two arrays. */
export const packState = (incarnation: Incarnation, state: HotState): [first: Value[], rest: Value[]] => {
  const { facts } = state;
  const first: FirstArray = [
    incarnation,
    0,
    state.version,
    facts.listed,
    facts.listedSinceMs,
    state.servers,
    state.shards,
    state.users,
    state.shardList,
    state.status,
    state.lastStatsPostMs,
    state.uptime,
    state.totalUptime,
    state.uptimeCheckedMs,
  ];
  const rest: RestArray = [
    state.flushedVotes,
    facts.revision,
    facts.voteBanned,
    facts.premiumUntilMs,
    state.clicks,
    state.uniqueClicks,
    state.inviteClicks,
    state.upvotes,
    state.downvotes,
    state.releasedBeforeMs,
    state.adjustment,
  ];
  return [[...first], [...rest]];
};

/** Reads what follows the incarnation in a slot with a state. Throws on an invalid state. */
const takeState = (cursor: ByteCursor): HotState => {
  skip(cursor, 1);
  const version = takeNumber(cursor);
  const listed = takeFlag(cursor);
  const listedSinceMs = takeNumber(cursor);
  const servers = takeText(cursor);
  const shards = takeText(cursor);
  const users = takeText(cursor);
  const shardList = takeText(cursor);
  const status = takeText(cursor) as PresenceStatus | '';
  const lastStatsPostMs = takeNumber(cursor);
  const uptime = takeNumber(cursor);
  const totalUptime = takeNumber(cursor);
  const uptimeCheckedMs = takeNumber(cursor);
  const length = takeArray(cursor);
  const flushedVotes = takeNumber(cursor);
  const revision = takeNumber(cursor);
  const voteBanned = takeFlag(cursor);
  const premiumUntilMs = takeNumber(cursor);
  const state: HotState = {
    clicks: takeNumber(cursor),
    uniqueClicks: takeNumber(cursor),
    inviteClicks: takeNumber(cursor),
    upvotes: takeNumber(cursor),
    downvotes: takeNumber(cursor),
    servers,
    shards,
    users,
    shardList,
    status,
    lastStatsPostMs,
    uptime,
    totalUptime,
    uptimeCheckedMs,
    releasedBeforeMs: takeNumber(cursor),
    adjustment: takeNumber(cursor),
    facts: { revision, listed, voteBanned, premiumUntilMs, listedSinceMs },
    flushedVotes,
    version,
  };
  // The SQL row it was initialised from follows; only the Lua functions use it.
  if (length >= restLengthWithParts) return addParts(state, cursor);
  skip(cursor, length - restLength);
  checkState(state);
  return state;
};

/** The list of shards is padded while a bot has a current table (`functions/3-parts.lua`). */
const addParts = (state: HotState, cursor: ByteCursor): HotState => {
  skip(cursor, restLengthWithParts - restLength - 1);
  const parts = readPartsState(takeBytes(cursor));
  const shardList = parts.current === null ? state.shardList : state.shardList.replaceAll(' ', '');
  const withParts = { ...state, shardList, parts };
  checkState(withParts);
  return withParts;
};

/** Reads the next slot of a reply; `null` for an empty one. Throws on an invalid state. */
export const takeSlot = (cursor: ByteCursor): Slot | null => {
  const length = takeArray(cursor);
  if (length < 0) return null;
  const incarnation = takeNumber(cursor) as Incarnation;
  return { incarnation, state: length === 1 ? null : takeState(cursor) };
};

/**
 * A state that is unpacked at first use. Stores its bytes as text: a view would keep the whole reply in
 * memory.
 */
class PackedState implements LazyState {
  readonly version: number;
  readonly votes: number;
  readonly flushedVotes: number;
  private packed: string;
  private state: HotState | null = null;

  constructor(packed: string, version: number, { votes, flushedVotes }: Votes) {
    this.version = version;
    this.votes = votes;
    this.flushedVotes = flushedVotes;
    this.packed = packed;
  }

  read(): HotState {
    if (this.state === null) {
      const { state } = takeSlot(createCursor(Buffer.from(this.packed, 'latin1'))) as Slot;
      this.state = state as HotState;
      this.packed = '';
    }
    return this.state;
  }
}

interface Votes {
  readonly votes: number;
  readonly flushedVotes: number;
}

/**
 * Reads the next slot of a reply without unpacking its state; `null` if it does not hold this listing's
 * state.
 */
export const takeLazyState = (cursor: ByteCursor, incarnation: Incarnation): LazyState | null => {
  const start = cursor.at;
  const length = takeArray(cursor);
  if (length < 0) return null;
  const storedIncarnation = takeNumber(cursor);
  if (length === 1) return null;
  skip(cursor, 1);
  const version = takeNumber(cursor);
  skip(cursor, length - 3);
  const restValues = takeArray(cursor);
  const flushedVotes = takeNumber(cursor);
  skip(cursor, 6);
  const votes = takeNumber(cursor) - takeNumber(cursor);
  skip(cursor, restValues - 9);
  if (storedIncarnation !== incarnation) return null;
  return new PackedState(cursor.bytes.toString('latin1', start, cursor.at), version, { votes, flushedVotes });
};
