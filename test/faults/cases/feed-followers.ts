/**
 * Clients of the feed that come back when their connection ends, each time at any living node, and the
 * verdict on what they got: every vote number once or inside a gap, no totals that go back, and in the end
 * what every reader sees.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { type FeedClient, type Message, openSocket, openStream } from '../../http/feed/clients.ts';
import { until } from '../../support/until.ts';
import { type Life, type Stack, untilFlushed } from '../harness/stack.ts';

export interface Follower {
  readonly kind: Following['kind'];
  /** Messages by connection, in order. */
  readonly lives: (readonly Message[])[];
  /** The newest number of each target that came or was inside a gap. */
  readonly numbers: Map<string, number>;
  readonly totals: Map<string, ReturnType<typeof JSON.parse>>;
  readonly faults: string[];
  votes: number;
  gaps: number;
  resets: number;
  stop(): Promise<void>;
}

export interface Following {
  readonly kind: 'sse' | 'websocket';
  readonly targets: readonly string[];
  /** The client's address, as its node's proxy names it. */
  readonly address: string;
  /** A store loses something: numbers may begin again after a `reset`. */
  readonly mayReset: boolean;
  /** Where the next connection goes; `null` while no node lives. */
  readonly pickUrl: () => string | null;
}

interface State extends Omit<Follower, 'stop' | 'kind'>, Following {
  /** The id of the last event, and the last cursor by target. */
  eventId: string;
  readonly cursors: Map<string, string>;
  /** Targets that began elsewhere than the client was: a `reset` must follow. */
  readonly moved: Set<string>;
  stopped: boolean;
  client: FeedClient | null;
}

const backoffMs = 50;
const readMs = 20;

const follow = (following: Following): Follower => {
  const state: State = {
    ...following,
    lives: [],
    numbers: new Map(),
    totals: new Map(),
    faults: [],
    votes: 0,
    gaps: 0,
    resets: 0,
    eventId: '',
    cursors: new Map(),
    moved: new Set(),
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
  const headers = { 'X-Forwarded-For': state.address };
  if (state.kind === 'sse') {
    const id = state.eventId;
    return openStream(url, query, id === '' ? headers : { ...headers, 'Last-Event-ID': id });
  }
  const client = await openSocket(url, '', headers);
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
    else await sleep(readMs);
  }
};

const take = (state: State, versions: Map<string, readonly number[]>, message: Message): void => {
  const { event, data, id } = message;
  if (id !== '') state.eventId = id;
  // The hello of a WebSocket names no place.
  const isStart = (event === 'hello' && id !== '') || event === 'subscribed';
  if (isStart) takeStart(state, message);
  if (event === 'reset') takeReset(state, versions, data);
  if (event === 'totals') takeTotals(state, versions, data);
  if (event !== 'vote' && event !== 'gap') return;
  const [from, to] = event === 'vote' ? [data.number, data.number] : [data.from_number, data.to_number];
  const known = state.numbers.get(data.target) ?? 0;
  if (state.moved.has(data.target)) state.faults.push(`${data.target}: ${event} ${from} without a reset`);
  if (from !== known + 1) state.faults.push(`${data.target}: ${event} ${from} after ${known}`);
  state.numbers.set(data.target, to);
  state.cursors.set(data.target, data.cursor);
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
    } else if (number !== known && state.mayReset) state.moved.add(target);
    else if (number !== known) state.faults.push(`${target}: began at ${number} and not at ${known}`);
  }
};

/** Totals go on under a newer generation; votes after the cursor. */
const takeReset = (
  state: State,
  versions: Map<string, readonly number[]>,
  { target, channel, cursor }: ReturnType<typeof JSON.parse>,
): void => {
  state.resets += 1;
  if (!state.mayReset) state.faults.push(`${target}: reset of its ${channel}`);
  if (channel === 'totals') {
    versions.set(target, [(versions.get(target)?.[0] ?? 0) + 1, -1]);
    return;
  }
  state.moved.delete(target);
  state.numbers.set(target, Number(cursor.split('.')[1]));
  state.cursors.set(target, cursor);
};

