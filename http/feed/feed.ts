/**
 * The feed: connections that follow entities, as server-sent events or WebSockets.
 *
 * Owns who may connect, the heartbeat, and the last message when the node stops; targets.ts has the numbers,
 * votes.ts the votes, delivery.ts what goes out, subscriptions.ts who gets it. Bounded by connections (of the
 * node, of an address) and subscriptions; nothing is queued for a client that does not read. Costs nothing
 * before the first connection, and then one timer per second.
 */
import type { Engine } from '../../engine/engine.ts';
import type { DomainError } from '../../engine/errors.ts';
import type { Clock } from '../../engine/ports.ts';
import type { Catalogue } from '../../storage/catalogue/catalogue.ts';
import { createUnavailableError, isNotFound } from '../response/errors.ts';
import type { PushConnection, PushOwner } from '../server/push-connection.ts';
import type { FeedCounts } from '../telemetry/counts.ts';
import { type Addresses, createAddresses } from './addresses.ts';
import { renderEventId, sendFrame, sendText } from './delivery.ts';
import { buildFrame } from './frames.ts';
import type { Feed } from './interface.ts';
import { parseMessage } from './requests.ts';
import { createSlices, type Slices } from './slices.ts';
import { type Client, type FeedState, feedLimits } from './state.ts';
import { createSubscriptions, type ResolvedRequest, type Subscriptions } from './subscriptions.ts';
import { createTargets, type Targets } from './targets.ts';
import { createVoteTail, type VoteTail } from './votes.ts';

export interface FeedSettings {
  readonly feedConnectionsMax: number;
  readonly feedConnectionsPerAddressMax: number;
  readonly feedFrameMs: number;
  /** Who may read votes: every client, or only the owners of the listing. */
  readonly voteLog: 'public' | 'owner';
}

export interface FeedParts {
  readonly engine: Pick<Engine, 'watch' | 'flushEarly' | 'hasPendingChanges'>;
  readonly voteLog: Pick<Catalogue['voteLog'], 'heads' | 'each' | 'page'>;
  readonly clock: Clock;
  readonly counts: FeedCounts;
  readonly settings: FeedSettings;
  /** Other nodes use the same stores. */
  readonly shared: boolean;
}

interface OpenFeed extends FeedParts {
  readonly feed: FeedState;
  readonly slices: Slices;
  readonly targets: Targets;
  readonly votes: VoteTail;
  readonly subscriptions: Subscriptions;
  readonly clients: Set<Client>;
  readonly addresses: Addresses;
  /** Clients by the second of their heartbeat. */
  readonly beats: readonly Set<Client>[];
  seconds: number;
  isBeating: boolean;
  isLeaving: boolean;
}

/** Milliseconds after which a browser reconnects when a connection breaks. */
const retryMs = 3_000;
const sweepSeconds = 5;

export const createFeed = (parts: FeedParts): Feed => {
  const open = wire(parts);
  parts.counts.countEntries = () => countEntries(open);
  return {
    prepare: async (request, address) => {
      admit(open, address);
      open.addresses.countTargets(address, request.targets.length);
      if (!open.isBeating) scheduleBeat(open);
      try {
        const resolved = await open.subscriptions.resolve(request);
        return (connection) => connect(open, connection, { address, resolved });
      } catch (error) {
        chargeUnknown(open, address, error);
        throw error;
      }
    },
    wake: open.votes.wake,
    leave: () => leave(open),
  };
};

/** Counts everything that the feed stores. Half a minute after the last client has left, all are 0. */
const countEntries = ({ clients, addresses, beats, subscriptions, targets, votes, slices }: OpenFeed) => ({
  clients: clients.size,
  ...addresses.count(),
  heartbeats: beats.reduce((sum, beat) => sum + beat.size, 0),
  subscriptions: subscriptions.count(),
  ...targets.count(),
  ...votes.count(),
  jobs: slices.count(),
});

