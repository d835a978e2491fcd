/**
 * One request on its way through dispatch: what is known of it so far. It is also the `Request` that
 * handlers see.
 *
 * Plain state, no decisions: dispatch.ts makes those. One object per request, all fields set in one order.
 */

import type { Caller } from '../route.ts';
import type { BodyFault, Exchange, ExchangeOwner } from '../server/exchange.ts';
import type { CompiledRoute } from './check.ts';
import type { DeadlineWaiter, WaitQueue } from './deadlines.ts';
import type { DispatchContext } from './dispatch-context.ts';

/** No parameters: most requests get theirs from dispatch.ts, and need no object of their own before. */
const noParams: Readonly<Record<string, string>> = Object.freeze({});

/** What the call asks of dispatch when something happens to it from outside. */
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
  /** Token, kind, ban and path user were found in order. */
  admitted = false;
  /** The handler was called: what it does may take effect. */
  handlerStarted = false;
  /** Answered and metered, or abandoned by the client. */
  answered = false;
  /** In a queue of deadlines. */
  isWaiting = false;
  limitLines = '';
  #address = '';

  constructor(context: DispatchContext, exchange: Exchange, events: CallEvents) {
    this.context = context;
    this.exchange = exchange;
    this.events = events;
    this.startedMs = context.app.clock.monotonicMs();
    this.head = exchange.method === 'HEAD';
  }

  /** Canonical client address. Read it before the first await: it is gone with the client. */
  get clientAddress(): string {
    if (this.#address === '') {
      const { exchange, context } = this;
      this.#address = context.toClientAddress(exchange.readPeerAddress(), exchange.headers.forwardedFor);
    }
    return this.#address;
  }

  get userAgent(): string {
    return this.exchange.headers.userAgent;
  }

  onBody(text: string, fault: BodyFault | null): void {
    this.bodyText = text;
    this.bodyFault = fault;
    this.bodyDone = true;
    this.events.onBody(this);
  }

  onClientGone(): void {
    this.events.onClientGone(this);
  }

  onExpired(during: 'reading' | 'working'): void {
    this.isWaiting = false;
    this.events.onExpired(this, during);
  }
}
