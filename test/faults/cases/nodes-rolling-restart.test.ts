/**
 * Nodes behind the shipped HAProxy configuration, restarted one after another while clients post, vote and
 * read through it: no request fails, and what was acknowledged is there.
 *
 * The nodes are processes of their own on one Redis and one Postgres of the test's. A node may be started
 * from another folder than this one, so that another version can be replaced under load. Time limit: 900 s.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildStatsBody, findPostShown } from '../../../bench/prove/post-body.ts';
import { findFreePort } from '../../../bench/shared/free-port.ts';
import { type Client, createClient } from '../../../bench/shared/http-client.ts';
import { openStores, type Stores } from '../../../storage/open.ts';
import { type Directory, fillDirectory, tokenOf } from '../../support/directory.ts';
import { startHaproxy } from '../../support/haproxy.ts';
import { mainProgram, type StartedNode, startNode } from '../../support/node-process.ts';
import { untilNote } from '../../support/notes.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';
import { countOf, faultCase } from '../harness/fault-case.ts';
import { withNextVersion } from '../harness/next-version.ts';
import { untilFlushed } from '../harness/stack.ts';

const test = suite('rolling restart');

interface RollingPlan {
  readonly nodes: 2 | 3;
  /** How often each node is restarted. */
  readonly rounds: number;
  readonly leaveMs: number;
  /** The program of each round's restarts, where it is not this version's. */
  readonly programs?: readonly string[];
  /** Looks at the stores when all nodes run their last program. */
  readonly inspect?: (world: World) => Promise<void>;
}

interface RollingFigures {
  readonly requests: number;
  /** What failed, one line per request. */
  readonly failures: readonly string[];
  /** Bots that show less than was acknowledged, or more than was sent. */
  readonly wrong: readonly string[];
  readonly restarts: number;
  readonly stopMsMax: number;
}

interface Slot {
  readonly port: number;
  readonly adminPort: number;
  node: StartedNode | null;
}

interface World {
  readonly places: readonly Slot[];
  readonly folder: string;
  readonly directory: Directory;
  readonly client: Client;
  readonly url: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly stores: Stores;
  /** What is done to the nodes now, and since when: a failure names it. */
  step: { readonly what: string; readonly fromMs: number };
}

const clients = 12;

/** Runs the whole thing on servers of its own. */
const rollOver = async (plan: RollingPlan): Promise<RollingFigures> => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-rolling-'));
  const postgres = await startPostgres();
  const redis = await startRedis();
  const client = createClient(clients);
  const places: Slot[] = [];
  const closing: (() => Promise<void>)[] = [];
  try {
    const databaseUrl = await postgres.database('rolling');
    const stores = await openStores(
      { dataDir: folder, redisUrl: [redis.url], databaseUrl },
      { clock: Date.now, onWarning: () => {} },
    );
    closing.push(stores.close);
    const directory = await fillDirectory(stores.sql, {
      ...{ users: 200, bots: 24, servers: 0, teams: 1, packs: 0 },
    });
    for (let index = 0; index < 3; index++) {
      places.push({ port: await findFreePort(), adminPort: await findFreePort(), node: null });
    }
    const settings = {
      REDIS_URL: redis.url,
      DATABASE_URL: databaseUrl,
      ADMIN_TOKEN: 'operator-of-this-test-operator-of-this-test',
      TRUSTED_PROXIES: '127.0.0.1',
      LEAVE_MS: String(plan.leaveMs),
    };
    const port = await findFreePort();
    const world: World = {
      places: places.slice(0, plan.nodes),
      folder,
      directory,
      client,
      url: `http://127.0.0.1:${port}`,
      settings,
      stores,
      step: { what: 'nothing', fromMs: 0 },
    };
    for (const place of world.places) await open(world, place, mainProgram);
    const haproxy = await startHaproxy(['haproxy.cfg'], environmentOf(places, port), port);
    try {
      return await restartAll(world, plan);
    } finally {
      await haproxy.dispose();
    }
  } finally {
    client.close();
    for (const { node } of places) await node?.kill();
    for (const close of closing) await close();
    await redis.dispose();
    await postgres.close();
    rmSync(folder, { recursive: true, force: true });
  }
};

const environmentOf = (places: readonly Slot[], port: number): Record<string, string> => {
  const named = places.flatMap((place, index): [string, string][] => [
    [`ROLLCALL_NODE_${index + 1}`, `127.0.0.1:${place.port}`],
    [`ROLLCALL_ADMIN_PORT_${index + 1}`, String(place.adminPort)],
  ]);
  return {
    ...Object.fromEntries(named),
    ROLLCALL_BIND: `127.0.0.1:${port}`,
    ROLLCALL_CONNECTIONS_MAX: '200',
  };
};

