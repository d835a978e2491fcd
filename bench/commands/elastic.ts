/**
 * `elastic`: primaries of a Redis Cluster from three to four and back by moving slots, nodes from one to
 * eight and back, under the load and the judge of `prove`; each change is followed by two windows in which
 * CPU per request is read.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { listAllShards } from '../../engine/ids.ts';
import { type Context, defineCommand, type Report } from '../command.ts';
import { growPrimaries, type SlotMoved, shrinkPrimaries } from '../elastic/moves.ts';
import { openClusterStores } from '../elastic/stores.ts';
import { type UsedTimes, watchTimes } from '../measure/usage.ts';
import { count, type Values } from '../options.ts';
import { nowMs, type Span } from '../prove/client-log.ts';
import { openOwnWorld, toSubject } from '../prove/own-servers.ts';
import { askPatiently } from '../prove/patient.ts';
import { prove } from '../prove/prove.ts';
import type { ProveLog } from '../prove/prove-log.ts';
import { findSilenceMs, pickShards } from '../prove/silence.ts';
import { buildProofTable, listLies } from '../prove/table.ts';
import { tabulate } from '../report/table.ts';
import { fillWorld, toGrownId } from '../servers/fill.ts';
import type { ServerProcess } from '../servers/process.ts';
import type { World } from '../servers/world.ts';
import { runAtOnce } from '../shared/at-once.ts';
import { createClient } from '../shared/http-client.ts';
import { createRandom } from '../shared/random.ts';
import type { RedisCluster } from '../shared/redis-cluster.ts';

const options = {
  rate: count(2_000, [8, 5_000], 'requests a second in all'),
  nodes: count(8, [2, 16], 'at most so many nodes'),
  listings: count(
    30_000,
    [0, 10_000_000],
    'listings in the slots beside the driven ones, each with a visitor',
  ),
  seconds: count(10, [1, 60], 'of each window in which CPU is read; two follow each change'),
  seed: count(null, [0, 1_000_000_000], 'of the load'),
};

const drivenBots = 64;
const users = 1_000;
const hookedBots = 6;
const warmUpMs = 10_000;
const fillersAtOnce = 64;

/** A visit activates each filler: then it is in Redis. */
const visitFillers = async (url: string, fillers: number): Promise<void> => {
  const client = createClient(fillersAtOnce);
  const ids = Array.from({ length: fillers }, (_, index) => toGrownId(index));
  const headers = { 'X-Forwarded-For': '2001:db8:ffff::1' };
  await runAtOnce(ids, fillersAtOnce, (id) =>
    askPatiently(client, `${url}/bots/${id}?target=page`, { headers }),
  ).finally(client.close);
};

interface Run {
  readonly given: Values<typeof options>;
  readonly world: World;
  readonly cluster: RedisCluster;
  /** Addresses of the nodes that take requests: new ones come at the end, and go from there. */
  readonly urls: string[];
  readonly log: ProveLog;
  readonly show: (text: string) => void;
}

/** Requests that were answered in a window, and the CPU of nodes and stores for each. */
const measureWindow = async ({ given, world, log }: Run) => {
  const { nodes: servers, stores } = world;
  const [readUsed, answered] = [watchTimes({ servers, stores }), log.answered];
  await sleep(given.seconds * 1_000);
  const used: UsedTimes = await readUsed();
  const requests = log.answered - answered;
  return { requests, used, eachUs: (used.serverUs + used.redisUs + used.postgresUs) / Math.max(1, requests) };
};

/** The longest time without an acknowledged change of one shard. */
const findLongest = (log: ProveLog, span: Span): number =>
  Math.max(...listAllShards().map((shard) => findSilenceMs(pickShards(log, new Set([shard])), span)));

/** One change under load, and the two windows that follow. */
const runStage = async (run: Run, name: string, change: () => Promise<void>) => {
  const { log } = run;
  run.show(`${name} …`);
  const [fromMs, answered] = [nowMs(), log.answered];
  await change();
  const toMs = nowMs();
  const seconds = (toMs - fromMs) / 1_000;
  const rate = (log.answered - answered) / seconds;
  const after = [await measureWindow(run), await measureWindow(run)] as const;
  return { name, seconds, rate, silenceMs: findLongest(log, { fromMs, toMs }), after };
};

