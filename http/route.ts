/**
 * The route of an operation: one plain object from which the matcher, the checks, the handler's types, the
 * documented errors and the OpenAPI entry are derived.
 *
 * A route file holds routes and handlers of at most 12 lines. A handler gets `(app, request)` and returns a
 * `Reply`; it never sees the socket. `auth` declares what a token may do, as data that auth/authorise.ts
 * interprets, never as code.
 */
import { type Static, type TObject, type TSchema, Type } from 'typebox';
import type { DomainError, ErrorCode } from '../engine/errors.ts';
import { NoParams } from './api/shared/common.ts';
import type { App } from './app.ts';
import type { Auth, Caller } from './auth/auth.ts';
import type { LimitName } from './limits/limiter.ts';
import type { Reply } from './response/reply.ts';
import type { Caching } from './response/wire-reply.ts';
import type { RequestHeaders } from './server/wire.ts';

export type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';

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
  /** Banned users may do this too (docs/behaviour/tokens.md). */
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
  /** Parses its body, where that may be more than JSON. */
  readonly readBody?: (text: string) => unknown;
  /** The word `Bearer` may stand before the token. */
  readonly bearer?: boolean;
  /** Its handler honours `Idempotency-Key`. */
  readonly keyed?: boolean;
  /** A success may have `X-Listing-Hints`. */
  readonly hinted?: boolean;
  /** Its handler reads `X-Vote-Proof`. */
  readonly proven?: boolean;
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
  /**
   * `replaceError` also replaces what no route has answered for a path that begins with this: an unknown
   * path, another method, a stopping node. There are no parameters. One group of routes at most has it.
   */
  readonly replacesErrorsBelow?: string;
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
  /**
   * Canonical client address (docs/behaviour.md, "Client address"). Read it before the first `await`: it is
   * lost when the client disconnects.
   */
  readonly clientAddress: string;
  /** Headers as sent, `''` for none, but `null` for no `Idempotency-Key`. */
  readonly headers: Pick<
    RequestHeaders,
    'accept' | 'userAgent' | 'lastEventId' | 'idempotencyKey' | 'voteProof'
  >;
  /** By the `Accept` header, HTML is preferred to JSON, as browsers do for pages. */
  readonly prefersHtml: boolean;
  /** By the weights of the `Accept` header alone, HTML is preferred to JSON: not if both are equal. */
  readonly wantsPage: boolean;
  /** A browser fetches it ahead, and may never show it. */
  readonly isPrefetch: boolean;
  /** By the `Accept` header, CSV is preferred to JSON. */
  readonly prefersCsv: boolean;
  /** As the reply's `X-Request-Id` has it. */
  readonly requestId: string;
  /** The `traceparent` header (W3C Trace Context), `''` for none. */
  readonly traceparent: string;
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

type Optional<Whole, Name extends keyof Whole> = Omit<Whole, Name> & Partial<Pick<Whole, Name>>;

/** The fields of a route as a route file writes them; what it leaves out is as in `usualFields`. */
export type RouteDefinition<P extends TObject, Q extends TObject, B extends TSchema> = Optional<
  Omit<Route<P, Q, B>, 'name' | 'method' | 'path'>,
  keyof typeof usualFields
>;

/** The method and the path of a route, such as `GET /bots/{id}`. */
export type RoutePattern = `${Method} /${string}`;

const usualFields = { section: '', params: NoParams, caching: 'no-store', errors: [] } as const;

/** Types a route by its schemas, then erases the types so that all routes fit one table. */
export const defineRoute = <Params extends TObject, Query extends TObject, Body extends TSchema>(
  name: string,
  pattern: RoutePattern,
  route: RouteDefinition<Params, Query, Body>,
): AnyRoute => {
  const [method, path] = pattern.split(' ');
  return { ...usualFields, ...route, name, method, path } as unknown as AnyRoute;
};

/** The same for a route that anyone may call. */
export const definePublicRoute = <Params extends TObject, Query extends TObject, Body extends TSchema>(
  name: string,
  pattern: RoutePattern,
  route: Omit<RouteDefinition<Params, Query, Body>, 'auth'>,
): AnyRoute =>
  defineRoute(name, pattern, { ...route, auth: { kind: 'public' } } as RouteDefinition<Params, Query, Body>);

/** A public route that is no operation of the API, such as that of a page, a script or a text. */
export const defineDocument = <Params extends TObject, Query extends TObject>(
  name: string,
  pattern: RoutePattern,
  route: Optional<Omit<RouteDefinition<Params, Query, TSchema>, 'auth' | 'section'>, 'replies'>,
): AnyRoute =>
  definePublicRoute(name, pattern, { replies: { 200: Type.String() }, caching: 'entity', ...route });

/** The routes of one section of the API. */
export const defineRoutes = (section: string, routes: readonly AnyRoute[]): readonly AnyRoute[] =>
  routes.map((route) => ({ ...route, section }));

// biome-ignore lint/suspicious/noExplicitAny: the one erased route type.
export type AnyRoute = Route<any, any, any>;

/** Bounds of one operation's body. */
export interface BodyLimits {
  /** Bytes; the general limit of the settings applies too. */
  readonly bytesMax: number;
  /** Members of the top-level object. */
  readonly fieldsMax: number;
  /** Members, entries and empty lists or objects at all levels. */
  readonly valuesMax: number;
}
