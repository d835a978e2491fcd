/**
 * One request on its way through dispatch: what is known of it so far. It is also the `Request` that
 * handlers see.
 *
 * Plain state, no decisions: dispatch.ts makes those. One object per request, all fields set in one order.
 */
import type { CompiledRow } from './check.ts';
import type { DispatchContext } from './context.ts';
import type { Waiter, WaitQueue } from './deadlines.ts';
import type { BodyFault, Exchange, ExchangeOwner } from './exchange.ts';
import type { Caller } from './route.ts';

/** No parameters: most requests get theirs from dispatch.ts, and need no object of their own before. */
const none: Readonly<Record<string, string>> = Object.freeze({});

/** What the call asks of dispatch when something happens to it from outside. */
export interface CallEvents {
  bodyReady(call: Call): void;
  expired(call: Call, during: 'reading' | 'working'): void;
  gone(call: Call): void;
}

export class Call implements ExchangeOwner, Waiter {
  readonly context: DispatchContext;
  readonly exchange: Exchange;
  readonly events: CallEvents;
  readonly startedMs: number;
  readonly head: boolean;
  waitingSinceMs = 0;
  waitsIn: WaitQueue | null = null;
  earlier: Waiter | null = null;
  later: Waiter | null = null;
  compiled: CompiledRow | null = null;
  params: Readonly<Record<string, string>> = none;
  query: Readonly<Record<string, unknown>> = none;
  body: unknown = undefined;
  bodyText = '';
  bodyFault: BodyFault | null = null;
  bodyDone = false;
  caller: Caller | null = null;
  /** Token, kind, ban and path user were found in order. */
  admitted = false;
  /** The handler was called: what it does may take effect. */
  acting = false;
  /** Answered and metered, or abandoned by the client. */
  answered = false;
  /** In a queue of deadlines. */
  waits = false;
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
      this.#address = context.addressOf(exchange.peerAddress(), exchange.headers.forwardedFor);
    }
    return this.#address;
  }

  get userAgent(): string {
    return this.exchange.headers.userAgent;
  }

  bodyReady(text: string, fault: BodyFault | null): void {
    this.bodyText = text;
    this.bodyFault = fault;
    this.bodyDone = true;
    this.events.bodyReady(this);
  }

  gone(): void {
    this.events.gone(this);
  }

  expired(during: 'reading' | 'working'): void {
    this.waits = false;
    this.events.expired(this, during);
  }
}
