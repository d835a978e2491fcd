/**
 * How a slot rests in Redis: two packed rows in one value, so that a stats post reads and writes the first
 * only.
 *
 * Owns the order of the fields, the counterpart of the positions in `functions/1-slots.lua`, and the reading
 * of a reply value by value. Unsigned 64-bit values are text and stay text. No I/O.
 */
import type { Slot } from '../../../engine/entity/apply.ts';
import type { LazyState } from '../../../engine/entity/lazy-state.ts';
import { checkState } from '../../../engine/entity/snapshot.ts';
import type { HotState, PresenceStatus } from '../../../engine/entity/state.ts';
import type { Incarnation } from '../../../engine/ids.ts';
import type { Value } from './pack.ts';
import { type ByteCursor, createCursor, skip, takeFlag, takeNumber, takeRow, takeText } from './unpack.ts';

type FirstRow = readonly [
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
type RestRow = readonly [
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

/** Values of the rest; what may follow is the functions' own. */
const restLength = 11;

/** The two rows of a state that is clean. */
export const packState = (incarnation: Incarnation, state: HotState): [first: Value[], rest: Value[]] => {
  const { facts } = state;
  const first: FirstRow = [
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
  const rest: RestRow = [
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

/** What follows the incarnation in a living slot. Throws on a state that cannot be. */
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
  const length = takeRow(cursor);
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
  // The row it was initialised from is for the functions alone.
  skip(cursor, length - restLength);
  checkState(state);
  return state;
};

/** The next slot of a reply, `null` where there is none. Throws on a state that cannot be. */
export const takeSlot = (cursor: ByteCursor): Slot | null => {
  const length = takeRow(cursor);
  if (length < 0) return null;
  const incarnation = takeNumber(cursor) as Incarnation;
  return { incarnation, state: length === 1 ? null : takeState(cursor) };
};

/** A state still packed. Its bytes are kept as text: a view of them would keep the whole reply in memory. */
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

/** The state of one listing in the next slot of a reply, left packed; `null` when another or none lives. */
export const takeLazyState = (cursor: ByteCursor, incarnation: Incarnation): LazyState | null => {
  const start = cursor.at;
  const length = takeRow(cursor);
  if (length < 0) return null;
  const named = takeNumber(cursor);
  if (length === 1) return null;
  skip(cursor, 1);
  const version = takeNumber(cursor);
  skip(cursor, length - 3);
  const left = takeRow(cursor);
  const flushedVotes = takeNumber(cursor);
  skip(cursor, 6);
  const votes = takeNumber(cursor) - takeNumber(cursor);
  skip(cursor, left - 9);
  if (named !== incarnation) return null;
  return new PackedState(cursor.bytes.toString('latin1', start, cursor.at), version, { votes, flushedVotes });
};