const wire = (parts: FeedParts): OpenFeed => {
  const { clock, counts, settings, engine } = parts;
  const slices = createSlices(clock, engine.hasPendingChanges);
  const feed: FeedState = {
    clock,
    counts,
    announce: (target) => subscriptions.announce(target),
    catchUp: (subscription) => votes.catchUp(subscription),
  };
  const votes = createVoteTail(feed, { ...parts, slices });
  const targets = createTargets(feed, {
    ...parts,
    frameMs: settings.feedFrameMs,
    onVotes: votes.expect,
    onGone: (target) => subscriptions.endAll(target),
    onDropped: votes.forget,
  });
  const subscriptions: Subscriptions = createSubscriptions(feed, {
    slices,
    targets,
    votes,
    votesArePublic: settings.voteLog === 'public',
    sayBye: (client, reason) => sayBye(open, client, reason),
  });
  const open: OpenFeed = {
    ...parts,
    feed,
    slices,
    targets,
    votes,
    subscriptions,
    clients: new Set(),
    addresses: createAddresses(clock, settings.feedConnectionsPerAddressMax),
    beats: Array.from({ length: feedLimits.heartbeatSeconds }, () => new Set()),
    seconds: 0,
    isBeating: false,
    isLeaving: false,
  };
  return open;
};

/** Charges the address for an unknown entity: such a look-up costs the stores more than a successful one. */
const chargeUnknown = ({ addresses }: OpenFeed, address: string, error: unknown): void => {
  if (isNotFound(error)) addresses.charge(address);
};

/* -------------------------------------------------------------- connections */

const refuse = (message: string): DomainError => createUnavailableError('feed_full', message, 10);

const admit = ({ isLeaving, clients, addresses, counts, settings }: OpenFeed, address: string): void => {
  if (isLeaving)
    throw createUnavailableError('draining', 'This node is shutting down. Please connect again.', 1);
  if (clients.size >= settings.feedConnectionsMax) {
    counts.refused.connections += 1;
    throw refuse('This node has its maximum of feed connections. Try again later.');
  }
  if (!addresses.isFull(address)) return;
  counts.refused.address += 1;
  throw refuse(
    `Your address has ${settings.feedConnectionsPerAddressMax} feed connections: close one, or follow more ` +
      'entities with one connection.',
  );
};

const connect = (
  open: OpenFeed,
  connection: PushConnection,
  { address, resolved }: { address: string; resolved: ResolvedRequest },
): PushOwner => {
  const client: Client = {
    connection,
    address,
    subscriptions: [],
    positions: [],
    isFull: false,
    isClosed: false,
    frames: 0,
    named: 0,
    windowMs: 0,
  };
  try {
    // Other clients may have connected while this request was resolved.
    admit(open, address);
  } catch {
    sayHello(open, client);
    sayBye(open, client, open.isLeaving ? 'restart' : 'full');
    return { onMessage: () => {}, onControl: () => {}, onWritable: () => {}, onClosed: () => {} };
  }
  open.clients.add(client);
  open.addresses.join(address);
  open.counts.connections[connection.kind] += 1;
  open.beats[open.clients.size % open.beats.length]?.add(client);
  connection.cork(() => {
    const gone = open.subscriptions.add(client, resolved);
    sayHello(open, client);
    open.subscriptions.sendGone(client, gone);
    open.subscriptions.deliverTo(client);
  });
  return {
    onMessage: (text) => takeMessage(open, client, text),
    onControl: () => void countFrame(open, client),
    onWritable: () => {
      client.isFull = false;
      connection.cork(() => open.subscriptions.deliverTo(client));
    },
    onClosed: () => disconnect(open, client),
  };
};

const sayHello = ({ feed }: OpenFeed, client: Client): void => {
  const frame = buildFrame('hello', { heartbeat_seconds: feedLimits.heartbeatSeconds });
  const prefix = client.connection.kind === 'sse' ? `retry: ${retryMs}\n${renderEventId(client)}` : '';
  sendText(feed, client, { frame, prefix });
};

const disconnect = (open: OpenFeed, client: Client): void => {
  if (client.isClosed) return;
  client.isClosed = true;
  open.clients.delete(client);
  for (const beat of open.beats) beat.delete(client);
  open.counts.connections[client.connection.kind] -= 1;
  open.addresses.leave(client.address);
  open.subscriptions.removeAll(client);
};

/** The reasons for the end of a connection, with the close code of a WebSocket. */
const byeCodes = { restart: 1_012, full: 1_013, gone: 1_000 } as const;

