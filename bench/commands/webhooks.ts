/**
 * `npm run bench -- webhooks`: how long a vote takes to its webhook, and how many deliveries per second a
 * node makes, next to a plain loop of requests in the same run.
 *
 * A receiver over TLS on loopback is a process of its own, and so are the node and each loop. The node sends
 * a backlog of replays, so that no votes compete with it, and is timed once all of them are queued. Ctrl-C
 * ends all of them.
 */

import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseCount, text } from '../arguments.ts';
import type { Live } from '../report/live.ts';
import { computeSpread, percentile } from '../report/statistics.ts';
import { alignColumns } from '../report/text.ts';
import { createDirectory, type Directory, type Holder } from '../scenarios/directory.ts';
import { runProgram, type ServerProcess, startServer } from '../servers/process.ts';
import { createFolder, type Folder, importDirectory, startOn } from '../servers/rollcall.ts';
import { openStores } from '../servers/stores.ts';
import { runAtOnce } from '../shared/at-once.ts';
import type { Receipts } from '../webhooks/receiver.ts';
import { type CommandContext, defineCommand, interruptedCode } from './command.ts';

const usage = `Usage: npm run bench -- webhooks [options]

  --endpoints N     webhooks, each of a bot of its own (200)
  --votes N         votes for each bot: deliveries of a round for each endpoint (100)
  --delays N        votes timed from the answer to the webhook, 20 per second (200)
  --rounds N        rounds of deliveries per second (3)
  --json FILE       also writes the figures to FILE
`;

interface WebhookOptions {
  readonly endpoints: number;
  readonly votes: number;
  readonly delays: number;
  readonly rounds: number;
}

interface World {
  readonly options: WebhookOptions;
  readonly live: Live;
  readonly directory: Directory;
  readonly caFile: string;
  readonly node: ServerProcess;
  readonly receiver: ServerProcess;
  readonly rates: Record<Contestant, number[]>;
  webhookIds: readonly string[];
  delaysMs: readonly number[];
  /** Events that the node sent more than once. */
  repeats: number;
}
const contestants = ['node', 'sender', 'agent'] as const;
type Contestant = (typeof contestants)[number];

/** The loops' requests at a time: as many sockets as the node has endpoints at work. */
const loops = 64;
const votesAtOnce = 32;
const waitMsMax = 120_000;

interface Call {
  readonly method: string;
  readonly path: string;
  readonly holder: Holder;
  readonly kind: 'Bot' | 'User';
  readonly body?: object;
  /** Edits are limited by address, so each bot has one of its own. */
  readonly from?: number;
}

const toAddress = (index: number): string => `10.0.${Math.floor(index / 250)}.${index % 250}`;