const open = async (world: World, place: Slot, program: string): Promise<void> => {
  const ports = { PORT: String(place.port), ADMIN_PORT: String(place.adminPort) };
  place.node = await startNode({
    dataDir: world.folder,
    program,
    settings: { ...world.settings, ...ports },
  });
};

/** Requests that came in at a node's public port. */
const answeredBy = async ({ client }: World, { adminPort }: Slot): Promise<number> => {
  const { text } = await client.ask(`http://127.0.0.1:${adminPort}/metrics`);
  const counts = text.match(/^rollcall_http_requests_total.* (\d+)$/gm) ?? [];
  return counts.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
};

const restartAll = async (world: World, plan: RollingPlan): Promise<RollingFigures> => {
  await until(
    'the proxy has found a node',
    async () => (await world.client.ask(`${world.url}/bots/@all`)).status === 200,
  );
  const load = startLoad(world);
  let stopMsMax = 0;
  try {
    for (const place of world.places) await getsTraffic(world, place);
    for (let round = 0; round < plan.rounds; round++) {
      for (const place of world.places) {
        const program = plan.programs?.[round] ?? mainProgram;
        stopMsMax = Math.max(stopMsMax, await restart(world, place, program));
        await getsTraffic(world, place);
      }
    }
  } finally {
    await load.stop();
  }
  const restarts = plan.rounds * world.places.length;
  const wrong = [...(await wrongIn(world, load)), ...(await wrongVotesIn(world, load))];
  await plan.inspect?.(world);
  return { ...load.figures(), wrong, restarts, stopMsMax: Math.round(stopMsMax) };
};

/** The proxy sends requests to it: only then may another one go. */
const getsTraffic = (world: World, place: Slot): Promise<void> =>
  until(`the node on ${place.port} gets requests`, async () => (await answeredBy(world, place)) > 0);

const setStep = (world: World, what: string): void => {
  world.step = { what, fromMs: performance.now() };
};

const restart = async (world: World, place: Slot, program: string): Promise<number> => {
  setStep(world, `${place.port} stops`);
  const startedMs = performance.now();
  const exit = await place.node?.stop();
  const stopMs = performance.now() - startedMs;
  setStep(world, `${place.port} starts`);
  if (exit?.code !== 0) throw new Error(`a stop ended with ${exit?.code}:\n${place.node?.output()}`);
  await open(world, place, program);
  setStep(world, `${place.port} is back`);
  return stopMs;
};

interface Load {
  readonly sent: ReadonlyMap<string, number>;
  readonly acknowledged: ReadonlyMap<string, number>;
  /** Votes that were acknowledged, and those that were sent. */
  readonly votes: { readonly ok: ReadonlySet<string>; readonly sent: ReadonlySet<string> };
  figures(): { readonly requests: number; readonly failures: readonly string[] };
  stop(): Promise<void>;
}

/** Each client posts to its own bots, votes for them and reads them, one request after another. */
const startLoad = (world: World): Load => {
  const { client, directory, url } = world;
  const sent = new Map<string, number>();
  const acknowledged = new Map<string, number>();
  const votes = { ok: new Set<string>(), sent: new Set<string>() };
  const failures: string[] = [];
  const state = { requests: 0, stopped: false };
  const ask = async (...request: Parameters<Client['ask']>): Promise<boolean> => {
    state.requests += 1;
    const sentMs = performance.now();
    const failure = await client.ask(...request).then(
      ({ status, text }) => (status < 300 ? '' : `${status} ${text.slice(0, 200)}`),
      (error: Error) => error.message,
    );
    if (failure !== '') {
      const { what, fromMs } = world.step;
      const nowMs = performance.now();
      const when = `after ${Math.round(nowMs - sentMs)} ms; ${what}, for ${Math.round(nowMs - fromMs)} ms`;
      failures.push(`${request[1]?.method ?? 'GET'} ${request[0].slice(url.length)}: ${failure} (${when})`);
    }
    return failure === '';
  };
  const run = async (own: readonly string[]): Promise<void> => {
    for (let id = 1; !state.stopped; id++) {
      for (const bot of own) {
        const headers = { 'Bot-Auth': tokenOf('bot', bot), 'Content-Type': 'application/json' };
        sent.set(bot, id);
        const body = buildStatsBody(id);
        if (await ask(`${url}/bots/stats`, { method: 'POST', headers, body })) acknowledged.set(bot, id);
        const user = directory.users[id];
        if (user !== undefined) {
          votes.sent.add(`${user} ${bot}`);
          const path = `${url}/users/${user}/bots/${bot}/votes?upvote=true`;
          const cast = await ask(path, { method: 'PUT', headers: { 'User-Auth': tokenOf('user', user) } });
          if (cast) votes.ok.add(`${user} ${bot}`);
        }
        await ask(`${url}/bots/${bot}?target=page`);
      }
    }
  };
  const ended = Promise.all(
    Array.from({ length: clients }, (_, index) =>
      run(directory.bots.filter((_bot, at) => at % clients === index)),
    ),
  );
  return {
    sent,
    acknowledged,
    votes,
    figures: () => ({ requests: state.requests, failures }),
    stop: async () => {
      state.stopped = true;
      await ended;
    },
  };
};

