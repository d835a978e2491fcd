/**
 * Clients of the feed that come back when their connection ends, each time at any living node, and the
 * verdict on what they got: every vote number once or inside a gap, no totals that go back.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type FeedClient, type Message, openSocket, openStream } from '../../http/feed/clients.ts';

export interface Follower {
  readonly kind: Following['kind'];
  /** Messages by connection, in order. */
  readonly lives: (readonly Message[])[];
  /** The newest number of each target that came or was inside a gap. */
  readonly numbers: Map<string, number>;
  readonly totals: Map<string, ReturnType<typeof JSON.parse>>;
  readonly faults: string[];
  /** Votes and gaps. */
  votes: number;
  gaps: number;
  stop(): Promise<void>;
}

export interface Following {
  readonly kind: 'sse' | 'websocket';
  readonly targets: readonly string[];
  /** Where the next connection goes; `null` while no node lives. */
  readonly pickUrl: () => string | null;
}

interface State extends Omit<Follower, 'stop' | 'kind'>, Following {
  /** The id of the last event, and the last cursor by target. */
  eventId: string;
  readonly cursors: Map<string, string>;
  stopped: boolean;
  client: FeedClient | null;
}

const backoffMs = 50;

export const follow = (following: Following): Follower => {
  const state: State = {
    ...following,
    lives: [],
    numbers: new Map(),
    totals: new Map(),
    faults: [],
    votes: 0,
    gaps: 0,
    eventId: '',
    cursors: new Map(),
    stopped: false,
    client: null,
  };
  const done = run(state);
  return Object.assign(state, {
    stop: async () => {
      state.stopped = true;
      state.client?.close();
      await done;
    },
  });
};

const run = async (state: State): Promise<void> => {
  while (!state.stopped) {
    const url = state.pickUrl();
    const client = url === null ? null : await connect(state, url).catch(() => null);
    if (client === null) {
      await sleep(backoffMs);
      continue;
    }
    state.client = client;
    state.lives.push(client.messages);
    if (state.stopped) client.close();
    await readAll(state, client);
    await sleep(backoffMs);
  }
};

const connect = async (state: State, url: string): Promise<FeedClient> => {
  const { targets, cursors } = state;
  const query = `targets=${targets.join()}&channels=totals,votes`;
  if (state.kind === 'sse')
    return openStream(url, query, state.eventId === '' ? {} : { 'Last-Event-ID': state.eventId });
  const client = await openSocket(url);
  const channels = ['totals', 'votes'];
  client.send({ op: 'subscribe', targets, channels, after: Object.fromEntries(cursors) });
  return client;
};

/** Until the connection has ended and all that came is judged. */
const readAll = async (state: State, client: FeedClient): Promise<void> => {
  const versions = new Map<string, readonly number[]>();
  let ended = false;
  void client.closed.then(() => {
    ended = true;
  });
  for (let next = 0; ; ) {
    const message = client.messages[next];
    if (message !== undefined) {
      next += 1;
      take(state, versions, message);
    } else if (ended) return;
    else await sleep(5);
  }
};

const take = (state: State, versions: Map<string, readonly number[]>, message: Message): void => {
  const { event, data, id } = message;
  if (id !== '') state.eventId = id;
  // The hello of a WebSocket names no place.
  const isStart = (event === 'hello' && id !== '') || event === 'subscribed';
  if (isStart) takeStart(state, message);
  if (event === 'reset') state.faults.push(`reset of ${data.target}`);
  if (event === 'totals') takeTotals(state, versions, data);
  if (event !== 'vote' && event !== 'gap') return;
  const [from, to] = event === 'vote' ? [data.number, data.number] : [data.from_number, data.to_number];
  const known = state.numbers.get(data.target) ?? 0;
  if (from !== known + 1) state.faults.push(`${data.target}: ${event} ${from} after ${known}`);
  state.numbers.set(data.target, to);
  if (event === 'vote') state.cursors.set(data.target, data.cursor);
  state[event === 'vote' ? 'votes' : 'gaps'] += 1;
};

/** Where votes begin: at the first connection where the server says, later where the client was. */
const takeStart = (state: State, { id, data }: Message): void => {
  const cursors = data.after === undefined ? id.split(',') : state.targets.map((key) => data.after[key]);
  for (const [index, target] of state.targets.entries()) {
    const number = Number(cursors[index]?.split('.')[1]);
    const known = state.numbers.get(target);
    if (known === undefined) {
      state.numbers.set(target, number);
      state.cursors.set(target, cursors[index] ?? '');
    } else if (number !== known) state.faults.push(`${target}: began at ${number} and not at ${known}`);
  }
};

const takeTotals = (
  state: State,
  versions: Map<string, readonly number[]>,
  data: ReturnType<typeof JSON.parse>,
): void => {
  const version: readonly number[] = data.version.split('.').map(Number);
  const before = versions.get(data.target) ?? [0, 0];
  const isNewer = (version[0] ?? 0) - (before[0] ?? 0) || (version[1] ?? 0) - (before[1] ?? 0);
  if (isNewer <= 0) state.faults.push(`${data.target}: version ${data.version} after ${before.join('.')}`);
  versions.set(data.target, version);
  state.totals.set(data.target, data.totals);
};
