/**
 * Publishes and receives small messages between nodes that something cached is stale, and proves that they
 * arrive.
 *
 * ioredis sends (commands.ts), node-redis receives (listener.ts). A node may use caches that depend on
 * messages only while `isConnected()`: it publishes a heartbeat message to itself every `beatMs`, on the way
 * that messages take, and is connected while it has received one that it sent less than `trustMs` ago. So
 * either every message published more than `trustMs` ago has arrived, or the caches are not used: a cut,
 * silent or stopped connection needs no detection of its own. When no caller needed that for `restAfterMs`,
 * the node sends no heartbeats until the next caller. One server delivers everything in order on a connection
 * that stays, so the first heartbeat after a rest proves that nothing was missed; a Cluster does not, so its
 * nodes drop those caches when they rest. A node on embedded stores is alone and opens none of this.
 */
import { randomUUID } from 'node:crypto';
import { type Note, toNote } from '../../engine/tools/notes.ts';
import { openCommands } from './commands.ts';
import { openListener } from './listener.ts';
import { decodeMessage, encodeMessage, type NodeMessage } from './messages.ts';

export interface Subscriber {
  readonly onMessage?: (message: NodeMessage) => void;
  /** A tracked key changed (`null`: any key may have). */
  readonly onKeyChanged?: (key: string | null) => void;
  /** Messages may be missed from now on: drop what may be used only while `isConnected()`. */
  readonly onDisconnect?: () => void;
  /** Messages arrive again; entries cached since the loss may be stale. */
  readonly onReconnect?: () => void;
  /** This process did not run for `stallMs` or longer, so it may have missed changes of other nodes. */
  readonly stalled?: () => void;
}

export interface PubsubOptions {
  /** One URL is a server, several are nodes of one Cluster. */
  readonly urls: readonly string[];
  /** Receives connection errors; the clients reconnect by themselves. */
  readonly onError: (error: Error) => void;
  /** Without a call of `isConnected` for this long, heartbeats rest. Default 20 s, less only in tests. */
  readonly restAfterMs?: number;
}

/** Time between two heartbeat messages. */
export const beatMs = 150;
/** Longer than most pauses between requests: after a rest nodes of a Cluster read each session again. */
const restAfterMsDefault = 20_000;
/** How long a caller waits for the first heartbeat after a rest. */
export const wakeMsMax = 100;
/** No node accepts a revoked token for longer than this. */
export const trustMs = 600;
/**
 * A gap of this length between two `runs` reports is a stall. Several heartbeats fit into it. Nodes poll each
 * other's writes so often (`limits.stalenessPollMs`) that after a shorter gap no value is older than a
 * second.
 */
export const stallMs = 500;
const commandTimeoutMs = 600;
/** Longer than a connection takes that Redis closed. */
const notedMs = 5_000;
const channel = 'rollcall:signals';

interface PubsubState {
  readonly restAfterMs: number;
  readonly isOneServer: boolean;
  readonly subscribers: Set<Subscriber>;
  readonly node: string;
  /** Send time of the newest heartbeat message received. */
  lastReceivedMs: number;
  /** Whether subscribers were notified of the current loss. */
  lost: boolean;
  /** Steady time at which the current loss began. */
  lostMs: number;
  /** What Redis, or its client, last said against it. */
  reason: string;
  /** Steady time of the last `runs` report. */
  ranMs: number;
  /** Steady time of the last call of `isConnected`. */
  neededMs: number;
  /** `waking`: no heartbeat has arrived since the last rest. */
  beats: 'running' | 'resting' | 'waking';
  /** Sends a heartbeat, now and every `beatMs`. */
  wake: () => void;
  /** Steady time at which heartbeats last woke. */
  wokenMs: number;
  /** Resolvers of callers that wait for the first heartbeat after a rest. */
  readonly woken: Set<() => void>;
  /** Functions that end reads which would wait for a silent connection. */
  readonly waiting: Set<() => void>;
}

const hasProof = (state: PubsubState, nowMs: number): boolean => nowMs - state.lastReceivedMs < trustMs;

const isConnected = (state: PubsubState): boolean => {
  const nowMs = performance.now();
  state.neededMs = nowMs;
  if (state.beats === 'resting') state.wake();
  return hasProof(state, nowMs);
};

/** Whether the first heartbeat after a rest may still arrive. */
const isWaking = ({ beats, wokenMs }: PubsubState, nowMs: number): boolean =>
  beats === 'waking' && nowMs - wokenMs < trustMs;

const waitUntilConnected = (state: PubsubState): boolean | Promise<boolean> => {
  if (isConnected(state)) return true;
  if (!isWaking(state, performance.now())) return false;
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      state.woken.delete(finish);
      resolve(hasProof(state, performance.now()));
    };
    const timer = setTimeout(finish, wakeMsMax);
    state.woken.add(finish);
  });
};

const rest = (state: PubsubState): void => {
  state.beats = 'resting';
  state.lastReceivedMs = Number.NEGATIVE_INFINITY;
  if (state.isOneServer || state.lost) return;
  for (const subscriber of state.subscribers) subscriber.onDisconnect?.();
};

const runs = (state: PubsubState, steadyMs: number): void => {
  const gapMs = steadyMs - state.ranMs;
  state.ranMs = steadyMs;
  if (gapMs >= stallMs) for (const subscriber of state.subscribers) subscriber.stalled?.();
};

const handleDisconnect = (state: PubsubState): void => {
  state.lastReceivedMs = Number.NEGATIVE_INFINITY;
  if (state.lost) return;
  state.lost = true;
  state.lostMs = performance.now();
  for (const subscriber of state.subscribers) subscriber.onDisconnect?.();
  for (const giveUp of state.waiting) giveUp();
};