const takeTotals = (
  state: State,
  versions: Map<string, readonly number[]>,
  data: ReturnType<typeof JSON.parse>,
): void => {
  const version: readonly number[] = [data.generation, data.version];
  const before = versions.get(data.target) ?? [0, 0];
  const isNewer = (version[0] ?? 0) - (before[0] ?? 0) || (version[1] ?? 0) - (before[1] ?? 0);
  if (isNewer <= 0)
    state.faults.push(`${data.target}: version ${version.join('.')} after ${before.join('.')}`);
  versions.set(data.target, version);
  state.totals.set(data.target, data.totals);
};

/* --------------------------------------------------------- many, and the verdict */

export interface FollowerFigures {
  readonly followers: number;
  readonly connections: number;
  readonly votesReceived: number;
  readonly gaps: number;
  readonly resets: number;
}

interface FollowersOptions {
  readonly count: number;
  readonly mayReset?: boolean;
}

const targetsEach = 3;

const startFollowers = (stack: Stack, { count, mayReset = false }: FollowersOptions): Follower[] =>
  Array.from({ length: count }, (_, index) => {
    const { bots } = stack.directory;
    const targets = Array.from(
      { length: targetsEach },
      (_, offset) => `bot/${bots[(index + offset) % bots.length]}`,
    );
    const pickUrl = (): string | null => {
      const living = stack.alive();
      return living.length === 0 ? null : (stack.random.pick(living) as Life).node.url;
    };
    const address = `10.9.${Math.floor(index / 250)}.${index % 250}`;
    return follow({ kind: index % 2 === 0 ? 'sse' : 'websocket', targets, address, mayReset, pickUrl });
  });

export const sumOf = (followers: readonly Follower[], count: (follower: Follower) => number): number =>
  followers.reduce((total, follower) => total + count(follower), 0);

/** Runs the task beside followers; throws with all that is wrong with what they got. */
export const withFollowers = async (
  stack: Stack,
  options: FollowersOptions,
  task: (followers: readonly Follower[]) => Promise<unknown>,
): Promise<FollowerFigures> => {
  const followers = startFollowers(stack, options);
  try {
    await task(followers);
    await untilFlushed(stack.stores);
    await until(
      'every follower has it all',
      async () => {
        const behind = await listBehind(stack, followers);
        if (behind.length > 0) throw new Error(behind.slice(0, 8).join('\n'));
        return true;
      },
      30_000,
    );
  } finally {
    await Promise.all(followers.map(({ stop }) => stop()));
  }
  assert.equal(
    followers.flatMap(({ faults }) => faults),
    [],
  );
  const figures = {
    followers: followers.length,
    connections: sumOf(followers, ({ lives }) => lives.length),
    votesReceived: sumOf(followers, ({ votes }) => votes),
    gaps: sumOf(followers, ({ gaps }) => gaps),
    resets: sumOf(followers, ({ resets }) => resets),
  };
  assert.ok(figures.votesReceived > 0);
  return figures;
};

/** Numbers of the votes in SQL, once all is flushed there. */
const readHeads = async ({ stores }: Stack): Promise<ReadonlyMap<string, number>> => {
  const rows = await stores.sql<{ id: string; number: number }[]>`
    select entity_id as id, votes_logged as number from totals where kind = 'bot'`;
  return new Map(rows.map(({ id, number }) => [`bot/${id}`, number]));
};

/** What followers lack, one line each. */
const listBehind = async (stack: Stack, followers: readonly Follower[]): Promise<readonly string[]> => {
  const heads = await readHeads(stack);
  const [life] = stack.alive() as [Life];
  const keys = [...new Set(followers.flatMap(({ numbers }) => [...numbers.keys()]))];
  const shown = new Map(
    await Promise.all(
      keys.map(async (key) => {
        const reply = await fetch(`${life.node.url}/bots/${key.slice('bot/'.length)}`);
        return [key, JSON.parse(await reply.text())] as const;
      }),
    ),
  );
  return followers.flatMap(({ kind, numbers, totals, lives }, index) =>
    [...numbers].flatMap(([key, number]) => {
      const { servers, votes } = shown.get(key);
      const expected = JSON.stringify([heads.get(key), servers, votes]);
      const got = JSON.stringify([number, totals.get(key)?.servers, totals.get(key)?.votes]);
      return got === expected
        ? []
        : [`${index} ${kind} ${key}: ${got}, not ${expected}, ${lives.length} connections`];
    }),
  );
};
