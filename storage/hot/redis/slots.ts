/**
 * How a slot rests in Redis: two packed rows in one value, so that a stats post reads and writes the first
 * only.
 *
 * Owns the order of the fields, the counterpart of the positions in `functions/1-slots.lua`, and the reading
 * of a reply value by value. Unsigned 64-bit values are text and stay text. No I/O.
 */
import type { Slot } from '../../../engine/entity/apply.ts';
import { checkState } from '../../../engine/entity/snapshot.ts';
import type { HotState, PresenceStatus } from '../../../engine/entity/state.ts';
import type { Incarnation } from '../../../engine/ids.ts';

type Value = string | number | boolean;

/** The values of a reply, and which comes next. */
export interface Cursor {
  readonly values: readonly unknown[];
  at: number;
}
export const take = <Result>(cursor: Cursor): Result => cursor.values[cursor.at++] as Result;

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

const stateOf = (first: FirstRow, rest: RestRow): HotState => {
  const state: HotState = {
    clicks: rest[4],
    uniqueClicks: rest[5],
    inviteClicks: rest[6],
    upvotes: rest[7],
    downvotes: rest[8],
    servers: first[5],
    shards: first[6],
    users: first[7],
    shardList: first[8],
    status: first[9],
    lastStatsPostMs: first[10],
    uptime: first[11],
    totalUptime: first[12],
    uptimeCheckedMs: first[13],
    releasedBeforeMs: rest[9],
    adjustment: rest[10],
    facts: {
      revision: rest[1],
      listed: first[3],
      voteBanned: rest[2],
      premiumUntilMs: rest[3],
      listedSinceMs: first[4],
    },
    flushedVotes: rest[0],
    version: first[2],
  };
  checkState(state);
  return state;
};

/** The next slot of a reply, `null` where there is none. Throws on a state that cannot be. */
export const takeSlot = (cursor: Cursor): Slot | null => {
  const first = take<FirstRow | readonly [Incarnation] | null>(cursor);
  if (first === null) return null;
  if (first.length === 1) return { incarnation: first[0], state: null };
  return { incarnation: first[0], state: stateOf(first, take<RestRow>(cursor)) };
};
