/**
 * `webhooks`: how long a vote takes to its webhook, and how many deliveries per second a node makes, next to
 * a plain loop of requests in the same run.
 *
 * A receiver over TLS on loopback is a process of its own, and so are the node and each loop. The node sends
 * a backlog of replays, so that no votes compete with it, and is timed once all of them are queued.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Context, defineCommand } from '../command.ts';
import { count, type Values } from '../options.ts';
import type { Receipts } from '../programs/webhook-receiver.ts';
import { computeSpread, describePercentiles } from '../report/statistics.ts';
import { tabulate } from '../report/table.ts';
import type { Holder } from '../scenarios/directory.ts';
import { runProgram, startServer } from '../servers/process.ts';
import { openWorld } from '../servers/world.ts';
import { runAtOnce } from '../shared/at-once.ts';

const options = {
  endpoints: count(200, [1, 5_000], 'webhooks, each of a bot of its own'),
  votes: count(100, [1, 1_000], 'votes for each bot: deliveries of a round for each endpoint'),
  delays: count(200, [1, 10_000], 'votes timed from the answer to the webhook, 20 per second'),
  rounds: count(3, [1, 100], 'rounds of deliveries per second'),
};

const contestants = ['node', 'sender', 'agent'] as const;
/** The loops' requests at a time: as many sockets as the node has endpoints at work. */
const loops = 64;
const votesAtOnce = 32;
const waitMsMax = 120_000;

const start = async (given: Values<typeof options>) => {
  const { endpoints: bots, votes, delays } = given;
  const settings = { WEBHOOK_ADDRESSES: 'any' };
  const world = await openWorld({ stores: 'redis', bots, users: votes + Math.ceil(delays / bots), settings });
  const caFile = join(world.folder.path, 'receiver.pem');
  const program = { file: '../programs/webhook-receiver.ts', settings: { CA_FILE: caFile } };
  const receiver = await world.own(startServer(program));
  const node = await world.start({ NODE_EXTRA_CA_CERTS: caFile });
  const figures = {
    rates: { node: [] as number[], sender: [] as number[], agent: [] as number[] },
    delaysMs: [] as number[],
    /** Events that the node sent more than once. */
    repeats: 0,
  };
  return { given, caFile, node, receiver, figures, ...world.directory, webhookIds: [] as string[] };
};
type Run = Awaited<ReturnType<typeof start>>;

interface Call {
  readonly method: string;
  readonly path: string;
  readonly holder: Holder;
  readonly body?: object;
  /** Edits are limited by address, so each bot has one of its own. */
  readonly from?: number;
}

