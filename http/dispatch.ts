/**
 * Takes one request through the checks to its handler and back, in the one order that is documented
 * (docs/behaviour.md, "Order of checks"): route, method, rate limit, token, kind, banned, path user,
 * size/JSON/ validation, entity 404, permission 403, then the handler (state 409, wait 429).
 *
 * Stages are module-level functions that take the call; each runs on synchronously while nothing has to be
 * waited for, so a hot request creates no promise here. Every way out is `finish` or `fail`, and each
 * answers once. Called by server.ts through facade.ts; calls the row's handler and nothing below it.
 */
import { DomainError } from '../engine/errors.ts';
import { authenticate } from './auth/authenticate.ts';
import { admitCaller, authorise } from './auth/authorise.ts';
import type { SessionRecord } from './auth/ports.ts';
import { parseBody } from './body.ts';
import { Call, type CallEvents } from './call.ts';
import { type CompiledRow, checkBody, checkParams, nameParams, readQuery } from './check.ts';
import type { DispatchContext } from './context.ts';
import { adviceFor, errorReply } from './errors.ts';
import type { BodyFault, Exchange } from './exchange.ts';
import { RateLimited } from './limits/limiter.ts';
import { wireError, wireReply } from './reply.ts';
import type { Reply } from './route.ts';

/** Whether the connection ends with this reply: its framing is not to be built upon, or we are leaving. */
const closes = (call: Call): boolean => {
  const { headers } = call.exchange;
  const tooLong = headers.contentLength > call.context.bodyBytesMax;
  return headers.chunked || tooLong || call.bodyFault !== null || call.context.leaving();
};

const leave = (call: Call, status: number): void => {
  if (call.waits) call.context.deadlines.done(call);
  call.waits = false;
  call.answered = true;
  const elapsedMs = call.context.app.clock.monotonicMs() - call.startedMs;
  call.context.meters.answered(call.compiled?.index ?? -1, status, elapsedMs);
};

const log = (call: Call, error: unknown): void => {
  const { exchange, compiled, context } = call;
  context.logger.error(
    { request_id: exchange.requestId, row: compiled?.row.name, err: error },
    'request failed',
  );
};

/** Answers with an error. Never throws; does nothing when the call was answered or the client left. */
const fail = (call: Call, error: unknown, extra = ''): void => {
  const { exchange } = call;
  const reply = errorReply(error, exchange.requestId);
  if (reply.log) log(call, error);
  if (!exchange.open) return;
  leave(call, reply.status);
  const limits = error instanceof RateLimited ? error.headers : call.limitLines;
  const close = closes(call) || exchange.headers.framingFault !== '' || reply.code === 'body_too_large';
  const { cors } = call.context;
  const context = { origin: exchange.headers.origin, cors, close };
  exchange.send(wireError(context, { ...reply, headers: reply.headers + limits + extra }));
};

const finish = (call: Call, reply: Reply): void => {
  const { exchange } = call;
  const { row } = call.compiled as CompiledRow;
  const { headers } = exchange;
  const wire = wireReply(
    {
      reading: row.method === 'GET',
      caching: row.caching,
      priv: call.caller !== null || call.query.target !== undefined,
      ifNoneMatch: headers.ifNoneMatch,
      origin: headers.origin,
      cors: call.context.cors,
      limitLines: call.limitLines,
      close: closes(call),
    },
    reply,
  );
  leave(call, wire.status);
  exchange.send(wire);
};

