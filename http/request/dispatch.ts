/**
 * Takes one request through the checks to its handler and back, in the documented order
 * (docs/behaviour.md, "Order of checks"): route, method, rate limit, token, kind, ban, path user,
 * size/JSON/validation, entity 404, permission 403, then the handler (state 409, wait 429).
 *
 * Each stage is a module-level function that takes the call and continues synchronously unless it has to
 * wait, so a hot request creates no promise here. Every path ends in `finish` or `fail`, and a call is
 * answered once.
 */
import { DomainError } from '../../engine/errors.ts';
import type { SessionOfToken } from '../../storage/catalogue/people/sessions.ts';
import { checkKey } from '../api/shared/once.ts';
import { admitCaller, authenticate, authorise } from '../auth/authorise.ts';
import { buildErrorReply, createUnavailableError, outcomeAdvice, toDomainError } from '../response/errors.ts';
import type { Reply } from '../response/reply.ts';
import { renderErrorReply, renderReply } from '../response/wire-reply.ts';
import type { AnyRoute } from '../route.ts';
import type { BodyFault, Exchange } from '../server/exchange.ts';
import { Call, type CallEvents } from './call.ts';
import { type CompiledRoute, checkBody, checkParams, nameParams, parseBody, readQuery } from './check.ts';
import type { DispatchContext } from './dispatch-context.ts';

/** Whether the connection closes after this reply: its framing cannot be trusted, or the node is leaving. */
const isLastReply = (call: Call): boolean => {
  const { headers } = call.exchange;
  const tooLong = headers.contentLength > call.context.bodyBytesMax;
  const untrusted = headers.chunked || headers.framingFault !== '' || call.bodyFault !== null;
  return untrusted || tooLong || call.context.phase.leaving;
};

const recordAnswer = (call: Call, status: number): void => {
  if (call.isWaiting) call.context.deadlines.finish(call);
  call.isWaiting = false;
  call.answered = true;
  const elapsedMs = call.context.app.clock.monotonicMs() - call.startedMs;
  call.context.meters.recordAnswer(call.compiled?.index ?? -1, status, elapsedMs);
  if ((elapsedMs > slowRequestMs && call.compiled?.route.longPoll !== true) || call.context.logsAnswers)
    logAnswer(call, status, elapsedMs);
};

/** A request that takes longer is a warning. */
const slowRequestMs = 1_000;

const readTrace = ({ traceparent }: Call): { readonly traceparent?: string } =>
  traceparent === '' ? {} : { traceparent };

const logAnswer = (call: Call, status: number, elapsedMs: number): void => {
  const { exchange, compiled, context } = call;
  const ms = Math.round(elapsedMs * 10) / 10;
  const fields = {
    request_id: exchange.requestId,
    ...readTrace(call),
    route: compiled?.route.name ?? 'none',
    status,
    ms,
  };
  if (elapsedMs > slowRequestMs) context.logger.warn(fields, 'slow request');
  else context.logger.debug(fields, 'request');
};

const logFailure = (call: Call, error: unknown): void => {
  const { exchange, compiled, context } = call;
  context.logger.error(
    { request_id: exchange.requestId, ...readTrace(call), route: compiled?.route.name, err: error },
    'request failed',
  );
};

/** Answers with an error. Never throws; sends nothing when the call was answered or the client left. */
const fail = (call: Call, error: unknown): void => {
  const { exchange } = call;
  const shown = call.context.nameSuccessor?.(error, exchange.path) ?? error;
  const reply = buildErrorReply(shown, exchange.requestId);
  if (reply.log) logFailure(call, error);
  if (!exchange.open) return;
  const replacement = replaceError(call, call.compiled === null ? shown : error);
  if (replacement !== null) {
    finish(call, replacement);
    return;
  }
  recordAnswer(call, reply.status);
  const limits = (error instanceof DomainError && error.headers) || call.limitLines;
  const close = isLastReply(call) || reply.code === 'body_too_large';
  const { cors } = call.context;
  const context = { origin: exchange.headers.origin, cors, close };
  exchange.send(renderErrorReply(context, { ...reply, headers: reply.headers + limits }));
};

/** Lets the route, or without one the `errorRoute`, answer an error in its own way. Never throws. */
const replaceError = (call: Call, error: unknown): Reply | null => {
  const { compiled, context, exchange } = call;
  const { errorRoute } = context;
  const isBelow = exchange.path.startsWith(errorRoute?.replacesErrorsBelow ?? '\0');
  const route = compiled?.route ?? (isBelow ? errorRoute : undefined);
  if (route?.replaceError === undefined) return null;
  try {
    const domainError = toDomainError(error);
    call.limitLines = domainError.headers || call.limitLines;
    return route.replaceError(context.app, call, domainError);
  } catch (failure) {
    logFailure(call, failure);
    return null;
  }
};

