/**
 * `npm run bench -- feed`: what the feed costs a node, next to bare publish of as many messages of the same
 * size in the same run; how soon a change arrives; what followers cost posts; and memory per connection.
 *
 * Node, bare server and followers are processes of their own. CPU is that of the event loop's thread; what
 * the posts themselves cost is measured before and taken off. Called by main.ts.
 */
import { writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { flag, parseCount, parseWords, text } from '../arguments.ts';
import { readCpuTime, readResidentBytes } from '../machine/cpu.ts';
import type { Live } from '../report/live.ts';
import { computeSpread } from '../report/statistics.ts';
import { createDirectory, type Directory, type Holder } from '../scenarios/directory.ts';
import { type ServerProcess, startServer } from '../servers/process.ts';
import { createFolder, importDirectory, startOn } from '../servers/rollcall.ts';
import { openStores } from '../servers/stores.ts';

const usage = `Usage: npm run bench -- feed [options]

  --connections N   followers (10000)
  --changes N       posts per second where each follower has a bot of its own (1000)
  --seconds S       measured seconds of a round (4)
  --rounds N        rounds (3)
  --json FILE       also writes the figures to FILE
`;

interface FeedOptions {
  readonly connections: number;
  readonly changes: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly jsonFile: string | undefined;
}

const parseOptions = (args: readonly string[]): FeedOptions | null => {
  const options = { connections: text, changes: text, seconds: text, rounds: text, json: text, help: flag };
  const given = parseWords(args, options).values;
  if (given.help) return null;
  return {
    connections: parseCount('connections', given.connections ?? '10000', [1, 15_000]),
    changes: parseCount('changes', given.changes ?? '1000', [1, 5_000]),
    seconds: parseCount('seconds', given.seconds ?? '4', [1, 60]),
    rounds: parseCount('rounds', given.rounds ?? '3', [1, 100]),
    jsonFile: given.json,
  };
};

/** One bot that all follow, or a bot for each follower. */
type Shape = 'one' | 'many';

interface Figures {
  /** Microseconds of CPU per message. */
  readonly node: Record<Shape, number[]>;
  readonly bare: Record<Shape, number[]>;
  readonly delaysMs: number[];
  readonly ackMs: { readonly alone: number[]; readonly followed: number[] };
  bytesPerConnection: number;
}

interface World {
  readonly options: FeedOptions;
  readonly live: Live;
  readonly directory: Directory;
  readonly node: ServerProcess;
  readonly figures: Figures;
  posts: number;
}

interface FollowerCounts {
  readonly open: number;
  readonly messages: number;
  readonly closed: number;
}

const postsPerSecondOfOne = 50;
/** A bot changes so often that each message of it is one interval of the node after the last. */
const messagesPerSecondOfOne = 4;
const messageBytes = 260;

const readCounts = async ({ url }: ServerProcess): Promise<FollowerCounts> =>
  (await (await fetch(url)).json()) as FollowerCounts;

const startFollowers = async (
  { options, directory, live }: World,
  about: { readonly url: string; readonly firstId: string; readonly shape: Shape },
): Promise<ServerProcess> => {
  const followers = await startServer({
    file: '../feed/subscribers.ts',
    settings: {
      COUNT: String(options.connections),
      TARGETS: String(about.shape === 'one' ? 1 : directory.bots.length),
      FIRST_ID: about.firstId,
      FEED_URL: about.url,
    },
  });
  for (;;) {
    const { open, closed } = await readCounts(followers);
    if (closed > 0) throw new Error(`${closed} of the followers' connections closed`);
    if (open === options.connections) break;
    live.show(`${open} followers …`);
    await pause(200);
  }
  // The first messages are not changes.
  await pause(1_000);
  return followers;
};

/* --------------------------------------------------------------------- posts */

const agent = new Agent({ keepAlive: true, maxSockets: 32 });

const post = ({ node }: World, { token }: Holder, servers: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const startedMs = performance.now();
    const body = `{"servers":${servers}}`;
    const headers = { authorization: `Bot ${token}`, 'content-length': body.length };
    const sent = request(`${node.url}/bots/stats`, { agent, method: 'POST', headers }, (response) => {
      response.resume().once('end', () => {
        if (response.statusCode === 200) resolve(performance.now() - startedMs);
        else reject(new Error(`a post got ${response.statusCode}`));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });

/** Posts at this rate until told to stop; returns what waits for the last answer. */
const startPosts = (
  world: World,
  { perSecond, bots }: { readonly perSecond: number; readonly bots: readonly Holder[] },
  onPosted: (servers: number, ackMs: number) => void,
): (() => Promise<void>) => {
  const pending = new Set<Promise<void>>();
  let owed = 0;
  const tickMs = 20;
  const timer = setInterval(() => {
    owed += (perSecond * tickMs) / 1_000;
    for (; owed >= 1; owed--) {
      const servers = ++world.posts;
      const sent = post(world, bots[servers % bots.length] as Holder, servers).then((ackMs) =>
        onPosted(servers, ackMs),
      );
      pending.add(sent);
      void sent.finally(() => pending.delete(sent));
    }
  }, tickMs);
  return async () => {
    clearInterval(timer);
    await Promise.all(pending);
  };
};

/** A follower that times changes from their acknowledgement; returns what ends it. */
const startProbe = async ({ node, directory, figures }: World) => {
  const waiting = new Map<number, number>();
  const target = `bot/${directory.bots[0]?.id}`;
  const socket = new WebSocket(`${node.url.replace('http', 'ws')}/feed?targets=${target}`);
  socket.addEventListener('message', ({ data }) => {
    const servers: number = JSON.parse(String(data)).data.totals?.servers ?? 0;
    const nowMs = performance.now();
    for (const [number, ackedMs] of waiting) {
      if (number > servers) continue;
      figures.delaysMs.push(Math.max(0, nowMs - ackedMs));
      waiting.delete(number);
    }
  });
  await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }));
  return {
    acknowledge: (servers: number) => waiting.set(servers, performance.now()),
    close: () => socket.close(),
  };
};

/* ------------------------------------------------------------------- measuring */

/** CPU of the server's event loop and messages of the followers, for so many seconds. */
const measure = async (
  server: ServerProcess,
  followers: ServerProcess | null,
  seconds: number,
): Promise<{ readonly cpuUs: number; readonly messages: number }> => {
  const count = async (): Promise<number> =>
    followers === null ? 0 : (await readCounts(followers)).messages;
  const before = { messages: await count(), cpu: await readCpuTime(server.child) };
  await pause(seconds * 1_000);
  const cpu = await readCpuTime(server.child);
  return { cpuUs: cpu.mainUs - before.cpu.mainUs, messages: (await count()) - before.messages };
};

const botsOf = ({ directory }: World, shape: Shape): readonly Holder[] =>
  shape === 'one' ? directory.bots.slice(0, 1) : directory.bots;

const measureNode = async (world: World, shape: Shape): Promise<void> => {
  const { node, options, figures, directory } = world;
  const rate = shape === 'one' ? postsPerSecondOfOne : options.changes;
  const about = { perSecond: rate, bots: botsOf(world, shape) };
  const takeAlone = (_: number, ackMs: number): void => {
    if (shape === 'one') figures.ackMs.alone.push(ackMs);
  };
  const stopAlone = startPosts(world, about, takeAlone);
  // Each bot is read from the stores by its first post.
  await pause(Math.max(1_000, (about.bots.length / rate) * 1_500));
  const alone = await measure(node, null, options.seconds);
  await stopAlone();
  const before = readResidentBytes(node.child.pid ?? 0);
  const firstId = directory.bots[0]?.id ?? '';
  const followers = await startFollowers(world, { url: node.url, firstId, shape });
  try {
    const grown = readResidentBytes(node.child.pid ?? 0) - before;
    figures.bytesPerConnection ||= Math.max(0, grown / options.connections);
    const probe = shape === 'one' ? await startProbe(world) : null;
    const stop = startPosts(world, about, (servers, ackMs) => {
      probe?.acknowledge(servers);
      if (shape === 'one') figures.ackMs.followed.push(ackMs);
    });
    await pause(1_000);
    const followed = await measure(node, followers, options.seconds);
    await stop();
    await pause(600);
    probe?.close();
    figures.node[shape].push((followed.cpuUs - alone.cpuUs) / followed.messages);
    world.live.print(`${shape}: node ${describeRound(followed, options.seconds, figures.node[shape])}`);
  } finally {
    await followers.stop();
  }
};

const measureBare = async (world: World, shape: Shape): Promise<void> => {
  const { options, figures } = world;
  const topics = shape === 'one' ? 1 : world.directory.bots.length;
  const settings = { BYTES: String(messageBytes), TOPICS: String(topics) };
  const bare = await startServer({ file: '../feed/bare.ts', settings });
  try {
    const followers = await startFollowers(world, { url: bare.url, firstId: '0', shape });
    try {
      const rate = shape === 'one' ? messagesPerSecondOfOne : options.changes;
      await fetch(`${bare.url}/rate/${rate}`, { method: 'PUT' });
      await pause(1_000);
      const measured = await measure(bare, followers, options.seconds);
      figures.bare[shape].push(measured.cpuUs / measured.messages);
      world.live.print(`${shape}: bare ${describeRound(measured, options.seconds, figures.bare[shape])}`);
    } finally {
      await followers.stop();
    }
  } finally {
    await bare.stop();
  }
};

const describeRound = (
  { messages }: { readonly messages: number },
  seconds: number,
  cpuUs: readonly number[],
): string => `${(messages / seconds).toFixed(0)} messages/s, ${cpuUs.at(-1)?.toFixed(2)} us each`;

const measureAll = async (world: World): Promise<void> => {
  for (let round = 1; round <= world.options.rounds; round++) {
    for (const shape of ['one', 'many'] as const) {
      world.live.show(`round ${round}: ${shape} …`);
      await measureNode(world, shape);
      await measureBare(world, shape);
    }
  }
};

/* ---------------------------------------------------------------------- report */

const percentile = (values: readonly number[], share: number): number =>
  [...values].sort((one, other) => one - other)[Math.ceil(values.length * share) - 1] ?? Number.NaN;

const describe = ({ figures, options }: World): string => {
  const { node, bare, delaysMs, ackMs, bytesPerConnection } = figures;
  const lines = (['one', 'many'] as const).map((shape) => {
    const ratios = node[shape].map((value, index) => value / (bare[shape][index] ?? Number.NaN));
    const of = (values: readonly number[]): string => computeSpread(values).median.toFixed(2);
    const what = shape === 'one' ? 'all follow one bot' : 'each follows a bot of its own';
    return `${what}: ${of(node[shape])} us per message, bare publish ${of(bare[shape])}, ratio ${of(ratios)}`;
  });
  const p = (values: readonly number[], share: number): string => percentile(values, share).toFixed(1);
  return [
    `${options.connections} followers, ${options.rounds} rounds of ${options.seconds} s`,
    ...lines,
    `change acknowledged to its message: p50 ${p(delaysMs, 0.5)} ms, p99 ${p(delaysMs, 0.99)} ms`,
    `acknowledgement of a post: p50 ${p(ackMs.alone, 0.5)} ms alone, ${p(ackMs.followed, 0.5)} followed; ` +
      `p99 ${p(ackMs.alone, 0.99)} ms alone, ${p(ackMs.followed, 0.99)} followed`,
    `memory per idle connection: ${(bytesPerConnection / 1_024).toFixed(1)} KB`,
  ].join('\n');
};

/** Prints what was measured. Resolves to the exit code. Throws `ArgumentError`. */
export const runFeed = async (args: readonly string[], live: Live, signal: AbortSignal): Promise<number> => {
  const options = parseOptions(args);
  if (options === null) {
    console.log(usage);
    return 0;
  }
  const directory = createDirectory({ bots: options.connections, users: 1 });
  const stores = await openStores('embedded', false);
  const folder = createFolder();
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  try {
    live.show('importing …');
    await importDirectory(folder, { directory, stores: stores.rollcall });
    const node = await startOn(folder, { profileDir: null, stores: stores.rollcall });
    const figures: Figures = {
      node: { one: [], many: [] },
      bare: { one: [], many: [] },
      delaysMs: [],
      ackMs: { alone: [], followed: [] },
      bytesPerConnection: 0,
    };
    try {
      const world: World = { options, live, directory, node, figures, posts: 0 };
      await Promise.race([measureAll(world), stopped]);
      live.clear();
      if (!signal.aborted) console.log(describe(world));
      if (options.jsonFile !== undefined)
        writeFileSync(options.jsonFile, `${JSON.stringify(figures, null, 2)}\n`);
    } finally {
      await node.stop();
    }
  } finally {
    live.clear();
    agent.destroy();
    await stores.close();
    folder.remove();
  }
  return signal.aborted ? 130 : 0;
};
