/**
 * The engine's only door. Routes, jobs and the operator's side call these functions and nothing below them.
 *
 * Every function that changes a number promises *hot* when its promise resolves. Failures are `DomainError`s
 * in the client's words: `not_found`, `overloaded`, `deadline_passed`, `store_unavailable`, `draining` (the
 * last four carry `context.outcome`: `not_applied` or `unknown`).
 */

import type { VoteRefusal } from './entity/items.ts';
import type { HotState, PresenceStatus } from './entity/state.ts';
import type { VoteWindow } from './entity/windows.ts';
import type { EntityKind, EntityRef } from './ids.ts';

/** What readers see: committed state only, uptime folded to now. */
export interface EntityView {
  readonly ref: EntityRef;
  readonly state: HotState;
}

/** Fields of one stats post; absent ones stay as they are. Integers as decimal strings. */
export interface StatsPost {
  readonly servers?: string;
  readonly shards?: string;
  readonly users?: string;
  readonly shardList?: readonly string[];
  readonly status?: PresenceStatus;
}

export interface VoteRequest {
  readonly kind: EntityKind;
  readonly id: string;
  readonly user: string;
  readonly upvote: boolean;
}
export type VoteOutcome =
  | { readonly kind: 'voted'; readonly count: number }
  | { readonly kind: 'refused'; readonly reason: VoteRefusal; readonly waitMs: number };

/**
 * A user's standing with an entity: the window in force now, the time left (0 when he may vote), and when he
 * may: a shorter window may begin before this one is over.
 */
export interface VoteStatus {
  readonly view: EntityView;
  readonly window: VoteWindow;
  readonly votedAtMs: number;
  readonly waitMs: number;
  readonly freeAtMs: number;
}

export interface EngineHealth {
  readonly ready: boolean;
  /** Short words for `/readyz`: what is wrong, or what is weaker than it should be. */
  readonly notes: readonly string[];
}

export interface Engine {
  /** The committed view: at once when the actor is live, else after its activation. */
  read(kind: EntityKind, id: string): EntityView | Promise<EntityView>;
  /** Hot when it resolves. Resolves to the view that contains the post. */
  postStats(botId: string, post: StatsPost): Promise<EntityView>;
  /**
   * Counts a page view of an entity just read; returns at once, the click is in the next batch (a tick
   * behind, under load `limits.gatherUnawaitedMs`).
   */
  countClick(view: EntityView, clientAddress: string): void;
  /** Counts an invite click, as `countClick` does. */
  countInvite(view: EntityView): void;
  vote(request: VoteRequest): Promise<VoteOutcome>;
  readVoteStatus(kind: EntityKind, id: string, user: string): Promise<VoteStatus>;
  /** Resolves when every vote hot before the call is in the ledger; `deadline_passed` after 1 s. */
  waitForFlush(kind: EntityKind, id: string): Promise<void>;
  /**
   * After an edit changed what counting depends on: sends the ledger's facts. Hot. A no-op for entities never
   * activated.
   */
  refreshFacts(kind: EntityKind, id: string): Promise<void>;
  /**
   * After the ledger recorded adjustments (void, delete, reset): delivers what is open for this entity. Hot.
   */
  deliverAdjustments(kind: EntityKind, id: string): Promise<void>;
  /**
   * This process did not run for a while, so other nodes may have changed what is in memory here: every read
   * from now on waits until the hot store has said what they changed, for `limits.recheckMsMax` at the most.
   * Does nothing on stores of its own.
   */
  suspectStale(): void;
  readHealth(): EngineHealth;
  /**
   * Loads generations, publishes missing ones, starts the flusher. Throws words for the operator when stores
   * contradict each other.
   */
  start(): Promise<void>;
  /**
   * Refuses new work, answers what is in flight, flushes the backlog to the ledger. Resolves by `deadlineMs`.
   */
  drain(deadlineMs: number): Promise<void>;
}
