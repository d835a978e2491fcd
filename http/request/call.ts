/**
 * The state of one request on its way through dispatch. Handlers see it as `RouteRequest`.
 *
 * It makes no decisions: dispatch.ts does. One object per request; all fields are set in one order, so that
 * V8 keeps one shape.
 *
 * The media type of its reply follows from the `Accept` header (RFC 9110, section 12.5.1): names in any case,
 * ranges, and weights. The weight `q=0` refuses a type.
 */

import { createTwoGenerationCache } from '../../engine/tools/two-generation-cache.ts';
import type { Caller } from '../auth/auth.ts';
import type { BodyFault, Exchange, ExchangeOwner } from '../server/exchange.ts';
import type { RequestHeaders } from '../server/wire.ts';
import type { CompiledRoute } from './check.ts';
import type { DeadlineWaiter, WaitQueue } from './deadlines.ts';
import type { DispatchContext } from './dispatch-context.ts';

interface MediaRange {
  readonly type: string;
  readonly weight: number;
}

/** Further entries of the header are ignored. */
const rangesMax = 32;
/** Longer headers are read each time. */
const acceptCachedMax = 512;
const weightShape = /;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*(?:;|$)/;

const parseRanges = (accept: string): readonly MediaRange[] =>
  accept
    .toLowerCase()
    .split(',', rangesMax)
    .map((entry) => ({
      type: (entry.split(';', 1)[0] as string).trim(),
      weight: Number(weightShape.exec(entry)?.[1] ?? 1),
    }));

/**
 * How much the client wants a type: the weight of the most specific range that covers it, 0 for none. A less
 * specific range loses a ten-thousandth, which decides only between equal weights: they have three decimals.
 */
const weigh = (ranges: readonly MediaRange[], type: string): number => {
  const names = [type, type.replace(/\/.*/, '/*'), '*/*'];
  for (const [index, name] of names.entries()) {
    const range = ranges.find((candidate) => candidate.type === name);
    if (range !== undefined) return range.weight && range.weight - index * 0.000_1;
  }
  return 0;
};

/**
 * Returns the offered type that the client prefers. Of equal ones, a type that the header names precedes one
 * that only a range covers; otherwise the first wins, as it does without `Accept` or if no type is accepted.
 */
export const chooseMediaType = <Type extends string>(
  accept: string,
  offered: readonly [Type, ...Type[]],
): Type => {
  if (accept === '') return offered[0];
  const ranges = parseRanges(accept);
  const weights = offered.map((type) => weigh(ranges, type));
  return offered[weights.indexOf(Math.max(...weights))] as Type;
};

/** Cached answers by header, because browsers of one kind all send the same. */
const preferred = createTwoGenerationCache<boolean>(64);

const comparePreference = (accept: string, type: string, other: string): boolean => {
  const ranges = parseRanges(accept);
  const toThousandths = (weight: number): number => Math.round(weight * 1_000);
  return toThousandths(weigh(ranges, type)) > toThousandths(weigh(ranges, other));
};

/** Whether the client gives HTML a greater weight than JSON. A tie, or no header, means no. */
const isPagePreferred = (accept: string): boolean => {
  if (accept === '') return false;
  const known = preferred.get(accept);
  if (known !== undefined) return known;
  const answer = comparePreference(accept, 'text/html', 'application/json');
  if (accept.length <= acceptCachedMax) preferred.set(accept, answer);
  return answer;
};

/** Shared by all requests until dispatch.ts sets their own, so that none is allocated before. */
const noParams: Readonly<Record<string, string>> = Object.freeze({});

/** A name of this machine, which no other site can claim, with or without a port. */
const loopbackHost = /^(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?$/;

/** W3C Trace Context; any other form is ignored. */
const traceShape = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The functions of dispatch that handle events of a call. */
export interface CallEvents {
  onBody(call: Call): void;
  onExpired(call: Call, during: 'reading' | 'working'): void;
  onClientGone(call: Call): void;
}

export class Call implements ExchangeOwner, DeadlineWaiter {
  readonly context: DispatchContext;
  readonly exchange: Exchange;
  readonly events: CallEvents;
  readonly startedMs: number;
  readonly head: boolean;
  waitingSinceMs = 0;
  queue: WaitQueue | null = null;
  previous: DeadlineWaiter | null = null;
  next: DeadlineWaiter | null = null;
  compiled: CompiledRoute | null = null;
  params: Readonly<Record<string, string>> = noParams;
  query: Readonly<Record<string, unknown>> = noParams;
  body: unknown = undefined;
  bodyText = '';
  bodyFault: BodyFault | null = null;
  bodyDone = false;
  caller: Caller | null = null;
  /** The name of the operator at the private listener, `''` at the public one. */
  operator = '';
  /** Whether the checks of token, kind, ban and path user have passed. */
  admitted = false;
  /** Whether the handler was called. From then on a change may take effect. */
  handlerStarted = false;
  /** Answered and counted, or abandoned by the client. */
  answered = false;
  /** It is in a deadline queue. */
  isWaiting = false;
  limitLines = '';
  #address = '';
  #goneListener: (() => void) | null = null;

  constructor(context: DispatchContext, exchange: Exchange, events: CallEvents) {
    this.context = context;
    this.exchange = exchange;
    this.events = events;
    this.startedMs = context.app.clock.monotonicMs();
    this.head = exchange.method === 'HEAD';
  }

  get clientAddress(): string {
    if (this.#address === '') this.#address = this.context.addresses.read(this.exchange);
    return this.#address;
  }

  get url(): string {
    const { path, queryText } = this.exchange;
    return queryText === '' ? path : `${path}?${queryText}`;
  }

  get headers(): RequestHeaders {
    return this.exchange.headers;
  }

  get prefersHtml(): boolean {
    return chooseMediaType(this.headers.accept, ['application/json', 'text/html']) === 'text/html';
  }

  get wantsPage(): boolean {
    return isPagePreferred(this.headers.accept);
  }

  get isPrefetch(): boolean {
    return /prefetch|prerender|preview/i.test(this.headers.purpose);
  }

  get prefersCsv(): boolean {
    return chooseMediaType(this.headers.accept, ['application/json', 'text/csv']) === 'text/csv';
  }

  get requestId(): string {
    return this.exchange.requestId;
  }

  get traceparent(): string {
    const { traceparent } = this.headers;
    return traceparent !== '' && traceShape.test(traceparent) ? traceparent : '';
  }

  get socketVersion(): string {
    return this.exchange.socketVersion;
  }

  get fromLocalPage(): boolean {
    const { fetchSite, forwardedFor, host } = this.headers;
    return fetchSite === 'same-origin' && forwardedFor === '' && loopbackHost.test(host);
  }

  onBody(text: string, fault: BodyFault | null): void {
    this.bodyText = text;
    this.bodyFault = fault;
    this.bodyDone = true;
    this.events.onBody(this);
  }

  /** An arrow function, because handlers take it out of the request. */
  readonly whenClientGone = (listener: () => void): void => {
    if (this.answered) listener();
    else this.#goneListener = listener;
  };

  onClientGone(): void {
    this.events.onClientGone(this);
    this.#goneListener?.();
  }

  onLate(): void {
    this.exchange.keepOpen();
  }

  onExpired(during: 'reading' | 'working'): void {
    this.isWaiting = false;
    this.events.onExpired(this, during);
  }
}
