/**
 * Takes one request through the checks to its handler and back, in the one order that is documented
 * (docs/behaviour.md, "Order of checks"): route, method, rate limit, token, kind, banned, path user,
 * size/JSON/ validation, entity 404, permission 403, then the handler (state 409, wait 429).
 *
 * Stages are module-level functions that take the call; each runs on synchronously while nothing has to be
 * waited for, so a hot request creates no promise here. Every way out is `finish` or `fail`, and each
 * answers once. Called by server.ts through facade.ts; calls the row's handler and nothing below it.
 */
import { DomainError } from '../../engine/errors.ts';
import { authenticate } from '../auth/authenticate.ts';
import { admitCaller, authorise } from '../auth/authorise.ts';
import type { StoredSession } from '../auth/ports.ts';
import { buildErrorReply, outcomeAdvice } from '../response/errors.ts';
import { renderErrorReply, renderReply } from '../response/wire-reply.ts';
import type { Reply } from '../route.ts';
import type { BodyFault, Exchange } from '../server/exchange.ts';
import { parseBody } from './body.ts';
import { Call, type CallEvents } from './call.ts';
import { type CompiledRoute, checkBody, checkParams, nameParams, readQuery } from './check.ts';
import type { DispatchContext } from './dispatch-context.ts';

/** Whether the connection ends with this reply: its framing is not to be built upon, or we are leaving. */
const isLastReply = (call: Call): boolean => {
  const { headers } = call.exchange;
  const tooLong = headers.contentLength > call.context.bodyBytesMax;
  return headers.chunked || tooLong || call.bodyFault !== null || call.context.isLeaving();
};

const recordAnswer = (call: Call, status: number): void => {
  if (call.isWaiting) call.context.deadlines.finish(call);
  call.isWaiting = false;
  call.answered = true;
  const elapsedMs = call.context.app.clock.monotonicMs() - call.startedMs;
  call.context.meters.recordAnswer(call.compiled?.index ?? -1, status, elapsedMs);
};

const logFailure = (call: Call, error: unknown): void => {
  const { exchange, compiled, context } = call;
  context.logger.error(
    { request_id: exchange.requestId, row: compiled?.route.name, err: error },
    'request failed',
  );
};

/** Answers with an error. Never throws; does nothing when the call was answered or the client left. */
const fail = (call: Call, error: unknown, extra = ''): void => {
  const { exchange } = call;
  const reply = buildErrorReply(error, exchange.requestId);
  if (reply.log) logFailure(call, error);
  if (!exchange.open) return;
  recordAnswer(call, reply.status);
  const limits = (error instanceof DomainError && error.headers) || call.limitLines;
  const close = isLastReply(call) || exchange.headers.framingFault !== '' || reply.code === 'body_too_large';
  const { cors } = call.context;
  const context = { origin: exchange.headers.origin, cors, close };
  exchange.send(renderErrorReply(context, { ...reply, headers: reply.headers + limits + extra }));
};

