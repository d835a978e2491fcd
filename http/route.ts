/**
 * The route of an operation: one plain object from which the matcher, the checks, the handler's types, the
 * documented errors and the OpenAPI entry are derived.
 *
 * A route file holds routes and handlers of at most 12 lines. A handler gets `(app, request)` and returns a
 * `Reply`; it never sees the socket. `auth` declares what a token may do, as data that auth/authorise.ts
 * interprets, never as code.
 */
import type { Static, TObject, TSchema } from 'typebox';
import type { Engine } from '../engine/engine.ts';
import type { DomainError, ErrorCode } from '../engine/errors.ts';
import type { EntityKind } from '../engine/ids.ts';
import type { Clock } from '../engine/ports.ts';
import type { Permission } from '../engine/rules/permissions.ts';
import type { TokenKind } from '../engine/rules/token.ts';
import type { Catalogue } from '../storage/catalogue/catalogue.ts';
import type { SecretBox } from '../storage/catalogue/webhooks/secrets.ts';
import type { Login } from './auth/login-state.ts';
import type { SessionCache } from './auth/sessions.ts';
import type { Feed } from './feed/interface.ts';
import type { BadgeCache } from './handlers/badge-cache.ts';
import type { HistoryCache } from './handlers/history-cache.ts';
import type { VoteLogWaiters } from './handlers/vote-log-waiters.ts';
import type { BotLookup } from './outbound/bot-lookup.ts';
import type { PushClient } from './outbound/push.ts';
import type { WebhookSender } from './outbound/webhooks/send.ts';
import type { BodyLimits } from './request/body.ts';
import { NoParams } from './schema/common.ts';
import type { OpenPush } from './server/push-connection.ts';
import type { DirectoryMeters } from './telemetry/directory-meters.ts';
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
  readonly meters: DirectoryMeters;
  readonly voteLogWaiters: VoteLogWaiters;
  readonly feed: Feed;
  readonly webhooks: WebhookAccess;
  readonly badges: BadgeCache<Reply>;
  readonly history: HistoryCache;
  readonly push: Pick<PushClient, 'publicKey' | 'findEndpointFault'>;
  readonly settings: FacadeSettings;
  /** The live nodes of the fleet as of their last heartbeats, this one included. */
  readonly listNodes: () => readonly NodeStatus[];
  /** Guarantees of the stores that are weaker than they should be now; the node stays ready. */
  readonly listWarnings: () => readonly string[];
}