const call = async (
  { node }: World,
  { method, path, holder, kind, body, from = 0 }: Call,
): Promise<string> => {
  const response = await fetch(node.url + path, {
    method,
    headers: { authorization: `${kind} ${holder.token}`, 'x-forwarded-for': toAddress(from) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text;
};

const readReceipts = async ({ receiver }: World, path = '/'): Promise<Receipts> =>
  (await (await fetch(receiver.url + path)).json()) as Receipts;

/** Until so many requests, or different events, have arrived. */
const waitFor = async (world: World, what: 'count' | 'events', count: number): Promise<Receipts> => {
  const endMs = performance.now() + waitMsMax;
  for (;;) {
    const receipts = await readReceipts(world);
    if (receipts[what] >= count) return receipts;
    if (performance.now() > endMs) throw new Error(`only ${receipts[what]} of ${count} ${what} arrived`);
    await pause(50);
  }
};

const createWebhooks = async (world: World): Promise<void> => {
  const { port } = await readReceipts(world);
  const ids: string[] = [];
  await runAtOnce([...world.directory.bots.entries()], votesAtOnce, async ([index, holder]) => {
    const body = { name: 'bench', url: `https://localhost:${port}/hook/${index}` };
    const path = `/bots/${holder.id}/webhooks`;
    const text = await call(world, { method: 'POST', path, holder, kind: 'Bot', body, from: index });
    ids[index] = JSON.parse(text).id;
  });
  world.webhookIds = ids;
};

const vote = async (world: World, user: Holder, bot: Holder): Promise<void> => {
  const path = `/users/${user.id}/bots/${bot.id}/votes?upvote=true`;
  await call(world, { method: 'PUT', path, holder: user, kind: 'User' });
};

/** Votes at a fixed rate, each by a user and for a bot of its own as far as there are some. */
const measureDelays = async (world: World): Promise<void> => {
  const { options, directory } = world;
  const { users, bots } = directory;
  await readReceipts(world, '/reset?keep');
  const acknowledgedMs = new Map<string, number>();
  const votes: Promise<void>[] = [];
  for (let index = 0; index < options.delays; index++) {
    const bot = bots[index % bots.length] as Holder;
    const user = users[options.votes + Math.floor(index / bots.length)] as Holder;
    const timed = vote(world, user, bot).then(() => {
      acknowledgedMs.set(`${user.id} ${bot.id}`, performance.timeOrigin + performance.now());
    });
    votes.push(timed);
    await pause(50);
  }
  await Promise.all(votes);
  const { kept } = await waitFor(world, 'events', options.delays);
  world.delaysMs = kept.map(({ body, atMs }) => {
    const { user, target } = JSON.parse(body).data;
    return atMs - (acknowledgedMs.get(`${user.id} ${target.id}`) ?? Number.NaN);
  });
};

const toRate = ({ count, firstMs, lastMs }: Receipts): number => (count * 1_000) / (lastMs - firstMs);

const measureNode = async (world: World): Promise<number> => {
  const { options, directory, webhookIds } = world;
  await runAtOnce([...directory.bots.entries()], votesAtOnce, async ([index, holder]) => {
    const path = `/bots/${holder.id}/webhooks/${webhookIds[index]}/replay`;
    const body = { since: '2000-01-01T00:00:00.000Z', until: '2100-01-01T00:00:00.000Z' };
    await call(world, { method: 'POST', path, holder, kind: 'Bot', body, from: index });
  });
  // While replays are being queued, that takes as much of the stores as sending does.
  const [queued, queuedMs] = [await readReceipts(world), performance.timeOrigin + performance.now()];
  const receipts = await waitFor(world, 'events', options.endpoints * options.votes);
  world.repeats += receipts.count - receipts.events;
  return ((receipts.count - queued.count) * 1_000) / (receipts.lastMs - queuedMs);
};

const measureLoop = async (world: World, mode: 'sender' | 'agent', body: string): Promise<number> => {
  const { options, caFile } = world;
  const { port } = await readReceipts(world);
  const count = options.endpoints * options.votes;
  const settings = {
    MODE: mode,
    CA_FILE: caFile,
    RECEIVER_PORT: String(port),
    COUNT: String(count),
    LOOPS: String(loops),
    ENDPOINTS: String(options.endpoints),
    BODY: body,
  };
  await runProgram({ file: '../webhooks/loop.ts', settings });
  return toRate(await waitFor(world, 'count', count));
};

const measureAll = async (world: World): Promise<void> => {
  const { options, live, directory } = world;
  live.show('webhooks …');
  await createWebhooks(world);
  const users = directory.users.slice(0, options.votes);
  const pairs = users.flatMap((user) => directory.bots.map((bot) => ({ user, bot })));
  live.show(`${pairs.length} votes …`);
  await readReceipts(world, '/reset?keep');
  await runAtOnce(pairs, votesAtOnce, ({ user, bot }) => vote(world, user, bot));
  const { kept } = await waitFor(world, 'events', pairs.length);
  const body = kept[0]?.body ?? '';
  for (let round = 1; round <= options.rounds; round++) {
    for (const name of round % 2 === 0 ? contestants : [...contestants].reverse()) {
      live.show(`round ${round}: ${name} …`);
      await readReceipts(world, '/reset');
      const rate = name === 'node' ? await measureNode(world) : await measureLoop(world, name, body);
      world.rates[name].push(rate);
      live.print(`round ${round}: ${name} ${rate.toFixed(0)} deliveries/s`);
    }
  }
  live.show(`${options.delays} timed votes …`);
  await measureDelays(world);
};

const describe = ({ rates, delaysMs, repeats, options }: World): string => {
  const agent = rates.agent;
  const rows = contestants
    .filter((name) => rates[name].length > 0)
    .map((name) => {
      const { median, min, max } = computeSpread(rates[name]);
      const ratios = rates[name].map((rate, index) => rate / (agent[index] ?? Number.NaN));
      return [
        name,
        median.toFixed(0),
        min.toFixed(0),
        max.toFixed(0),
        computeSpread(ratios).median.toFixed(2),
      ];
    });
  const table = { head: ['', 'deliveries/s', 'lowest', 'highest', '÷ agent'], textColumns: 1, rows };
  const [p50, p99] = [0.5, 0.99].map((share) => percentile(delaysMs, share).toFixed(0));
  const delay = `vote acknowledged to its webhook, ${delaysMs.length} votes: p50 ${p50} ms, p99 ${p99} ms`;
  const title = `${options.endpoints} endpoints, ${repeats} deliveries repeated`;
  return `${title}\n${alignColumns(table)}\n\n${delaysMs.length > 0 ? delay : ''}`;
};

const startReceiver = (caFile: string): Promise<ServerProcess> =>
  startServer({ file: '../webhooks/receiver.ts', settings: { CA_FILE: caFile } });

const startNode = async (
  folder: Folder,
  {
    directory,
    stores,
    caFile,
  }: {
    readonly directory: Directory;
    readonly stores: Readonly<Record<string, string>>;
    readonly caFile: string;
  },
): Promise<ServerProcess> => {
  await importDirectory(folder, { directory, stores });
  const settings = { ...stores, WEBHOOK_ADDRESSES: 'any', NODE_EXTRA_CA_CERTS: caFile };
  return startOn(folder, { profileDir: null, stores: settings });
};

/** Prints what was measured. Resolves to the exit code. */
const run = async (options: WebhookOptions, context: CommandContext): Promise<number> => {
  const { live, stop, stopped, writeJson } = context;
  const { endpoints: bots, votes, delays } = options;
  const directory = createDirectory({ bots, users: votes + Math.ceil(delays / bots) });
  const stores = await openStores('redis', false);
  const folder = createFolder();
  const caFile = join(folder.path, 'receiver.pem');
  const servers: ServerProcess[] = [];
  try {
    const receiver = await startReceiver(caFile);
    servers.push(receiver);
    const node = await startNode(folder, { directory, stores: stores.rollcall, caFile });
    servers.push(node);
    const lists = { rates: { node: [], sender: [], agent: [] }, webhookIds: [], delaysMs: [], repeats: 0 };
    const world: World = { options, live, directory, caFile, node, receiver, ...lists };
    await Promise.race([measureAll(world), stopped]);
    live.clear();
    console.log(describe(world));
    const { rates, delaysMs, repeats } = world;
    writeJson({ rates, delaysMs, repeats });
  } finally {
    live.clear();
    await Promise.all(servers.map((server) => server.stop()));
    await stores.close();
    folder.remove();
  }
  return stop.aborted ? interruptedCode : 0;
};

export const runWebhooks = defineCommand({
  usage,
  options: { endpoints: text, votes: text, delays: text, rounds: text, json: text },
  parse: (given): WebhookOptions => ({
    endpoints: parseCount('endpoints', given.endpoints ?? '200', [1, 5_000]),
    votes: parseCount('votes', given.votes ?? '100', [1, 1_000]),
    delays: parseCount('delays', given.delays ?? '200', [1, 10_000]),
    rounds: parseCount('rounds', given.rounds ?? '3', [1, 100]),
  }),
  run,
});