const finish = (call: Call, reply: Reply): void => {
  const { exchange } = call;
  const { route } = call.compiled as CompiledRoute;
  const { headers } = exchange;
  const wire = renderReply(
    {
      isRead: route.method === 'GET',
      caching: route.caching,
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

/** Goes on with `next` when `promise` is fulfilled, unless the call was answered meanwhile. */
const waitFor = <T>(call: Call, promise: Promise<T>, next: (call: Call, value: T) => void): void => {
  const { deadlines } = call.context;
  if (call.compiled?.route.callsOutbound === true) deadlines.startOutbound(call);
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

const runHandler = (call: Call): void => {
  const { route } = call.compiled as CompiledRoute;
  call.handlerStarted = true;
  const result = route.handle(call.context.app, call);
  if (!(result instanceof Promise)) {
    finish(call, result);
    return;
  }
  if (route.method === 'GET') void call.clientAddress; // Kept now: it cannot be read once the client left.
  waitFor(call, result, finish);
};

const checkPermission = (call: Call): void => {
  const { caller, params, body } = call;
  const { auth } = (call.compiled as CompiledRoute).route;
  if (caller === null) {
    runHandler(call);
    return;
  }
  const looking = authorise(call.context.permissions, auth, { caller, params, body });
  if (looking === null) runHandler(call);
  else waitFor(call, looking, runHandler);
};

const bodyFaultErrors = {
  too_large: ['body_too_large', 'The body is too large.'],
  not_utf8: ['malformed_json', 'The body is not UTF-8.'],
  too_slow: ['malformed_request', 'The body did not arrive in time.'],
} as const;

const refuseBody = (fault: BodyFault): DomainError => {
  if (fault === 'no_room') {
    const words = `Too many bodies are arriving at the moment. ${outcomeAdvice.not_applied}`;
    return new DomainError('overloaded', words, { outcome: 'not_applied' }, 1);
  }
  const [code, words] = bodyFaultErrors[fault];
  return new DomainError(code, words);
};

/** Size, JSON and validation; everything of the request itself is in order afterwards. */
const checkRequest = (call: Call): void => {
  const compiled = call.compiled as CompiledRoute;
  const { headers } = call.exchange;
  if (headers.contentEncoding !== '' && headers.contentEncoding.toLowerCase() !== 'identity') {
    throw new DomainError('content_encoding_unsupported', 'Compressed request bodies are not read.');
  }
  if (call.bodyFault !== null) throw refuseBody(call.bodyFault);
  checkParams(compiled, call.params);
  call.query = readQuery(compiled, call.exchange.queryText);
  if (compiled.route.body !== undefined) {
    call.body = parseBody(call.bodyText, compiled.route.bodyLimits);
    checkBody(compiled, call.body, call.bodyText.length);
  }
  compiled.route.check?.(call);
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

const admitSession = (call: Call, session: StoredSession): void => {
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
  const session = authenticate(context.sessions, exchange.headers);
  if (session instanceof Promise) waitFor(call, session, admitSession);
  else admitSession(call, session);
};

const continueAfterLimit = (call: Call, limitLines: string): void => {
  call.limitLines = limitLines;
  identify(call);
};

const replyPreflight = (call: Call, allow: string): void => {
  recordAnswer(call, 204);
  const headers = call.context.cors.preflightLines(allow);
  call.exchange.send({ status: 204, headers, body: null, close: isLastReply(call) });
};

/** Route, method, rate limit; starts to gather the body, which comes before the first await or never. */
const openCall = (call: Call): void => {
  const { context, exchange } = call;
  const { headers } = exchange;
  if (headers.framingFault !== '') throw new DomainError('malformed_request', headers.framingFault);
  context.screen?.(exchange);
  if (context.isDraining()) {
    throw new DomainError(
      'draining',
      'This node is shutting down. Please try again.',
      { outcome: 'not_applied' },
      1,
    );
  }
  const found = context.matcher.find(exchange.method, exchange.path);
  if (found === null) throw new DomainError('route_not_found', 'There is no such path.');
  if (exchange.method === 'OPTIONS') {
    replyPreflight(call, found.allow);
    return;
  }
  if (found.route === undefined) {
    const error = new DomainError('method_not_allowed', `Allowed here: ${found.allow}.`);
    fail(call, error, `\r\nAllow: ${found.allow}`);
    return;
  }
  const { route } = found.route;
  call.compiled = found.route;
  call.params = nameParams(found.route, found.values);
  if (route.body !== undefined) {
    exchange.collectBody(
      Math.min(context.bodyBytesMax, route.bodyLimits?.bytesMax ?? context.bodyBytesMax),
      call,
    );
  }
  context.guard?.(route, call);
  if (route.limit === undefined || route.limit === 'stats') {
    identify(call);
    return;
  }
  const lines = context.limiter.takeShared(route.limit, call.clientAddress, call.startedMs);
  if (lines instanceof Promise) waitFor(call, lines, continueAfterLimit);
  else continueAfterLimit(call, lines);
};

/**
 * A passed deadline: what the handler does may still take effect, so the outcome of what counts is unknown.
 */
const expireCall = (call: Call, during: 'reading' | 'working'): void => {
  if (during === 'reading') {
    call.bodyFault = 'too_slow';
    fail(call, new DomainError('malformed_request', bodyFaultErrors.too_slow[1]));
    return;
  }
  const counts = call.compiled?.route.method !== 'GET' || call.query.target !== undefined;
  const outcome = counts && call.handlerStarted ? 'unknown' : 'not_applied';
  const words = `The request took too long. ${outcomeAdvice[outcome]}`;
  fail(call, new DomainError('deadline_passed', words, { outcome }, 1));
};

const resumeCall = (call: Call): void => {
  if (!call.admitted || !call.exchange.open) return;
  try {
    checkRequest(call);
  } catch (error) {
    fail(call, error);
  }
};

/** The client left: 499 exists in the meters only. */
const abandonCall = (call: Call): void => {
  if (!call.answered) recordAnswer(call, 499);
};

const callEvents: CallEvents = { onBody: resumeCall, onExpired: expireCall, onClientGone: abandonCall };

/** Answers one exchange, now or later. Never throws. */
export const dispatch = (context: DispatchContext, exchange: Exchange): void => {
  const call = new Call(context, exchange, callEvents);
  context.runs?.(call.startedMs);
  exchange.setOwner(call);
  try {
    openCall(call);
  } catch (error) {
    fail(call, error);
  }
};