const finish = (call: Call, reply: Reply): void => {
  const { exchange } = call;
  const route = call.compiled?.route;
  const { headers } = exchange;
  const wire = renderReply(
    {
      isRead: route?.method === 'GET',
      caching: route?.caching ?? 'no-store',
      isPrivate: call.caller !== null || call.query.target !== undefined,
      ifNoneMatch: headers.ifNoneMatch,
      origin: headers.origin,
      cors: call.context.cors,
      limitLines: call.limitLines,
      close: isLastReply(call),
    },
    reply,
  );
  recordAnswer(call, wire.status);
  exchange.send(wire);
};

/** Continues with `next` when `promise` is fulfilled, unless the call has been answered meanwhile. */
const waitFor = <T>(call: Call, promise: Promise<T>, next: (call: Call, value: T) => void): void => {
  const { deadlines } = call.context;
  if (call.compiled?.route.callsOutbound === true) deadlines.startOutbound(call);
  else if (call.compiled?.route.longPoll === true) deadlines.startListening(call);
  else deadlines.startWorking(call);
  call.isWaiting = true;
  promise.then(
    (value) => {
      if (!call.exchange.open) return;
      try {
        next(call, value);
      } catch (error) {
        fail(call, error);
      }
    },
    (error: unknown) => fail(call, error),
  );
};

/** Finishes a long poll. Checks the token again, because it may have been revoked during the wait. */
const finishWait = (call: Call, reply: Reply): void => {
  const { sessions } = call.context;
  const session = call.caller === null ? null : authenticate(sessions, call.exchange.headers);
  if (session instanceof Promise) waitFor(call, session, () => finish(call, reply));
  else finish(call, reply);
};

const runHandler = (call: Call): void => {
  const { context } = call;
  const { route } = call.compiled as CompiledRoute;
  call.handlerStarted = true;
  const result = route.handle(route.method === 'GET' ? context.app : context.followApp(), call);
  if (!(result instanceof Promise)) {
    finish(call, result);
    return;
  }
  waitFor(call, result, route.longPoll === true ? finishWait : finish);
};

const checkPermission = (call: Call): void => {
  const { caller, params, body } = call;
  const { auth } = (call.compiled as CompiledRoute).route;
  if (caller === null) {
    runHandler(call);
    return;
  }
  const authorisation = authorise(call.context.permissions, auth, { caller, params, body });
  if (authorisation === null) runHandler(call);
  else waitFor(call, authorisation, runHandler);
};

const findBytesMax = ({ context }: Call, { bodyLimits }: AnyRoute): number =>
  Math.min(context.bodyBytesMax, bodyLimits?.bytesMax ?? context.bodyBytesMax);

const bodyFaultErrors = {
  not_utf8: ['malformed_json', 'The body is not UTF-8.'],
  too_slow: ['malformed_request', 'The body did not arrive in time.'],
} as const;

const createBodyError = (fault: BodyFault, bytesMax: number): DomainError => {
  if (fault === 'too_large') {
    return new DomainError('body_too_large', `The body is larger than ${bytesMax} bytes.`);
  }
  if (fault === 'no_room') {
    const message = `Too many bodies are arriving at the moment. ${outcomeAdvice.not_applied}`;
    return createUnavailableError('overloaded', message, 1);
  }
  const [code, message] = bodyFaultErrors[fault];
  return new DomainError(code, message);
};

/** Checks size, JSON and schemas. Afterwards the request itself is valid. */
const checkRequest = (call: Call): void => {
  const compiled = call.compiled as CompiledRoute;
  const { headers } = call.exchange;
  if (headers.contentEncoding !== '' && headers.contentEncoding.toLowerCase() !== 'identity') {
    throw new DomainError('content_encoding_unsupported', 'Compressed request bodies are not supported.');
  }
  if (call.bodyFault !== null) throw createBodyError(call.bodyFault, findBytesMax(call, compiled.route));
  checkParams(compiled, call.params);
  call.query = readQuery(compiled, call.exchange.queryText);
  if (compiled.route.body !== undefined) {
    const { readBody, bodyLimits } = compiled.route;
    call.body = readBody?.(call.bodyText) ?? parseBody(call.bodyText, bodyLimits);
    checkBody(compiled, call.body, call.bodyText.length);
  }
  compiled.route.check?.(call);
  if (compiled.route.keyed === true) checkKey(call);
  checkPermission(call);
};

const awaitBody = (call: Call): void => {
  call.admitted = true;
  const { route } = call.compiled as CompiledRoute;
  if (route.body === undefined || call.bodyDone) {
    checkRequest(call);
    return;
  }
  call.context.deadlines.startReading(call);
  call.isWaiting = true;
};

const admitSession = (call: Call, session: SessionOfToken): void => {
  const { route } = call.compiled as CompiledRoute;
  admitCaller(route.auth, session, { params: call.params, bannedAllowed: route.bannedAllowed === true });
  call.caller = session;
  if (route.limit === 'stats') {
    call.limitLines = call.context.limiter.take('stats', session.sessionId, call.startedMs);
  }
  awaitBody(call);
};