const sayBye = ({ feed }: OpenFeed, client: Client, reason: keyof typeof byeCodes): void => {
  const { connection } = client;
  const afterMs = Math.floor(Math.random() * feedLimits.reconnectMsMax);
  const frame = buildFrame('bye', { reason, reconnect_after_ms: afterMs });
  sendText(feed, client, { frame, prefix: connection.kind === 'sse' ? `retry: ${afterMs}\n` : '' });
  connection.end(byeCodes[reason], reason);
};

/* ------------------------------------------------------ messages of WebSockets */

/** Close code for a message that no client may send. */
const badMessageCode = 4_400;
const policyCode = 1_008;

/** Counts a frame, or the targets that it names. False when the connection or its address has too many. */
const isWithinLimits = ({ clock, addresses }: OpenFeed, client: Client, named: number): boolean => {
  const nowMs = clock.monotonicMs();
  if (nowMs - client.windowMs >= feedLimits.windowMs)
    Object.assign(client, { windowMs: nowMs, frames: 0, named: 0 });
  if (named === 0) client.frames += 1;
  client.named += named;
  if (client.frames > feedLimits.framesPerWindow || client.named > feedLimits.namedPerWindow) return false;
  try {
    if (named === 0) addresses.countFrame(client.address);
    else addresses.countTargets(client.address, named);
    return true;
  } catch {
    return false;
  }
};

/** Like `isWithinLimits`; ends the connection if not. */
const countFrame = (open: OpenFeed, client: Client, named = 0): boolean => {
  if (isWithinLimits(open, client, named)) return true;
  open.counts.refused.messages += 1;
  open.addresses.charge(client.address);
  client.connection.end(policyCode, named === 0 ? 'too many messages' : 'too many targets');
  return false;
};

const takeMessage = (open: OpenFeed, client: Client, text: string | null): void => {
  if (!countFrame(open, client)) return;
  const isQueued = open.addresses.queue(client.address, async () => {
    if (client.isClosed) return;
    try {
      await handleMessage(open, client, text);
    } catch (error) {
      chargeUnknown(open, client.address, error);
      open.subscriptions.sendError(client, error);
    }
  });
  if (!isQueued) sayBye(open, client, 'full');
};

const handleMessage = async (open: OpenFeed, client: Client, text: string | null): Promise<void> => {
  const message = parseMessage(text);
  if (message === null) {
    client.connection.end(badMessageCode, 'not a message of this protocol');
    return;
  }
  switch (message.op) {
    case 'ping':
      return sendFrame(open.feed, client, buildFrame('pong', {}));
    case 'unsubscribe':
      return open.subscriptions.remove(client, message.targets);
    case 'subscribe':
      if (!countFrame(open, client, message.request.targets.length)) return;
      await open.subscriptions.subscribe(client, message.request);
  }
};

/* ---------------------------------------------------------- heartbeat and end */

const scheduleBeat = (open: OpenFeed): void => {
  open.isBeating = true;
  open.clock.after(1_000, () => {
    if (open.isLeaving) return;
    scheduleBeat(open);
    open.seconds += 1;
    beat(open, [...(open.beats[open.seconds % open.beats.length] ?? [])]);
    if (open.seconds % sweepSeconds !== 0) return;
    open.votes.lookAtAll();
    open.targets.sweep();
  });
};

/** Shows proxies that the connection is in use; writing it reveals a peer that is gone. */
const comment = ':\n\n';

const beat = ({ slices }: OpenFeed, clients: readonly Client[]): void => {
  let next = 0;
  slices.add(() => {
    const client = clients[next++];
    if (client === undefined || client.isClosed) return next < clients.length;
    const { connection, isFull } = client;
    if (!isFull && connection.kind === 'sse') client.isFull = !connection.send(comment);
    return next < clients.length;
  });
};

const leave = (open: OpenFeed): Promise<void> => {
  open.isLeaving = true;
  open.votes.close();
  const clients = [...open.clients];
  return new Promise((resolve) => {
    open.slices.add(() => {
      const client = clients.pop();
      if (client !== undefined && !client.isClosed) sayBye(open, client, 'restart');
      if (clients.length > 0) return true;
      open.targets.close();
      resolve();
      return false;
    });
  });
};
