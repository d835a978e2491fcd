/**
 * One to three nodes, each a process of its own, on a Redis and a Postgres of the test's; their load, their
 * log and the verdict.
 *
 * Every request draws a node that is alive, as a load balancer would. The client's log numbers node processes
 * as the judge numbers lives: a killed node's place is taken by a new life. `close` ends everything.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientLog, createLog, nowMs, type Sight, type Span } from '../../../bench/prove/client-log.ts';
import { firstWindowFaults } from '../../../bench/prove/first-window.ts';
import {
  createVerdict,
  forgetVisitors,
  judgeClicks,
  judgeStats,
  judgeVotes,
  sentAgainMs,
  tally,
} from '../../../bench/prove/judge.ts';
import { type Client, createClient } from '../../../bench/shared/http-client.ts';
import { createRandom, type Random } from '../../../bench/shared/random.ts';
import { openStores, type Stores } from '../../../storage/open.ts';
import { type Directory, directoryOf, fillDirectory, type Sizes } from '../../support/directory.ts';
import { type NodeOptions, type StartedNode, startNode } from '../../support/node-process.ts';
import { until } from '../../support/until.ts';
import { inspect } from './at-rest.ts';
import { settings, waitMs } from './embedded-run.ts';
import { demandClean, type Figures } from './figures.ts';
import { type Load, type LoadParts, look, postStats, startLoad } from './load.ts';
import { withoutMerged, withoutUncertainRefusals } from './merged-votes.ts';
import { asRowsMayKnow, withoutMissingRows } from './missing-rows.ts';

export interface StackOptions {
  readonly redisUrls: readonly string[];
  readonly databaseUrl: string;
  readonly nodes: number;
  readonly seed: number;
  /** Environment of every node beside the usual one. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A life of a node. */
export interface Life {
  readonly node: StartedNode;
  readonly life: number;
  alive: boolean;
}

export interface Stack {
  readonly lives: readonly Life[];
  readonly directory: Directory;
  readonly log: ClientLog;
  readonly random: Random;
  readonly client: Client;
  /** The test's own look at both stores, beside the nodes. */
  readonly stores: Stores;
  alive(): readonly Life[];
  /** Starts one more node. */
  open(options?: Partial<NodeOptions>): Promise<Life>;
  /** SIGKILL. No request is sent there any more. */
  kill(life: Life): Promise<void>;
  /** SIGTERM to all, which has to end well. No request may be under way. */
  rest(): Promise<void>;
  /** Sends requests until stopped; a connection whose node is gone continues with another one. */
  load(connections: number): Load;
  /** One post for every bot at this node, over connections of its own. Resolves when all are answered. */
  postAt(life: Life): Promise<void>;
  /** Once all is flushed, every node stops well; then log and stores are compared. */
  judge(options?: JudgeOptions): Promise<Figures>;
  close(): Promise<void>;
}

export interface JudgeOptions {
  readonly rounds?: number;
  /** Faults that the test itself found. */
  readonly wrong?: readonly string[];
  /** The store lost what only it had: figures tell how much, and nothing else may be wrong. */
  readonly mayLose?: boolean;
  /** The store was emptied, so it does not know earlier visitors. */
  readonly forgets?: boolean;
  /** Nothing was lost: at one node no read may show an older value than the one before it (I8). */
  readonly neverFalls?: boolean;
  /** SQL was brought back older: votes of this time may have no rows, see `missing-rows.ts`. */
  readonly rowless?: Span;
  /** How many lost votes nodes say a newer vote of the same user stands for: so many are no fault. */
  readonly merged?: () => Promise<number>;
}

export const operatorToken = 'operator-of-this-test-operator-of-this-test';

const sizes: Sizes = { users: 40, bots: 12, servers: 3, teams: 3, packs: 3 };
/** A bot that the load does not touch, so that the log's judge ignores it. */
export const outsider = `2${String(sizes.bots).padStart(15, '0')}`;
/** What was acknowledged elsewhere is visible after a second (I9); processes on one busy machine get more. */
const staleMs = 5_000;
/** A dead node's last bytes are read by the stores within this time. */
const lateMs = 5_000;
const backoffMs = 50;

interface State {
  readonly options: StackOptions;
  readonly folder: string;
  readonly stores: Stores;
  readonly directory: Directory;
  readonly random: Random;
  readonly log: ClientLog;
  readonly client: Client;
  readonly lives: Life[];
  readonly startedMs: number;
  /** The life that the request being made goes to. */
  drawn: number;
}

/** Fills the database and starts the nodes. The Redis must be empty. */
export const openStack = async (options: StackOptions): Promise<Stack> => {
  const startedMs = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-stack-'));
  const { redisUrls, databaseUrl } = options;
  const stores = await openStores(
    { dataDir: folder, redisUrl: redisUrls, databaseUrl },
    { clock: Date.now, onWarning: () => {} },
  );
  await fillDirectory(stores.sql, { ...sizes, bots: sizes.bots + 1 });
  const state: State = {
    options,
    folder,
    stores,
    directory: directoryOf(sizes),
    random: createRandom(options.seed),
    log: createLog(),
    client: createClient(24),
    lives: [],
    startedMs,
    drawn: 0,
  };
  try {
    // One after the other: the first one makes the generations.
    for (let count = 0; count < options.nodes; count++) await open(state, {});
  } catch (error) {
    await close(state);
    throw error;
  }
  return stackOf(state);
};

