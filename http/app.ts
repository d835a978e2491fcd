/**
 * The parts of the node that handlers use, as the composition root (ops/) passes them in.
 */

import type { Engine } from '../engine/engine.ts';
import type { EntityKind } from '../engine/ids.ts';
import type { Clock } from '../engine/ports.ts';
import type { OriginEncoder } from '../engine/rules/vote-origin.ts';
import type { Note } from '../engine/tools/notes.ts';
import type { Catalogue } from '../storage/catalogue/catalogue.ts';
import type { SecretBox } from '../storage/catalogue/webhooks/secrets.ts';
import type { BadgeCache } from './api/badges/badge-cache.ts';
import type { HistoryCache } from './api/history/history-cache.ts';
import type { VoteLogWaiters } from './api/shared/vote-log-waiters.ts';
import type { VoteProof } from './api/shared/vote-proof.ts';
import type { Login } from './auth/login-state.ts';
import type { SessionCache } from './auth/sessions.ts';
import type { Feed } from './feed/interface.ts';
import type { BotLookup } from './outbound/bot-lookup.ts';
import type { PushClient } from './outbound/push.ts';
import type { WebhookSender } from './outbound/webhooks/send.ts';
import type { VoteTraces } from './outbound/webhooks/traces.ts';
import type { NodeCounts } from './telemetry/counts.ts';
import type { NodeStatus } from './telemetry/node-status.ts';

/** The parts of the node that handlers use. */
export interface App {
  readonly engine: Engine;
  readonly catalogue: Catalogue;
  /** Removes a revoked session, or all sessions of a deleted entity, from the session cache. */
  readonly sessions: Pick<SessionCache, 'forget' | 'forgetTarget'>;
  readonly clock: Clock;
  /** `null` when no login provider is configured. */
  readonly login: Login | null;
  readonly botLookup: BotLookup;
  /** What the node counts since its start, for its metrics. */
  readonly counts: NodeCounts;
  readonly voteLogWaiters: VoteLogWaiters;
  /** `null` when voters need no proof of a human. */
  readonly voteProof: VoteProof | null;
  /** `null` if where votes come from is not kept. */
  readonly encodeOrigin: OriginEncoder | null;
  /** Gets each counted page view; `null` as above. */
  readonly noteView: ((incarnation: number, address: string, agent: string) => void) | null;
  readonly feed: Feed;
  readonly webhooks: WebhookAccess;
  readonly badges: BadgeCache;
  readonly history: HistoryCache;
  readonly push: Pick<PushClient, 'publicKey' | 'findEndpointFault'>;
  readonly settings: FacadeSettings;
  /** The live nodes of the fleet as of their last heartbeats, this one included. */
  readonly listNodes: () => readonly NodeStatus[];
  /** Lets a job of this node run now: there is work for it. */
  readonly wakeJob: (job: 'void_plans') => void;
  /** Notes beside those of the engine; the node stays ready. */
  readonly listWarnings: () => readonly Note[];
  /** Whether the public listener drains, or is about to. */
  readonly isDraining: () => boolean;
}

/** What handlers need for webhooks beside the catalogue. */
export interface WebhookAccess {
  readonly sender: Pick<WebhookSender, 'open'>;
  readonly secrets: SecretBox;
  /** Remembers the trace of a vote that was accepted just now, for its webhook. */
  readonly recordTrace: VoteTraces['record'];
  /**
   * Whether this listing may have an enabled endpoint; late by seconds on other nodes than the one that
   * edited it. One look-up in memory, none when no endpoint exists.
   */
  isWatched(kind: EntityKind, id: string): boolean;
  /** Call after an endpoint was created, changed or deleted here. */
  onEdited(): void;
  /** Call after deliveries were queued here. */
  onQueued(): void;
}

/** Settings of the facade that handlers read. */
export interface FacadeSettings {
  /** 64 hex digits; `''` when the operator has set none. */
  readonly secretsKey: string;
  readonly sessionsPerEntityMax: number;
  readonly bodyBytesMax: number;
  readonly teamsPerUserMax: number;
  readonly membersPerTeamMax: number;
  readonly packsPerUserMax: number;
  readonly remindersPerUserMax: number;
  readonly pushSubscriptionsPerUserMax: number;
  readonly webhooks: 'on' | 'off';
  readonly webhooksPerEntityMax: number;
  readonly webhookAddresses: 'public' | 'public-http' | 'any';
  /** Minutes between samples of the history; 0 when it is off. */
  readonly historyFineMinutes: number;
  readonly historyFineHours: number;
  readonly historyHourDays: number;
}