/** Goes on with `next` when `promise` is fulfilled, unless the call was answered meanwhile. */
const wait = <T>(call: Call, promise: Promise<T>, next: (call: Call, value: T) => void): void => {
  const { deadlines } = call.context;
  if (call.compiled?.row.asksOutside === true) deadlines.ask(call);
  else deadlines.work(call);
  call.waits = true;
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

const perform = (call: Call): void => {
  const { row } = call.compiled as CompiledRow;
  call.acting = true;
  const result = row.handle(call.context.app, call);
  if (!(result instanceof Promise)) {
    finish(call, result);
    return;
  }
  if (row.method === 'GET') void call.clientAddress; // Kept now: it cannot be read once the client left.
  wait(call, result, finish);
};

const permit = (call: Call): void => {
  const { caller, params, body } = call;
  const { auth } = (call.compiled as CompiledRow).row;
  if (caller === null) {
    perform(call);
    return;
  }
  const looking = authorise(call.context.permissions, auth, { caller, params, body });
  if (looking === null) perform(call);
  else wait(call, looking, perform);
};

const faultWords = {
  too_large: ['body_too_large', 'The body is too large.'],
  not_utf8: ['malformed_json', 'The body is not UTF-8.'],
  too_slow: ['malformed_request', 'The body did not arrive in time.'],
} as const;

const refuseBody = (fault: BodyFault): DomainError => {
  if (fault === 'no_room') {
    const words = `Too many bodies are arriving at the moment. ${adviceFor.not_applied}`;
    return new DomainError('overloaded', words, { outcome: 'not_applied' }, 1);
  }
  const [code, words] = faultWords[fault];
  return new DomainError(code, words);
};

/** Size, JSON and validation; everything of the request itself is in order afterwards. */
const examine = (call: Call): void => {
  const compiled = call.compiled as CompiledRow;
  const { headers } = call.exchange;
  if (headers.contentEncoding !== '' && headers.contentEncoding.toLowerCase() !== 'identity') {
    throw new DomainError('content_encoding_unsupported', 'Compressed request bodies are not read.');
  }
  if (call.bodyFault !== null) throw refuseBody(call.bodyFault);
  checkParams(compiled, call.params);
  call.query = readQuery(compiled, call.exchange.queryText);
  if (compiled.row.body !== undefined) {
    call.body = parseBody(call.bodyText, compiled.row.bodyLimits);
    checkBody(compiled, call.body, call.bodyText.length);
  }
  compiled.row.check?.(call);
  permit(call);
};

const awaitBody = (call: Call): void => {
  call.admitted = true;
  const { row } = call.compiled as CompiledRow;
  if (row.body === undefined || call.bodyDone) {
    examine(call);
    return;
  }
  call.context.deadlines.read(call);
  call.waits = true;
};

const admit = (call: Call, session: SessionRecord): void => {
  const { row } = call.compiled as CompiledRow;
  admitCaller(row.auth, session, { params: call.params, bannedAllowed: row.bannedAllowed === true });
  call.caller = session;
  if (row.limit === 'stats') {
    call.limitLines = call.context.limiter.take('stats', session.sessionId, call.startedMs);
  }
  awaitBody(call);
};

const identify = (call: Call): void => {
  const { row } = call.compiled as CompiledRow;
  const { context, exchange } = call;
  if (row.auth.word === 'public') {
    awaitBody(call);
    return;
  }
  const session = authenticate(context.sessions, exchange.headers);
  if (session instanceof Promise) wait(call, session, admit);
  else admit(call, session);
};

const counted = (call: Call, limitLines: string): void => {
  call.limitLines = limitLines;
  identify(call);
};

const preflight = (call: Call, allow: string): void => {
  leave(call, 204);
  const headers = call.context.cors.preflightLines(allow);
  call.exchange.send({ status: 204, headers, body: null, close: closes(call) });
};

/** Route, method, rate limit; starts to gather the body, which comes before the first await or never. */
const open = (call: Call): void => {
  const { context, exchange } = call;
  const { headers } = exchange;
  if (headers.framingFault !== '') throw new DomainError('malformed_request', headers.framingFault);
  context.screen?.(exchange);
  if (context.draining()) {
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
    preflight(call, found.allow);
    return;
  }
  if (found.row === undefined) {
    const error = new DomainError('method_not_allowed', `Allowed here: ${found.allow}.`);
    fail(call, error, `\r\nAllow: ${found.allow}`);
    return;
  }
  const { row } = found.row;
  call.compiled = found.row;
  call.params = nameParams(found.row, found.values);
  if (row.body !== undefined) {
    exchange.collect(Math.min(context.bodyBytesMax, row.bodyLimits?.bytesMax ?? context.bodyBytesMax), call);
  }
  context.guard?.(row, call);
  if (row.limit === undefined || row.limit === 'stats') {
    identify(call);
    return;
  }
  const lines = context.limiter.takeShared(row.limit, call.clientAddress, call.startedMs);
  if (lines instanceof Promise) wait(call, lines, counted);
  else counted(call, lines);
};

/**
 * A passed deadline: what the handler does may still take effect, so the outcome of what counts is unknown.
 */
const expire = (call: Call, during: 'reading' | 'working'): void => {
  if (during === 'reading') {
    call.bodyFault = 'too_slow';
    fail(call, new DomainError('malformed_request', faultWords.too_slow[1]));
    return;
  }
  const counts = call.compiled?.row.method !== 'GET' || call.query.target !== undefined;
  const outcome = counts && call.acting ? 'unknown' : 'not_applied';
  const words = `The request took too long. ${adviceFor[outcome]}`;
  fail(call, new DomainError('deadline_passed', words, { outcome }, 1));
};

const resume = (call: Call): void => {
  if (!call.admitted || !call.exchange.open) return;
  try {
    examine(call);
  } catch (error) {
    fail(call, error);
  }
};

/** The client left: 499 exists in the meters only. */
const abandon = (call: Call): void => {
  if (!call.answered) leave(call, 499);
};

const events: CallEvents = { bodyReady: resume, expired: expire, gone: abandon };

/** Answers one exchange, now or later. Never throws. */
export const dispatch = (context: DispatchContext, exchange: Exchange): void => {
  const call = new Call(context, exchange, events);
  context.runs?.(call.startedMs);
  exchange.watch(call);
  try {
    open(call);
  } catch (error) {
    fail(call, error);
  }
};