const stackOf = (state: State): Stack => ({
  lives: state.lives,
  directory: state.directory,
  log: state.log,
  random: state.random,
  client: state.client,
  stores: state.stores,
  alive: () => state.lives.filter(({ alive }) => alive),
  open: (options = {}) => open(state, options),
  kill: async (life) => {
    life.alive = false;
    await life.node.kill();
    state.log.endedMs[life.life] = nowMs() + lateMs;
  },
  rest: () => rest(state),
  load: (connections) => load(state, connections),
  postAt: (life) => postAt(state, life),
  judge: (options = {}) => judge(state, options),
  close: () => close(state),
});

const open = async (state: State, options: Partial<NodeOptions>): Promise<Life> => {
  const { redisUrls, databaseUrl } = state.options;
  const node = await startNode({
    dataDir: state.folder,
    ...options,
    settings: {
      ...settings,
      REDIS_URL: redisUrls.join(','),
      DATABASE_URL: databaseUrl,
      ADMIN_TOKEN: operatorToken,
      FLUSH_INTERVAL_MS: '200',
      ...state.options.settings,
      ...options.settings,
    },
  });
  const life = { node, life: state.lives.length, alive: true };
  state.lives.push(life);
  return life;
};

const rest = async ({ lives, log }: State): Promise<void> => {
  const living = lives.filter(({ alive }) => alive);
  for (const life of living) life.alive = false;
  const stops = await Promise.all(living.map(({ node }) => stopWell(node)));
  for (const { life } of living) log.endedMs[life] = nowMs();
  if (stops.flat().length > 0) throw new Error(stops.flat().join('\n'));
};

const close = async (state: State): Promise<void> => {
  for (const { node } of state.lives) await node.kill();
  state.client.close();
  await state.stores.close();
  rmSync(state.folder, { recursive: true, force: true });
};

/* ------------------------------------------------------------------ load */

/** A client that was refused waits before its next request. */
const patient = (client: Client): Client => ({
  ...client,
  ask: async (url, request) => {
    const answer = await client.ask(url, request);
    if (answer.status === 503) await sleep(backoffMs);
    return answer;
  },
});

const draw = (state: State): number => {
  const living = state.lives.filter(({ alive }) => alive);
  state.drawn = living.length === 0 ? state.drawn : state.random.pick(living).life;
  return state.drawn;
};

/**
 * A client's view in which every request draws its node, if none is given: when it is logged first, and then
 * asks that one.
 */
const viewOf = (state: State, given?: Life): LoadParts => {
  const log = Object.create(state.log, {
    life: { get: () => given?.life ?? draw(state) },
    nextId: { get: () => state.log.nextId, set: (next: number) => (state.log.nextId = next) },
    unanswered: { get: () => state.log.unanswered, set: (count: number) => (state.log.unanswered = count) },
  }) as ClientLog;
  const parts = { client: patient(state.client), directory: state.directory, random: state.random, log };
  return Object.defineProperty({ ...parts, connections: 1, url: '' }, 'url', {
    get: () => (given ?? (state.lives[state.drawn] as Life)).node.url,
    enumerable: true,
  });
};

const postAt = async (state: State, life: Life): Promise<void> => {
  const { bots } = state.directory;
  const client = createClient(bots.length);
  const { url, log, ...parts } = viewOf(state, life);
  const postFor = (bot: string) =>
    postStats({ ...parts, url, log, client, directory: { ...state.directory, bots: [bot] } });
  await Promise.all(bots.map(postFor)).finally(client.close);
};

const load = (state: State, connections: number): Load => {
  const parts = viewOf(state);
  const running = new Set<Load>();
  let stopped = false;
  const connection = async (): Promise<void> => {
    while (!stopped) {
      const one = startLoad(parts);
      running.add(one);
      await one.ended;
      running.delete(one);
      if (!stopped) await sleep(backoffMs);
    }
  };
  const ended = Promise.all(Array.from({ length: connections }, connection)).then(() => {});
  return {
    ended,
    stop: async () => {
      stopped = true;
      await Promise.all([...running].map((one) => one.stop()));
      await ended;
    },
  };
};

/* ----------------------------------------------------------------- judge */

/** Looks at every bot at every node; returns these sights, which are the newest of the log. */
const lookEverywhere = async (state: State): Promise<readonly Sight[]> => {
  const before = state.log.sights.length;
  for (const { node, life, alive } of state.lives) {
    if (!alive) continue;
    state.log.life = life;
    const parts = { ...state, url: node.url };
    await Promise.all(state.directory.bots.map((bot) => look(parts, bot)));
  }
  return state.log.sights.slice(before);
};

