/**
 * Several nodes in one process on one Redis and one Postgres of the test, and clients that send requests to
 * any of them.
 *
 * Each node is complete (stores, engine, both listeners). The client log uses the number of a node as its
 * `life`, so that the judge knows which node acknowledged a request. `close` closes everything. Used by the
 * tests of this folder.
 */
import { rmSync } from 'node:fs';
import { readConfig } from '../../ops/config.ts';
import { createRandom, type Random } from '../../ops/demo/random.ts';
import { type Running, start } from '../../ops/rollcall.ts';
import { openStores, type Stores } from '../../storage/open.ts';
import { inspect } from '../faults/harness/at-rest.ts';
import { type ClientLog, createLog, nowMs } from '../faults/harness/client-log.ts';
import { settings } from '../faults/harness/embedded-run.ts';
import { demandClean } from '../faults/harness/figures.ts';
import {
  createVerdict,
  judgeClicks,
  judgeStats,
  judgeVotes,
  tally,
  type Verdict,
} from '../faults/harness/judge.ts';
import { type Load, type LoadParts, look, startLoad } from '../faults/harness/load.ts';
import { type Directory, fillDirectory, type Sizes } from '../support/directory.ts';
import { makeFolder } from '../support/folder.ts';
import { createClient } from '../support/http-client.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import type { RedisServer } from '../support/redis-server.ts';

/** The nodes, their directory and the log of all requests. */
export interface Fleet {
  readonly nodes: Running[];
  readonly directory: Directory;
  readonly log: ClientLog;
  /** Starts one more node. */
  grow(): Promise<Running>;
  /** Sends no more requests to the first node, and stops it. */
  shrink(): Promise<void>;
  /** Sends each request to a random node, until stopped. */
  load(connections: number): Load;
  /** Reads every bot at every node. */
  lookEverywhere(): Promise<void>;
  /** Stops all nodes, then checks the stores against the log. */
  judge(): Promise<{ readonly acked: number; readonly votes: number }>;
  close(): Promise<void>;
}

export interface FleetOptions {
  readonly redis: Pick<RedisServer, 'url'>;
  readonly postgres: PostgresServer;
  readonly name: string;
  readonly nodes: number;
  readonly seed: number;
}

const sizes: Sizes = { users: 30, bots: 12, servers: 3, teams: 3, packs: 3 };
/**
 * A write at one node is visible at others after a second (I9); more here, as all nodes share one machine.
 */
const staleMs = 5_000;
const waitMs = Number(settings.VOTE_WAIT_HOURS) * 3_600_000;

/** Prints figures, which are copied into docs/reliability.md by hand. */
export const printLine = (figures: string): void => console.log(`\nfigures: ${figures}`);

interface FleetState {
  readonly nodes: Running[];
  readonly directory: Directory;
  readonly random: Random;
  readonly log: ClientLog;
  readonly client: ReturnType<typeof createClient>;
  readonly stores: Stores;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The index of the node for the current request. */
  target: number;
  /** The index of the first node that still runs. */
  first: number;
}

/** Fills the database and starts the nodes. Redis must be empty. */
export const openFleet = async (options: FleetOptions): Promise<Fleet> => {
  const folder = makeFolder('rollcall-nodes-');
  const databaseUrl = await options.postgres.database(options.name);
  const stores = await openStores(
    { dataDir: folder, redisUrl: [options.redis.url], databaseUrl, snapshotIntervalMinutes: 1 },
    { clock: Date.now, onWarning: () => {} },
  );
  const state: FleetState = {
    nodes: [],
    directory: await fillDirectory(stores.sql, sizes),
    random: createRandom(options.seed),
    log: createLog(),
    client: createClient(24),
    stores,
    folder,
    environment: {
      ...settings,
      REDIS_URL: options.redis.url,
      DATABASE_URL: databaseUrl,
      ADMIN_TOKEN: 'operator-of-this-test-operator-of-this-test',
      DATA_DIR: folder,
      PORT: '0',
      ADMIN_PORT: '0',
      LOG_LEVEL: 'silent',
      FLUSH_INTERVAL_MS: '200',
    },
    target: 0,
    first: 0,
  };
  for (let count = 0; count < options.nodes; count++) await grow(state);
  return createFleet(state);
};

const grow = async (state: FleetState): Promise<Running> => {
  const node = await start(readConfig(state.environment));
  state.nodes.push(node);
  return node;
};

const createFleet = (state: FleetState): Fleet => ({
  nodes: state.nodes,
  directory: state.directory,
  log: state.log,
  grow: () => grow(state),
  shrink: () => {
    state.first += 1;
    return (state.nodes[state.first - 1] as Running).stop();
  },
  load: (connections) => startLoad({ ...createClientParts(state), connections }),
  lookEverywhere: () => lookEverywhere(state),
  judge: () => judge(state),
  close: async () => {
    await Promise.all(state.nodes.map((node) => node.stop()));
    state.client.close();
    await state.stores.close();
    rmSync(state.folder, { recursive: true, force: true });
  },
});

/** Client parts that pick a random node when a request is logged, and send the request to that node. */
const createClientParts = (state: FleetState): Omit<LoadParts, 'connections'> => {
  const log = Object.create(state.log, {
    life: {
      get: () => {
        state.target = state.first + state.random.below(state.nodes.length - state.first);
        return state.target;
      },
    },
    nextId: { get: () => state.log.nextId, set: (next: number) => (state.log.nextId = next) },
  }) as ClientLog;
  const parts = { client: state.client, directory: state.directory, random: state.random, log };
  return Object.defineProperty(parts, 'url', {
    get: () => (state.nodes[state.target] as Running).url,
    enumerable: true,
  }) as typeof parts & { url: string };
};

const lookEverywhere = async (state: FleetState): Promise<void> => {
  for (const [life, { url }] of state.nodes.entries()) {
    if (life < state.first) continue;
    state.log.life = life;
    const parts = { ...state, url };
    await Promise.all(state.directory.bots.map((bot) => look(parts, bot)));
  }
};

const judge = async (state: FleetState): Promise<{ acked: number; votes: number }> => {
  const { log, nodes, stores, directory } = state;
  await Promise.all(nodes.map((node) => node.stop()));
  for (const life of nodes.keys()) log.endedMs[life] = nowMs();
  const atRest = await inspect(stores, stores.hot, directory.targets);
  const verdict = createVerdict();
  judgeStats(log, verdict, staleMs);
  judgeClicks(log, verdict, staleMs);
  judgeVotes(log, { rows: atRest.rows, waitMs }, verdict);
  for (const life of nodes.keys()) verdict.fell.push(...findDecreases(log, life));
  const deadLetters = atRest.deadLetters === 0 ? [] : [`${atRest.deadLetters} dead letters`];
  demandClean(verdict, [...atRest.differences, ...log.strange, ...deadLetters]);
  return { acked: tally(log).acked, votes: atRest.rows.length };
};

/** I8: at one node a read never returns an older value, without any tolerance. */
const findDecreases = (log: ClientLog, life: number): readonly string[] => {
  const nodeVerdict: Verdict = createVerdict();
  const nodeLog = { ...log, sights: log.sights.filter((sight) => sight.life === life) };
  judgeStats(nodeLog, nodeVerdict);
  judgeClicks(nodeLog, nodeVerdict);
  return nodeVerdict.fell;
};
