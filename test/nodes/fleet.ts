/**
 * Several nodes in one process on one Redis and one Postgres of the test's own, and clients that ask any of
 * them.
 *
 * Each node is a whole one (stores, engine, both listeners). The client's log numbers nodes as the judge
 * numbers lives: what one node acknowledged is known to have happened there. Everything is closed by
 * `close`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../ops/config.ts';
import { createRandom, type Random } from '../../ops/demo/random.ts';
import { type Running, start } from '../../ops/rollcall.ts';
import { openStores, type Stores } from '../../storage/open.ts';
import { inspect } from '../faults/at-rest.ts';
import { type ClientLog, createLog, nowMs } from '../faults/client-log.ts';
import { demandClean } from '../faults/figures.ts';
import { createVerdict, judgeClicks, judgeStats, judgeVotes, tally, type Verdict } from '../faults/judge.ts';
import { settings } from '../faults/live.ts';
import { type Load, type LoadParts, look, startLoad } from '../faults/load.ts';
import { type Directory, fillDirectory, type Sizes } from '../support/directory.ts';
import { createClient } from '../support/http-client.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import type { RedisServer } from '../support/redis-server.ts';

export interface Fleet {
  readonly nodes: Running[];
  readonly directory: Directory;
  readonly log: ClientLog;
  /** Starts one more node. */
  grow(): Promise<Running>;
  /** No new request goes to the first node from now on; then it is stopped. */
  shrink(): Promise<void>;
  /** Asks a node drawn for each request, until stopped. */
  load(connections: number): Load;
  /** Looks at every bot at every node. */
  lookEverywhere(): Promise<void>;
  /** Stops all nodes, then judges the stores and the log. */
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
/** What was acknowledged elsewhere is visible after a second (I9); all nodes on one busy machine get more. */
const staleMs = 5_000;
const waitMs = Number(settings.VOTE_WAIT_HOURS) * 3_600_000;

/** Figures to be copied into docs/reliability.md. */
export const printLine = (figures: string): void => console.log(`\nfigures: ${figures}`);

interface State {
  readonly nodes: Running[];
  readonly directory: Directory;
  readonly dice: Random;
  readonly log: ClientLog;
  readonly client: ReturnType<typeof createClient>;
  readonly stores: Stores;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The node that the request being made goes to. */
  drawn: number;
  /** Nodes before this one were stopped. */
  first: number;
}

/** Fills the database, starts the nodes. The Redis must be empty. */
export const openFleet = async (options: FleetOptions): Promise<Fleet> => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-nodes-'));
  const databaseUrl = await options.postgres.database(options.name);
  const stores = await openStores(
    { dataDir: folder, redisUrl: [options.redis.url], databaseUrl, snapshotIntervalMinutes: 1 },
    { clock: Date.now, onWarning: () => {} },
  );
  const state: State = {
    nodes: [],
    directory: await fillDirectory(stores.sql, sizes),
    dice: createRandom(options.seed),
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
    drawn: 0,
    first: 0,
  };
  for (let count = 0; count < options.nodes; count++) await grow(state);
  return fleetOf(state);
};

const grow = async (state: State): Promise<Running> => {
  const node = await start(readConfig(state.environment));
  state.nodes.push(node);
  return node;
};

const fleetOf = (state: State): Fleet => ({
  nodes: state.nodes,
  directory: state.directory,
  log: state.log,
  grow: () => grow(state),
  shrink: () => {
    state.first += 1;
    return (state.nodes[state.first - 1] as Running).stop();
  },
  load: (connections) => startLoad({ ...clientOf(state), connections }),
  lookEverywhere: () => lookEverywhere(state),
  judge: () => judge(state),
  close: async () => {
    await Promise.all(state.nodes.map((node) => node.stop()));
    state.client.close();
    await state.stores.close();
    rmSync(state.folder, { recursive: true, force: true });
  },
});

/** A client's view in which every request draws its node: when it is logged first, and then asks that one. */
const clientOf = (state: State): Omit<LoadParts, 'connections'> => {
  const log = Object.create(state.log, {
    life: {
      get: () => {
        state.drawn = state.first + state.dice.below(state.nodes.length - state.first);
        return state.drawn;
      },
    },
    nextId: { get: () => state.log.nextId, set: (next: number) => (state.log.nextId = next) },
  }) as ClientLog;
  const parts = { client: state.client, directory: state.directory, dice: state.dice, log };
  return Object.defineProperty(parts, 'url', {
    get: () => (state.nodes[state.drawn] as Running).url,
    enumerable: true,
  }) as typeof parts & { url: string };
};

const lookEverywhere = async (state: State): Promise<void> => {
  for (const [life, { url }] of state.nodes.entries()) {
    if (life < state.first) continue;
    state.log.life = life;
    const parts = { ...state, url };
    await Promise.all(state.directory.bots.map((bot) => look(parts, bot)));
  }
};

const judge = async (state: State): Promise<{ acked: number; votes: number }> => {
  const { log, nodes, stores, directory } = state;
  await Promise.all(nodes.map((node) => node.stop()));
  for (const life of nodes.keys()) log.endedMs[life] = nowMs();
  const atRest = await inspect(stores, stores.hot, directory.targets);
  const verdict = createVerdict();
  judgeStats(log, verdict, staleMs);
  judgeClicks(log, verdict, staleMs);
  judgeVotes(log, { rows: atRest.rows, waitMs }, verdict);
  for (const life of nodes.keys()) verdict.fell.push(...fellAt(log, life));
  const buried = atRest.buried === 0 ? [] : [`${atRest.buried} rows buried`];
  demandClean(verdict, [...atRest.differences, ...log.strange, ...buried]);
  return { acked: tally(log).acked, votes: atRest.rows.length };
};

/** I8: at one node reads never go back, without any slack. */
const fellAt = (log: ClientLog, life: number): readonly string[] => {
  const alone: Verdict = createVerdict();
  const own = { ...log, sights: log.sights.filter((sight) => sight.life === life) };
  judgeStats(own, alone);
  judgeClicks(own, alone);
  return alone.fell;
};