/** Whether all sights show what the hot store has now. */
const areNewest = async ({ stores }: State, sights: readonly Sight[]): Promise<boolean> => {
  const replies = await stores.hot.load(sights.map(({ bot }) => ({ kind: 'bot', id: bot })));
  return sights.every(({ post, clicks }, index) => {
    const reply = replies[index];
    if (reply?.outcome !== 'found') return true;
    return Number(reply.state.servers) === post && reply.state.clicks === clicks;
  });
};

/**
 * Looks until every node shows what the hot store has, for `staleMs` at most. The last looks are judged as if
 * they came so much later: then nothing older may be shown. The looks before them may show older values.
 */
const lookAtRest = async (state: State): Promise<void> => {
  const endMs = nowMs() + staleMs;
  let sights = await lookEverywhere(state);
  const replace = (change: (sight: Sight) => Sight): void =>
    void state.log.sights.splice(-sights.length, sights.length, ...sights.map(change));
  while (!(await areNewest(state, sights)) && nowMs() < endMs) {
    replace((sight) => ({ ...sight, quiet: false }));
    await sleep(100);
    sights = await lookEverywhere(state);
  }
  replace((sight) => ({
    ...sight,
    callMs: sight.callMs + staleMs,
    returnMs: sight.returnMs + staleMs,
  }));
};

/** Resolves when nothing waits for SQL any more. */
export const untilFlushed = ({ hot }: Pick<Stores, 'hot'>): Promise<void> =>
  until('all is flushed', async () => {
    const { entities, votes } = await hot.countBacklog();
    return entities + votes === 0;
  });

/** Clicks that the store refused have been sent again: none is excused as waiting any more. */
const untilSentAgain = ({ withoutRoom }: ClientLog): Promise<void> =>
  sleep(Math.max(0, ...withoutRoom.map(({ toMs }) => toMs + sentAgainMs - nowMs())));

const judge = async (state: State, options: JudgeOptions): Promise<Figures> => {
  const { rounds = 1, wrong = [], mayLose = false, forgets = false } = options;
  const { log, stores, directory } = state;
  await untilSentAgain(log);
  await untilFlushed(stores);
  await lookAtRest(state);
  const merged = (await options.merged?.()) ?? 0;
  const stops = await Promise.all(state.lives.filter(({ alive }) => alive).map(({ node }) => stopWell(node)));
  for (const { life } of state.lives) log.endedMs[life] ??= nowMs();
  const atRest = await inspect(stores, stores.hot, directory.targets);
  const { rowless } = options;
  let differences = rowless ? withoutMissingRows(atRest.differences, log, rowless) : atRest.differences;
  let verdict = createVerdict();
  const seen = { ...log, sights: log.sights.filter((sight) => !isBlind(log, sight)) };
  judgeStats(seen, verdict, staleMs);
  judgeClicks(seen, verdict, staleMs);
  const judged = options.merged === undefined ? log : withoutUncertainRefusals(log, waitMs);
  judgeVotes(rowless ? asRowsMayKnow(judged, rowless) : judged, { rows: atRest.rows, waitMs }, verdict);
  const deadLetters = atRest.deadLetters === 0 ? [] : [`${atRest.deadLetters} dead letters`];
  if (!mayLose) verdict.doubled.push(...firstWindowFaults(judged, waitMs));
  if (forgets) forgetVisitors(verdict);
  if (options.neverFalls) verdict.fell.push(...state.lives.flatMap(({ life }) => fallsAt(log, life)));
  const known = { log, rows: atRest.rows, waitMs, merged };
  ({ verdict, differences } = withoutMerged({ verdict, differences }, known));
  const demanded = mayLose ? { ...verdict, lost: [], fell: [] } : verdict;
  demandClean(demanded, [...wrong, ...stops.flat(), ...differences, ...log.strange, ...deadLetters]);
  return {
    ...tally(log),
    lost: verdict.lost.length + verdict.fell.length,
    doubled: verdict.doubled.length + verdict.mixed.length,
    rounds,
    seconds: (performance.now() - state.startedMs) / 1_000,
  };
};

/** What one node showed older than before, without any tolerance. */
const fallsAt = (log: ClientLog, life: number): readonly string[] => {
  const verdict = createVerdict();
  const seen = { ...log, sights: log.sights.filter((sight) => sight.life === life) };
  judgeStats(seen, verdict);
  judgeClicks(seen, verdict);
  return verdict.fell;
};

/** While a node cannot read the store it shows what it read last, and catches up soon after. */
const isBlind = (log: ClientLog, { callMs }: Sight): boolean =>
  log.withoutRoom.some(({ fromMs, toMs }) => callMs > fromMs && callMs < toMs + staleMs);

const stopWell = async (node: StartedNode): Promise<string[]> => {
  const { code, signal } = await node.stop();
  return code === 0 ? [] : [`a stop ended with ${code ?? signal}:\n${node.output()}`];
};
