/**
 * Signals between nodes: small messages that something cached is old, and the proof that they arrive.
 *
 * ioredis writes and decides, node-redis listens: this file and its folder are the only ones that see node-
 * redis, and nothing is ever written through it. What a node caches on the strength of signals it may
 * believe only while `trusted()`: every `beatMs` a node publishes a beat and waits to hear it, and it is
 * trusted while it has heard one that it sent less than `trustMs` ago. So whatever was published more than
 * `trustMs` ago has been heard, or nobody is believed: a cut, a silent or a stopped connection needs no
 * notice of its own. A node on embedded stores has nobody to tell and none of this. Opened by the composition
 * root.
 */
import { randomUUID } from 'node:crypto';
import { openCommands, type RedisCommands } from './commands.ts';
import { type Listener, openListener } from './listener.ts';
import type { NodeMessage } from './messages.ts';
import { decodeMessage, encodeMessage } from './messages.ts';

export interface Subscriber {
  readonly onMessage?: (message: NodeMessage) => void;
  /** A watched key changed (`null`: any may have). */
  readonly onKeyChanged?: (key: string | null) => void;
  /** Messages may have been missed: drop all that depends on them. */
  readonly onDisconnect?: () => void;
  /** Messages arrive again; what was cached since the loss may be old. */
  readonly onReconnect?: () => void;
  /** This process did not run for `stallMs` or longer: what others changed meanwhile is not known here. */
  readonly stalled?: () => void;
}

export interface Pubsub {
  /**
   * Resolves when Redis has passed it on; a node that is trusted has it within `trustMs`. Rejects when
   * away.
   */
  publish(message: NodeMessage): Promise<void>;
  /** Returns a function that ends the subscription. */
  subscribe(subscriber: Subscriber): () => void;
  /** Whether every message of the past was heard, up to `trustMs` ago. Costs a clock read. */
  isConnected(): boolean;
  /**
   * Says that this process runs, at this steady time. The first to say so after a stall (a beat, or a request
   * that lay in its socket) makes the hearers of `stalled` know before it goes on. Costs a comparison.
   */
  runs(steadyMs: number): void;
  close(): void;
  readonly commands: RedisCommands;
  readonly listener: Pick<Listener, 'tracks' | 'read'>;
}

export interface PubsubOptions {
  /** One URL is a server, several are nodes of one Cluster. */
  readonly urls: readonly string[];
  /** Told about connection errors, which are repaired without help. */
  readonly onError: (error: Error) => void;
}

export const beatMs = 150;
/** A revoked token is dead everywhere after this. */
export const trustMs = 600;
/**
 * A gap of this length between two signs of life is a stall. Several beats fit in; and what other nodes wrote
 * is asked for so often (`limits.stalenessPollMs`) that a shorter gap leaves nothing older than a second.
 */
export const stallMs = 500;
const commandTimeoutMs = 600;
const channel = 'rollcall:signals';

interface PubsubState {
  readonly subscribers: Set<Subscriber>;
  readonly node: string;
  /** When the newest beat we heard was sent. */
  lastReceivedMs: number;
  /** Whether hearers were told of the present loss. */
  lost: boolean;
  /** When this process last ran for certain. */
  ranMs: number;
  /** Ends reads that would wait for a silent connection. */
  readonly waiting: Set<() => void>;
}

const isConnected = (state: PubsubState): boolean => performance.now() - state.lastReceivedMs < trustMs;

const runs = (state: PubsubState, steadyMs: number): void => {
  const gapMs = steadyMs - state.ranMs;
  state.ranMs = steadyMs;
  if (gapMs >= stallMs) for (const subscriber of state.subscribers) subscriber.stalled?.();
};

const handleDisconnect = (state: PubsubState): void => {
  state.lastReceivedMs = Number.NEGATIVE_INFINITY;
  if (state.lost) return;
  state.lost = true;
  for (const subscriber of state.subscribers) subscriber.onDisconnect?.();
  for (const giveUp of state.waiting) giveUp();
};

/** The reading, given up when the connection is. */
const rejectIfDisconnected = <Result>(state: PubsubState, reading: Promise<Result>): Promise<Result> =>
  new Promise((resolve, reject) => {
    const giveUp = (): void => reject(new Error('the signal connection was lost'));
    state.waiting.add(giveUp);
    reading.then(resolve, reject).finally(() => state.waiting.delete(giveUp));
  });

const receiveText = (state: PubsubState, text: string): void => {
  const message = decodeMessage(text);
  if (message === null) return;
  if (message.kind !== 'beat') {
    for (const subscriber of state.subscribers) subscriber.onMessage?.(message);
    return;
  }
  if (message.node !== state.node) return;
  // Between two beats nobody may have looked: the silence counts as a loss all the same.
  if (!isConnected(state)) handleDisconnect(state);
  if (performance.now() - message.sentMs >= trustMs) return;
  state.lastReceivedMs = Math.max(state.lastReceivedMs, message.sentMs);
  if (state.lost) for (const subscriber of state.subscribers) subscriber.onReconnect?.();
  state.lost = false;
};

/** Starts to connect and returns at once: not trusted until it hears itself. */
export const openPubsub = (options: PubsubOptions): Pubsub => {
  const state: PubsubState = {
    subscribers: new Set(),
    node: randomUUID(),
    lastReceivedMs: Number.NEGATIVE_INFINITY,
    lost: true,
    ranMs: performance.now(),
    waiting: new Set(),
  };
  const commands = openCommands({ ...options, timeoutMs: commandTimeoutMs });
  const listener = openListener({
    ...options,
    channel,
    onMessage: (text) => receiveText(state, text),
    onChanged: (key) => {
      for (const subscriber of state.subscribers) subscriber.onKeyChanged?.(key);
    },
    onLost: (error) => {
      handleDisconnect(state);
      options.onError(error);
    },
  });
  const beat = (): void => {
    const nowMs = performance.now();
    runs(state, nowMs);
    if (!isConnected(state)) handleDisconnect(state);
    const text = encodeMessage({ kind: 'beat', node: state.node, sentMs: nowMs });
    // A beat that did not leave is not heard, and that is the answer.
    commands.send('PUBLISH', [channel, text]).catch(() => undefined);
  };
  const timer = setInterval(beat, beatMs);
  timer.unref();
  return {
    commands,
    listener: {
      tracks: listener.tracks,
      read: (key) => rejectIfDisconnected(state, listener.read(key)),
    },
    publish: async (message) => {
      await commands.send('PUBLISH', [channel, encodeMessage(message)]);
    },
    subscribe: (subscriber) => {
      state.subscribers.add(subscriber);
      return () => state.subscribers.delete(subscriber);
    },
    isConnected: () => isConnected(state),
    runs: (steadyMs) => runs(state, steadyMs),
    close: () => {
      clearInterval(timer);
      handleDisconnect(state);
      state.subscribers.clear();
      listener.close();
      commands.close();
    },
  };
};
