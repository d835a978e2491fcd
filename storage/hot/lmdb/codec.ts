/**
 * How slots, decisions and outbox votes rest in LMDB: flat arrays, packed by lmdb's own MessagePack.
 *
 * Owns the order of the fields. Unsigned 64-bit values are text and stay text. A field is only ever added at
 * the end, with a default on reading; anything else is a new format (see `tables.ts`). No I/O.
 */
import type { Slot } from '../../../engine/entity/apply.ts';
import type { Decision, VoteRefusal } from '../../../engine/entity/items.ts';
import { checkState } from '../../../engine/entity/snapshot.ts';
import type { HotState, PresenceStatus } from '../../../engine/entity/state.ts';
import type { EntityAddress, Incarnation } from '../../../engine/ids.ts';
import { parseEntityRef } from '../../../engine/ids.ts';
import type { OutboxVote } from '../../../engine/ports.ts';

/** A slot and its place in the dirty index: the version it is filed under, 0 when it is clean. */
export interface StoredSlot {
  readonly slot: Slot;
  readonly since: number;
}

/**
 * 0 incarnation, 1 since, 2 version, 3 flushedVotes, 4–8 facts, 9–24 totals. A buried listing ends after 0.
 */
export type SlotRow = readonly (number | string | boolean)[];

export const packSlot = ({ slot, since }: StoredSlot): SlotRow => {
  const { incarnation, state } = slot;
  if (state === null) return [incarnation];
  const { facts } = state;
  return [
    incarnation,
    since,
    state.version,
    state.flushedVotes,
    facts.revision,
    facts.listed,
    facts.voteBanned,
    facts.premiumUntilMs,
    facts.listedSinceMs,
    state.clicks,
    state.uniqueClicks,
    state.inviteClicks,
    state.upvotes,
    state.downvotes,
    state.servers,
    state.shards,
    state.users,
    state.shardList,
    state.status,
    state.lastStatsPostMs,
    state.uptime,
    state.totalUptime,
    state.uptimeCheckedMs,
    state.releasedBeforeMs,
    state.adjustment,
  ];
};

export const unpackSlot = (row: SlotRow): StoredSlot => {
  const incarnation = row[0] as Incarnation;
  if (row.length === 1) return { slot: { incarnation, state: null }, since: 0 };
  const state: HotState = {
    clicks: row[9] as number,
    uniqueClicks: row[10] as number,
    inviteClicks: row[11] as number,
    upvotes: row[12] as number,
    downvotes: row[13] as number,
    servers: row[14] as string,
    shards: row[15] as string,
    users: row[16] as string,
    shardList: row[17] as string,
    status: row[18] as PresenceStatus | '',
    lastStatsPostMs: row[19] as number,
    uptime: row[20] as number,
    totalUptime: row[21] as number,
    uptimeCheckedMs: row[22] as number,
    releasedBeforeMs: row[23] as number,
    adjustment: row[24] as number,
    facts: {
      revision: row[4] as number,
      listed: row[5] as boolean,
      voteBanned: row[6] as boolean,
      premiumUntilMs: row[7] as number,
      listedSinceMs: row[8] as number,
    },
    flushedVotes: row[3] as number,
    version: row[2] as number,
  };
  checkState(state);
  return { slot: { incarnation, state }, since: row[1] as number };
};

const plainKinds = ['applied', 'absent', 'forgotten', 'gap', 'behind', 'overflow'] as const;
const refusals: readonly VoteRefusal[] = ['wait', 'not_listed', 'vote_banned', 'clock_ahead', 'clock_behind'];

/**
 * A number per plain decision, [count] per accepted vote, [reason, retryAtMs] per refused one; a count when
 * all are `applied`.
 */
export type DecisionsRow = number | readonly (number | readonly number[])[];

export const packDecisions = (decisions: readonly Decision[]): DecisionsRow => {
  if (decisions.every((decision) => decision.kind === 'applied')) return decisions.length;
  return decisions.map((decision) => {
    if (decision.kind === 'voted') return [decision.count];
    if (decision.kind === 'refused') return [refusals.indexOf(decision.reason), decision.retryAtMs];
    return plainKinds.indexOf(decision.kind);
  });
};

const plainDecisions = plainKinds.map((kind): Decision => Object.freeze({ kind }));

/** The decision without words of its own that has this number. */
export const toPlainDecision = (code: number): Decision => plainDecisions[code] as Decision;

export const toRefusedDecision = (code: number, retryAtMs: number): Decision => {
  return { kind: 'refused', reason: refusals[code] as VoteRefusal, retryAtMs };
};

export const unpackDecisions = (row: DecisionsRow): readonly Decision[] => {
  if (typeof row === 'number') return new Array<Decision>(row).fill(toPlainDecision(0));
  return row.map((code): Decision => {
    if (typeof code === 'number') return toPlainDecision(code);
    const [first = 0, retryAtMs] = code;
    return retryAtMs === undefined ? { kind: 'voted', count: first } : toRefusedDecision(first, retryAtMs);
  });
};

export type OutboxRow = readonly [EntityAddress, Incarnation, string, boolean, number, number];

export const packOutbox = (vote: Omit<OutboxVote, 'itag'>): OutboxRow => [
  vote.ref.address,
  vote.ref.incarnation,
  vote.user,
  vote.upvote,
  vote.atMs,
  vote.voteNumber,
];

export const unpackOutbox = (itag: string, row: OutboxRow): OutboxVote => {
  const [address, incarnation, user, upvote, atMs, voteNumber] = row;
  return { itag, ref: parseEntityRef(address, incarnation), user, upvote, atMs, voteNumber };
};

/** A visitor as eight bytes, in the set's own order. */
export const packVisitor = (visitor: string): Buffer => {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigInt64BE(BigInt(visitor));
  return bytes;
};