/** What was acknowledged last must be shown by every node, or what was sent after it. */
const wrongIn = async ({ client, directory, places }: World, load: Load): Promise<readonly string[]> => {
  const wrong: string[] = [];
  for (const { port } of places) {
    for (const bot of directory.bots) {
      const least = load.acknowledged.get(bot) ?? 0;
      let shown: number | null = null;
      await until(`bot ${bot} shows ${least} at every node`, async () => {
        shown = findPostShown((await client.ask(`http://127.0.0.1:${port}/bots/${bot}`)).text);
        return shown !== null && shown >= least;
      }).catch((error: Error) => wrong.push(error.message));
      if ((shown ?? 0) > (load.sent.get(bot) ?? 0))
        wrong.push(`bot ${bot} shows ${shown}, which was not sent`);
    }
  }
  return wrong;
};

/** Each acknowledged vote has one row, and each row was sent. */
const wrongVotesIn = async ({ stores }: World, { votes }: Load): Promise<readonly string[]> => {
  await untilFlushed(stores);
  const rows = await stores.sql<{ vote: string }[]>`select author || ' ' || target_id as vote from votes`;
  const found = rows.map(({ vote }) => vote);
  const known = new Set(found);
  assert.ok(votes.ok.size > 24, `${votes.ok.size} votes`);
  return [
    ...[...votes.ok].filter((vote) => !known.has(vote)).map((vote) => `the vote ${vote} is lost`),
    ...found.filter((vote, at) => found.indexOf(vote) !== at).map((vote) => `the vote ${vote} counts twice`),
    ...found.filter((vote) => !votes.sent.has(vote)).map((vote) => `the vote ${vote} was not sent`),
  ];
};

const stopMsLimit = 5_000;

const run = async (plan: RollingPlan) => {
  const { failures, wrong, requests, restarts, stopMsMax } = await rollOver(plan);
  assert.equal(failures, []);
  assert.equal(wrong, []);
  assert.ok(requests > 100, `${requests} requests`);
  return { requests, failed: failures.length, wrong: wrong.length, restarts, stopMsMax };
};

faultCase(test, {
  title: 'nodes restarted one after another under load: no request fails, nothing is lost',
  name: 'rolling restart',
  counts: { quick: 1, faults: 4 },
  once: true,
  run: async ({ count }) => {
    // Longer than the default in the quick group: a busy machine may keep HAProxy from looking for a while.
    const leaveMs = countOf({ quick: 4_000, faults: 1_000 });
    const figures = await run({ nodes: count === 1 ? 2 : 3, rounds: count, leaveMs });
    assert.ok(count === 1 || figures.stopMsMax < stopMsLimit, `a stop took ${figures.stopMsMax} ms`);
    return figures;
  },
});

/** No item of a kind that this version does not know is lost: each is a dead letter, as every node says. */
const assertParked = async ({ stores, settings, places }: World): Promise<void> => {
  const redis = new Redis(settings.REDIS_URL as string);
  const counts = await Promise.all((await redis.keys('*:later')).map((key) => redis.get(key)));
  redis.disconnect();
  const letters = await stores.sql<{ itag: string }[]>`select body ->> 'itag' as itag from dead_letters`;
  // Whole: NUL, which JSON in SQL cannot have, is a character that no bytes become.
  const items = new Set(letters.map(({ itag }) => /: later\ufffd([\w-]{36})\ufffd\xff$/.exec(itag)?.[1]));
  assert.not(items.has(undefined), letters[0]?.itag);
  assert.ok(items.size > 0);
  assert.is(
    items.size,
    counts.reduce((sum, count) => sum + Number(count), 0),
  );
  for (const { node } of places)
    await untilNote('dead_letters', { adminUrl: (node as StartedNode).adminUrl });
};

faultCase(test, {
  title: 'to a next version that expands the schema, and back again: no request fails',
  name: 'rolling restart with a later schema',
  once: true,
  run: () =>
    withNextVersion((next) =>
      run({ nodes: 3, rounds: 2, leaveMs: 1_000, programs: [next, mainProgram], inspect: assertParked }),
    ),
});

test.run();