/** Settles as the reading does, and rejects when the connection is lost. */
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
  const nowMs = performance.now();
  // One that was sent before a rest proves nothing about what comes after it.
  if (state.beats === 'resting') return;
  // A gap between two heartbeats counts as a loss, even if no caller checked during the gap.
  if (state.beats === 'running' && !hasProof(state, nowMs)) handleDisconnect(state);
  if (nowMs - message.sentMs >= trustMs) return;
  state.beats = 'running';
  state.lastReceivedMs = Math.max(state.lastReceivedMs, message.sentMs);
  if (state.lost) for (const subscriber of state.subscribers) subscriber.onReconnect?.();
  state.lost = false;
  for (const finish of state.woken) finish();
};

const createState = ({ urls, restAfterMs = restAfterMsDefault }: PubsubOptions): PubsubState => ({
  restAfterMs,
  isOneServer: urls.length === 1,
  subscribers: new Set(),
  node: randomUUID(),
  lastReceivedMs: Number.NEGATIVE_INFINITY,
  lost: true,
  lostMs: performance.now(),
  reason: 'no answer',
  ranMs: performance.now(),
  neededMs: performance.now(),
  beats: 'running',
  wake: () => {},
  wokenMs: 0,
  woken: new Set(),
  waiting: new Set(),
});

/** Sends a heartbeat every `beatMs` unless they rest. Returns a function that stops them for good. */
const startBeats = (state: PubsubState, send: (text: string) => void): (() => void) => {
  let timer: NodeJS.Timeout;
  const start = (): void => {
    timer = setInterval(beat, beatMs);
    timer.unref();
  };
  const beat = (): void => {
    const nowMs = performance.now();
    runs(state, nowMs);
    // While messages are lost, heartbeats show when they arrive again.
    if (nowMs - state.neededMs > state.restAfterMs && !state.lost) {
      clearInterval(timer);
      rest(state);
      return;
    }
    if (!isWaking(state, nowMs) && !hasProof(state, nowMs)) handleDisconnect(state);
    send(encodeMessage({ kind: 'beat', node: state.node, sentMs: nowMs }));
  };
  state.wake = () => {
    state.beats = 'waking';
    state.wokenMs = performance.now();
    start();
    beat();
  };
  start();
  return () => {
    state.wake = () => {};
    clearInterval(timer);
  };
};

/** A note while nothing has arrived for `notedMs` although it was sent. */
const listNotes = ({ lost, lostMs, reason }: PubsubState): readonly Note[] => {
  if (!lost || performance.now() - lostMs < notedMs) return [];
  const text =
    `messages of other nodes do not arrive (${reason}): edits are seen late, sessions are read each time; ` +
    'give the user of REDIS_URL these rights: ACL SETUSER NAME &rollcall:* +publish +subscribe +ping +client';
  return [toNote('pubsub_fails', text)];
};

const keepReason = (state: PubsubState, { message }: Error): void => {
  state.reason = message;
};

const handleLoss = (state: PubsubState, error: Error): void => {
  handleDisconnect(state);
  keepReason(state, error);
  if (state.beats === 'resting') state.wake();
};

/** Starts to connect and returns at once: not connected until the first heartbeat message arrives. */
export const openPubsub = (options: PubsubOptions) => {
  const state = createState(options);
  const ownChannel = `${channel}:${state.node}`;
  const commands = openCommands({ ...options, timeoutMs: commandTimeoutMs });
  const listener = openListener({
    ...options,
    channels: [channel, ownChannel],
    onMessage: (text) => receiveText(state, text),
    onChanged: (key) => {
      for (const subscriber of state.subscribers) subscriber.onKeyChanged?.(key);
    },
    onLost: (error) => {
      handleLoss(state, error);
      options.onError(error);
    },
  });
  const stopBeats = startBeats(state, (text) => {
    // A heartbeat that was not sent does not arrive, which already ends `isConnected`.
    commands.send('PUBLISH', [ownChannel, text]).catch((error: Error) => keepReason(state, error));
  });
  return {
    commands,
    /** Whether all messages come from one server: then in order, and it tracks the keys that `read` reads. */
    isOneServer: state.isOneServer,
    read: (key: string) => rejectIfDisconnected(state, listener.read(key)),
    /**
     * Publishes a message. Resolves when Redis has accepted it; every connected node has it within `trustMs`.
     * Rejects with a `StorageError` when Redis is away.
     */
    publish: async (message: NodeMessage) => {
      await commands.send('PUBLISH', [channel, encodeMessage(message)]);
    },
    /** Adds a subscriber; returns a function that removes it. */
    subscribe: (subscriber: Subscriber) => {
      state.subscribers.add(subscriber);
      return () => state.subscribers.delete(subscriber);
    },
    /**
     * Whether every message published more than `trustMs` ago has arrived. Costs one clock read. False while
     * heartbeats rest; the call then wakes them.
     */
    isConnected: () => isConnected(state),
    listNotes: () => listNotes(state),
    /** As `isConnected`; while heartbeats wake up, waits for the first one, at most `wakeMsMax`. */
    waitUntilConnected: () => waitUntilConnected(state),
    /**
     * Reports that this process runs, at this steady time (ms). The first report after a stall (by a
     * heartbeat, a poll of the engine, or a request that waited in its socket) calls `stalled` of all
     * subscribers before it returns. Costs one comparison.
     */
    runs: (steadyMs: number) => runs(state, steadyMs),
    close: () => {
      stopBeats();
      handleDisconnect(state);
      state.subscribers.clear();
      listener.close();
      commands.close();
    },
  };
};
export type Pubsub = ReturnType<typeof openPubsub>;