const identify = (call: Call): void => {
  const { route } = call.compiled as CompiledRoute;
  const { context, exchange } = call;
  if (route.auth.kind === 'public') {
    awaitBody(call);
    return;
  }
  const session = authenticate(context.sessions, exchange.headers, route.bearer);
  if (session instanceof Promise) waitFor(call, session, admitSession);
  else admitSession(call, session);
};

const continueAfterLimit = (call: Call, limitLines: string): void => {
  call.limitLines = limitLines;
  identify(call);
};

const replyPreflight = (call: Call, allow: string): void => {
  recordAnswer(call, 204);
  const headers = call.context.cors.preflightLines(allow, call.headers.requestedHeaders);
  call.exchange.send({ status: 204, headers, body: null, close: isLastReply(call) });
};

/** Finds the route of a path with a slash at its end, below the paths of the `errorRoute` alone. */
const findWithoutSlash = ({ context, exchange }: Call) => {
  const below = context.errorRoute?.replacesErrorsBelow;
  const { method, path } = exchange;
  const isBelow = below !== undefined && path.startsWith(below) && path.endsWith('/');
  return isBelow ? context.matcher.find(method, path.slice(0, -1)) : null;
};

/** Checks route, method and rate limit. Starts to collect the body: that must be before the first await. */
const openCall = (call: Call): void => {
  const { context, exchange } = call;
  const { headers } = exchange;
  if (headers.framingFault !== '') throw new DomainError('malformed_request', headers.framingFault);
  context.checkHost?.(exchange);
  if (context.phase.draining)
    throw createUnavailableError('draining', 'This node is shutting down. Please try again.', 1);
  const match = context.matcher.find(exchange.method, exchange.path) ?? findWithoutSlash(call);
  if (match === null) throw new DomainError('route_not_found', 'There is no such path.');
  if (exchange.method === 'OPTIONS') {
    replyPreflight(call, match.allow);
    return;
  }
  if (match.route === undefined) {
    const allowed = `\r\nAllow: ${match.allow}`;
    throw new DomainError('method_not_allowed', `Allowed here: ${match.allow}.`, {}, 0, allowed);
  }
  const { route } = match.route;
  call.compiled = match.route;
  const ready = route.findReady?.(context.app, call.url, call.startedMs) ?? null;
  if (ready !== null) {
    finish(call, ready);
    return;
  }
  call.params = nameParams(match.route, match.values);
  if (route.body !== undefined) exchange.collectBody(findBytesMax(call, route), call);
  context.guard?.(route, call);
  if (route.limit === undefined || route.limit === 'stats') {
    identify(call);
    return;
  }
  const { limiter } = context;
  // Badges and feeds are counted by each node alone. A call of the shared store would cost more than a badge;
  // and when a node stops, all its clients open their feeds elsewhere at once.
  const limitLines =
    route.limit === 'badge' || route.limit === 'feed'
      ? limiter.take(route.limit, call.clientAddress, call.startedMs)
      : limiter.takeShared(route.limit, call.clientAddress, call.startedMs);
  if (limitLines instanceof Promise) waitFor(call, limitLines, continueAfterLimit);
  else continueAfterLimit(call, limitLines);
};

/**
 * Answers a call whose deadline passed. If its handler has started, a change may still take effect, so its
 * outcome is `unknown`.
 */
const expireCall = (call: Call, during: 'reading' | 'working'): void => {
  if (during === 'reading') {
    call.bodyFault = 'too_slow';
    fail(call, new DomainError('malformed_request', bodyFaultErrors.too_slow[1]));
    return;
  }
  const hasEffect = call.compiled?.route.method !== 'GET' || call.query.target !== undefined;
  const outcome = hasEffect && call.handlerStarted ? 'unknown' : 'not_applied';
  const message = `The request took too long. ${outcomeAdvice[outcome]}`;
  fail(call, new DomainError('deadline_passed', message, { outcome }, 1));
};

const resumeCall = (call: Call): void => {
  if (!call.admitted || !call.exchange.open) return;
  try {
    checkRequest(call);
  } catch (error) {
    fail(call, error);
  }
};

/** The client disconnected: status 499 appears in the metrics only. */
const abandonCall = (call: Call): void => {
  if (!call.answered) recordAnswer(call, 499);
};

const callEvents: CallEvents = { onBody: resumeCall, onExpired: expireCall, onClientGone: abandonCall };

/** Answers one exchange, now or later. Never throws. */
export const dispatch = (context: DispatchContext, exchange: Exchange): void => {
  const call = new Call(context, exchange, callEvents);
  context.reportRunning?.(call.startedMs);
  exchange.setOwner(call);
  try {
    openCall(call);
  } catch (error) {
    fail(call, error);
  }
};