const listStages = ({ given, world, cluster, urls }: Run, moved: SlotMoved[]) => {
  let taken: Awaited<ReturnType<typeof growPrimaries>> | null = null;
  return [
    [
      'primaries 3 → 4',
      async () => {
        taken = await growPrimaries(cluster);
        moved.push(...taken.moved);
      },
    ],
    ['primaries 4 → 3', async () => void moved.push(...(taken ? await shrinkPrimaries(cluster, taken) : []))],
    [
      `nodes 1 → ${given.nodes}`,
      async () => {
        while (urls.length < given.nodes) urls.push((await world.start()).url);
      },
    ],
    [
      `nodes ${given.nodes} → 1`,
      async () => {
        while (urls.length > 1) {
          urls.pop();
          await world.end(world.nodes.at(-1) as ServerProcess);
        }
      },
    ],
  ] as const;
};

const runStages = async (run: Run, isOver: () => boolean) => {
  const moved: SlotMoved[] = [];
  await sleep(warmUpMs);
  const before = await measureWindow(run);
  const stages: Awaited<ReturnType<typeof runStage>>[] = [];
  for (const [name, change] of listStages(run, moved))
    if (!isOver()) stages.push(await runStage(run, name, change));
  const silences = moved.map((move) => {
    const silenceMs = findSilenceMs(pickShards(run.log, new Set([move.shard])), move);
    return { ...move, silenceMs };
  });
  return { before, stages, silences };
};

/** Starts all servers, drives, changes, and judges. */
export const runElastic = async (given: Run['given'], { live, stop }: Pick<Context, 'live' | 'stop'>) => {
  const { cluster, stores } = await openClusterStores();
  const world = await openOwnWorld(stores, { bots: drivenBots, users });
  const { show } = live;
  try {
    await fillWorld(world, { count: given.listings, live });
    const urls = [(await world.start()).url];
    show('a visit of each …');
    await visitFillers(urls[0] as string, given.listings);
    let measured: Awaited<ReturnType<typeof runStages>> | null = null;
    const proof = await prove({
      ...{ ...toSubject(world), urls, bots: drivenBots, webhooks: hookedBots, rate: given.rate, show },
      random: createRandom(given.seed ?? Date.now() % 1_000_000),
      historyMs: 0,
      meanwhile: async (isFull, log) => {
        const run = { given, world, cluster, urls, log, show };
        measured = await runStages(run, () => stop.aborted || isFull());
      },
    });
    return { proof, ...(measured as unknown as Awaited<ReturnType<typeof runStages>>) };
  } finally {
    await world.close();
  }
};

const columns = `silence ms   the longest time without an acknowledged change of any one shard
then, later  CPU of nodes, Redis and Postgres for one request, in the two windows after a change`;

const describe = ({ proof, before, stages, silences }: Awaited<ReturnType<typeof runElastic>>): Report => {
  const proofs = new Map([['rollcall', proof]]);
  const rows = [
    { name: 'before', seconds: null, rate: null, silenceMs: null, after: [null, before] },
    ...stages,
  ];
  return {
    parts: [
      buildProofTable(proofs),
      tabulate(
        silences.toSorted((one, other) => one.keys - other.keys),
        [
          ['shard', ({ shard }) => shard],
          ['slot', ({ slot }) => slot],
          ['keys', ({ keys }) => keys],
          ['MiB', ({ bytes }) => bytes / 1_048_576, 1],
          ['silence ms', ({ silenceMs }) => silenceMs],
        ],
        0,
      ),
      tabulate(rows, [
        ['', ({ name }) => name],
        ['seconds', ({ seconds }) => seconds, 1],
        ['requests/s', ({ rate }) => rate],
        ['silence ms', ({ silenceMs }) => silenceMs],
        ['then µs', ({ after }) => after[0]?.eachUs],
        ['later µs', ({ after }) => after[1]?.eachUs],
        ['÷ before', ({ after }) => (after[1]?.eachUs ?? 0) / before.eachUs, 2],
      ]),
      columns,
    ],
    figures: { proof, before, stages, silences },
    faults: listLies(proofs),
  };
};

export const elastic = defineCommand({
  name: 'elastic',
  about: 'a Redis Cluster and nodes that grow and shrink under load',
  more: `\
Under load, a fourth primary joins a Redis Cluster, takes a quarter of all slots and gives them back; then one
node becomes eight, and one again. Judges as prove does. Exits with 1 on any lie.`,
  options,
  endsWell: true,
  run: async (given, context) => {
    const result = await runElastic(given, context);
    context.report(() => describe(result));
  },
});