/** What handlers need for webhooks beside the catalogue. */
export interface WebhookAccess {
  readonly sender: Pick<WebhookSender, 'open'>;
  readonly secrets: SecretBox;
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

export type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';

/** The authenticated caller. */
export interface Caller {
  readonly kind: TokenKind;
  readonly id: string;
  readonly sessionId: string;
  readonly sessionType: 'login' | 'api';
  /** Permission ids the session is limited to; empty is unlimited. */
  readonly limits: readonly string[];
  /** The user it acts for may not vote. Part of the session, so that a vote needs no SQL query. */
  readonly voteBanned: boolean;
}

/**
 * What a route requires of the caller, in order of the checks (docs/behaviour.md, "Order of checks"):
 * - `public`: tokens are ignored, even bad ones;
 * - `bot`: any bot token, limited or not;
 * - `self`: an unlimited user session of the user named by the path parameter `user`;
 * - `user`: an unlimited user session;
 * - `kinds`: one of `kinds`; a limited session must have `permission` among its limits;
 * - `owner`: as `kinds`, and the caller must be able to own what the body describes: an unlimited user
 *   session, a team token, or a user who holds `permission` in the team named by the body's field `field`;
 * - `entity`: one of `kinds`, and `permission` on the entity named by the path parameters `type` and `id`
 *   (a user acting on themselves, an entity's own token, the token of the owning team, or a team member who
 *   holds it).
 *   With `unless`, an unlimited session of the user named by that path parameter needs no permission. With
 *   `user`, that path parameter must name the caller. With `into`, a permission in a team is needed too.
 */
export type Auth =
  | { readonly kind: 'public' }
  | { readonly kind: 'bot' }
  | { readonly kind: 'user' }
  | { readonly kind: 'self'; readonly user: string }
  | { readonly kind: 'kinds'; readonly kinds: readonly TokenKind[]; readonly permission: Permission }
  | ({ readonly kind: 'owner'; readonly kinds: readonly TokenKind[] } & TeamInBody)
  | {
      readonly kind: 'entity';
      readonly kinds: readonly TokenKind[];
      readonly permission: Permission;
      /** Path parameter with the kind of entity, or the kind itself as `=bot`. */
      readonly type: string;
      /** Path parameter with the entity's id. */
      readonly id: string;
      /** Path parameter with a user who needs no permission here; the handler decides what they may do. */
      readonly unless?: string;
      /** Path parameter with the caller's own id. */
      readonly user?: string;
      readonly into?: TeamInBody;
    };

/** A team named in the body, and the permission needed in it. */
export interface TeamInBody {
  readonly field: string;
  readonly permission: Permission;
}

/** Names of the rate limits (docs/behaviour.md, "Rate limits"). */
export type LimitName =
  | 'login'
  | 'bot_create'
  | 'bot_meta'
  | 'auth_test'
  | 'stats'
  | 'vote_log'
  | 'bot_shards'
  | 'badge'
  | 'history'
  | 'feed'
  | 'webhook_edit'
  | 'webhook_test'
  | 'webhook_view';

/** How a reply may be cached: `no-store` with a token, else `no-cache` + ETag, or `max-age` for lists. */
export type Caching = 'no-store' | 'entity' | 'list';

export interface Route<
  Params extends TObject = TObject,
  Query extends TObject = TObject,
  Body extends TSchema = TSchema,
> {
  /** camelCase, unique; the OpenAPI operationId. */
  readonly name: string;
  readonly method: Method;
  /** `{name}` stands for one whole segment, `@{name}` for a segment that starts with an at sign. */
  readonly path: string;
  /** Contract section, the OpenAPI tag. */
  readonly section: string;
  readonly summary: string;
  readonly description?: string;
  readonly auth: Auth;
  readonly limit?: LimitName;
  /** Banned users may do this too (docs/behaviour.md, "Tokens"). */
  readonly bannedAllowed?: boolean;
  /** Its handler calls an external service, so it may take `limits.outboundDeadlineMs`. */
  readonly callsOutbound?: boolean;
  /** Its handler may wait for something to happen, up to `limits.longPollMs`. */
  readonly longPoll?: boolean;
  readonly caching: Caching;
  readonly params: Params;
  readonly query?: Query;
  readonly body?: Body;
  /** Bounds of its body, where they differ from `usualBodyLimits`. */
  readonly bodyLimits?: BodyLimits;
  /** A success is a stream of server-sent events. */
  readonly events?: boolean;
  /** What a client may send where it speaks WebSocket. */
  readonly messages?: TSchema;
  /** A success may also be an SVG picture. */
  readonly pictures?: boolean;
  /** A success may also be a table as CSV; this is an example of one. */
  readonly table?: string;
  /** Schemas of success replies by status; `null` for no body. Each schema carries `examples`. */
  readonly replies: Readonly<Record<number, TSchema | null>>;
  /** Codes beyond those that follow from its shape (`listErrorCodes` in openapi/document.ts). */
  readonly errors: readonly ErrorCode[];
  /**
   * Rules about the request alone that a schema cannot express. Runs after validation and before any entity
   * is looked up (so before 404 and 403); throws a `DomainError`.
   */
  readonly check?: (request: RouteRequest<Params, Query, Body>) => void;
  /**
   * A reply for this URL that needs no checks, `null` for none. Runs right after the route was matched, so it
   * is not counted by the rate limit. `nowMs` is monotonic.
   */
  readonly findReady?: (app: App, url: string, nowMs: number) => Reply | null;
  readonly handle: (app: App, request: RouteRequest<Params, Query, Body>) => Reply | Promise<Reply>;
  /**
   * Replaces the reply of an error, `null` to keep it. Where the error came before the checks, the parameters
   * are unchecked and the query is empty.
   */
  readonly replaceError?: (
    app: App,
    request: RouteRequest<Params, Query, Body>,
    error: DomainError,
  ) => Reply | null;
}

/** The request as handlers get it: checked, coerced and typed. */
export interface RouteRequest<Params extends TObject, Query extends TObject, Body extends TSchema> {
  readonly params: Static<Params>;
  readonly query: Static<Query>;
  /** Path and query as sent. */
  readonly url: string;
  readonly body: Static<Body>;
  /** The body as sent, `''` for none: for integers beyond 2^53, which parsing rounds. */
  readonly bodyText: string;
  /** `null` on public routes. */
  readonly caller: Caller | null;
  /** The name of the operator at the private listener, `''` at the public one. */
  readonly operator: string;
  /** Canonical client address (docs/behaviour.md, "Client address"). */
  readonly clientAddress: string;
  /** The `User-Agent` header as sent, `''` for none. */
  readonly userAgent: string;
  /** By the `Accept` header, HTML is preferred to JSON, as browsers do for pages. */
  readonly prefersHtml: boolean;
  /** By the `Accept` header, CSV is preferred to JSON. */
  readonly prefersCsv: boolean;
  /** The `Last-Event-ID` header as sent, `''` for none. */
  readonly lastEventId: string;
  /** The version of the WebSocket protocol that the client offers to speak, `''` if it does not. */
  readonly socketVersion: string;
  /**
   * A page of this server, opened on the machine that it runs on, loads this. Browsers say so
   * (`Sec-Fetch-Site`), and pages of other sites cannot.
   */
  readonly fromLocalPage: boolean;
  /** A HEAD request counts nothing. */
  readonly head: boolean;
  /** Calls `listener` when the client disconnects before its answer, at once if it has. One per request. */
  readonly whenClientGone: (listener: () => void) => void;
}

/** A handler's reply: a value to serialise, text or bytes ready to send, or no body. */
export interface Reply {
  readonly status: number;
  readonly json?: unknown;
  /** Already serialised JSON, for hot and cached replies and for integers beyond 2^53. */
  readonly text?: string;
  /**
   * For a reply object that is reused: caches the ETag of its text or bytes, `''` until it is computed. With
   * it, a reply that sets its own `Cache-Control` has an ETag, too.
   */
  readonly tag?: { etag: string };
  /**
   * Already serialised JSON, or bytes, in chunks, for replies of unbounded length. The server pulls the next
   * chunk only when the socket has room, and stops pulling (`return()`) when the client disconnects. An error
   * in the middle closes the connection, so that a client never takes half a reply for a whole one.
   */
  readonly stream?: AsyncIterable<string | Uint8Array>;
  /**
   * Takes over the connection, as a WebSocket if the request is an upgrade, else as a response without end,
   * for which `headers` name the Content-Type. Not called for HEAD, nor when the client has left.
   */
  readonly push?: OpenPush;
  /** Bytes ready to send: JSON, or a document whose Content-Type `headers` name. */
  readonly bytes?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

type Optional<Whole, Name extends keyof Whole> = Omit<Whole, Name> & Partial<Pick<Whole, Name>>;

/** A route as a route file writes it; what it leaves out is as in `usualFields`. */
export type RouteDefinition<P extends TObject, Q extends TObject, B extends TSchema> = Optional<
  Omit<Route<P, Q, B>, 'method' | 'path'>,
  keyof typeof usualFields
> & {
  /** The method and the path of the route. */
  readonly pattern: `${Method} /${string}`;
};

const usualFields = { section: '', params: NoParams, caching: 'no-store', errors: [] } as const;

/** Types a route by its schemas, then erases the types so that all routes fit one table. */
export const defineRoute = <Params extends TObject, Query extends TObject, Body extends TSchema>({
  pattern,
  ...route
}: RouteDefinition<Params, Query, Body>): AnyRoute => {
  const [method, path] = pattern.split(' ');
  return { ...usualFields, ...route, method, path } as unknown as AnyRoute;
};

/** The routes of one section of the API. */
export const defineRoutes = (section: string, routes: readonly AnyRoute[]): readonly AnyRoute[] =>
  routes.map((route) => ({ ...route, section }));

// biome-ignore lint/suspicious/noExplicitAny: the one erased route type.
export type AnyRoute = Route<any, any, any>;

export const replyOk = <Json>(json: Json): Reply => ({ status: 200, json });
export const replyCreated = <Json>(json: Json): Reply => ({ status: 201, json });
export const replyText = (body: string): Reply => ({ status: 200, text: body });
export const noContent: Reply = { status: 204 };
/** ApiResponse (contract §2.1). */
export const replyMessage = (message: string, context: Record<string, string> = {}): Reply => ({
  status: 200,
  json: { message, context },
});