const call = async ({ node }: Run, { method, path, holder, body, from = 0 }: Call): Promise<string> => {
  const address = `10.0.${Math.floor(from / 250)}.${from % 250}`;
  const kind = path.startsWith('/users/') ? 'User' : 'Bot';
  const headers = { authorization: `${kind} ${holder.token}`, 'x-forwarded-for': address };
  const response = await fetch(node.url + path, {
    ...{ method, headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text;
};

/** One call of each bot, with its own address. */
const callAll = (
  run: Run,
  toCall: (index: number) => Pick<Call, 'path' | 'body'>,
  take = (_: number, _text: string) => {},
) =>
  runAtOnce([...run.bots.entries()], votesAtOnce, async ([index, holder]) => {
    const { path, ...more } = toCall(index);
    const address = `/bots/${holder.id}/webhooks${path}`;
    take(index, await call(run, { method: 'POST', holder, from: index, path: address, ...more }));
  });

const readReceipts = async ({ receiver }: Run, path = '/'): Promise<Receipts> =>
  (await (await fetch(receiver.url + path)).json()) as Receipts;

/** Until so many requests, or different events, have arrived. */
const waitFor = async (run: Run, what: 'count' | 'events', number: number): Promise<Receipts> => {
  const endMs = performance.now() + waitMsMax;
  for (;;) {
    const receipts = await readReceipts(run);
    if (receipts[what] >= number) return receipts;
    if (performance.now() > endMs) throw new Error(`only ${receipts[what]} of ${number} ${what} arrived`);
    await pause(50);
  }
};

const vote = async (run: Run, user: Holder, bot: Holder): Promise<void> => {
  const path = `/users/${user.id}/bots/${bot.id}/votes?upvote=true`;
  await call(run, { method: 'PUT', path, holder: user });
};

/** Votes at a fixed rate, each by a user and for a bot of its own as far as there are some. */
const measureDelays = async (run: Run): Promise<void> => {
  const { given, users, bots, figures } = run;
  await readReceipts(run, '/reset?keep');
  const acknowledgedMs = new Map<string, number>();
  const sent: Promise<void>[] = [];
  for (let index = 0; index < given.delays; index++) {
    const bot = bots[index % bots.length] as Holder;
    const user = users[given.votes + Math.floor(index / bots.length)] as Holder;
    const timed = vote(run, user, bot).then(() => {
      acknowledgedMs.set(`${user.id} ${bot.id}`, performance.timeOrigin + performance.now());
    });
    sent.push(timed);
    await pause(50);
  }
  await Promise.all(sent);
  for (const { body, atMs } of (await waitFor(run, 'events', given.delays)).kept) {
    const { user, target } = JSON.parse(body).data;
    figures.delaysMs.push(atMs - (acknowledgedMs.get(`${user.id} ${target.id}`) ?? Number.NaN));
  }
};

const measureNode = async (run: Run): Promise<number> => {
  const { given, webhookIds, figures } = run;
  const body = { since: '2000-01-01T00:00:00.000Z', until: '2100-01-01T00:00:00.000Z' };
  await callAll(run, (index) => ({ path: `/${webhookIds[index]}/replay`, body }));
  // While replays are being queued, that takes as much of the stores as sending does.
  const [queued, queuedMs] = [await readReceipts(run), performance.timeOrigin + performance.now()];
  const receipts = await waitFor(run, 'events', given.endpoints * given.votes);
  figures.repeats += receipts.count - receipts.events;
  return ((receipts.count - queued.count) * 1_000) / (receipts.lastMs - queuedMs);
};

const measureLoop = async (run: Run, mode: string, body: string): Promise<number> => {
  const { endpoints, votes } = run.given;
  const { port } = await readReceipts(run);
  const settings = {
    ...{ MODE: mode, CA_FILE: run.caFile, RECEIVER_PORT: String(port), COUNT: String(endpoints * votes) },
    ...{ LOOPS: String(loops), ENDPOINTS: String(endpoints), BODY: body },
  };
  await runProgram({ file: '../programs/webhook-loop.ts', settings });
  const { count: arrived, firstMs, lastMs } = await waitFor(run, 'count', endpoints * votes);
  return (arrived * 1_000) / (lastMs - firstMs);
};

const measureAll = async (run: Run, { live }: Context): Promise<void> => {
  const { given, bots, figures, webhookIds } = run;
  live.show('webhooks …');
  const { port } = await readReceipts(run);
  const toWebhook = (index: number) => ({
    path: '',
    body: { name: 'bench', url: `https://localhost:${port}/hook/${index}` },
  });
  await callAll(run, toWebhook, (index, text) => {
    webhookIds[index] = JSON.parse(text).id;
  });
  const pairs = run.users.slice(0, given.votes).flatMap((user) => bots.map((bot) => ({ user, bot })));
  live.show(`${pairs.length} votes …`);
  await readReceipts(run, '/reset?keep');
  await runAtOnce(pairs, votesAtOnce, ({ user, bot }) => vote(run, user, bot));
  const body = (await waitFor(run, 'events', pairs.length)).kept[0]?.body ?? '';
  for (let round = 1; round <= given.rounds; round++) {
    for (const name of round % 2 === 0 ? contestants : contestants.toReversed()) {
      live.show(`round ${round}: ${name} …`);
      await readReceipts(run, '/reset');
      const rate = name === 'node' ? await measureNode(run) : await measureLoop(run, name, body);
      figures.rates[name].push(rate);
      live.print(`round ${round}: ${name} ${rate.toFixed(0)} deliveries/s`);
    }
  }
  live.show(`${given.delays} timed votes …`);
  await measureDelays(run);
};

const describe = ({ figures, given }: Run) => {
  const { rates, delaysMs, repeats } = figures;
  const rows = contestants
    .filter((name) => rates[name].length > 0)
    .map((name) => ({
      name,
      rate: computeSpread(rates[name]),
      ratio: computeSpread(rates[name].map((rate, index) => rate / (rates.agent[index] ?? Number.NaN))),
    }));
  const table = tabulate(rows, [
    ['', ({ name }) => name],
    ['deliveries/s', ({ rate }) => rate.median],
    ['lowest', ({ rate }) => rate.min],
    ['highest', ({ rate }) => rate.max],
    ['÷ agent', ({ ratio }) => ratio.median, 2],
  ]);
  const parts = [
    `${given.endpoints} endpoints, ${repeats} deliveries repeated`,
    table,
    `vote acknowledged to its webhook, ${delaysMs.length} votes: ${describePercentiles(delaysMs, 0)}`,
  ];
  return { parts, figures };
};

export const webhooks = defineCommand({
  name: 'webhooks',
  about: 'a vote to its webhook; deliveries per second over TLS',
  options,
  run: async (given, context) => {
    const run = await start(given);
    context.report(() => describe(run));
    await measureAll(run, context);
  },
});
