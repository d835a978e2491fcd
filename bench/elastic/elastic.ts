/**
 * One run of `elastic`: `prove` drives nodes on a Cluster and judges them at the end, while primaries and
 * nodes come and go; each change is followed by two windows in which CPU per request is read.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { listAllShards, type Shard, shardsTotal } from '../../engine/ids.ts';
import { fillBots, toGrownId } from '../growth/fill.ts';
import { nowMs, type Span } from '../prove/client-log.ts';
import { askPatiently } from '../prove/patient.ts';
import { prove } from '../prove/prove.ts';
import type { ProveLog } from '../prove/prove-log.ts';
import { findSilenceMs, pickShards } from '../prove/silence.ts';
import type { Proof } from '../prove/verdict.ts';
import { createDirectory } from '../scenarios/directory.ts';
import { runAtOnce } from '../shared/at-once.ts';
import { createClient } from '../shared/http-client.ts';
import type { Random } from '../shared/random.ts';
import { growPrimaries, type SlotMoved, shrinkPrimaries, type Taken } from './moves.ts';
import { type CpuUsed, type ElasticServers, startElastic } from './servers.ts';

export interface ElasticOptions {
  /** Requests a second. */
  readonly rate: number;
  /** How many nodes there are in the end of the growth; one before and after. */
  readonly nodes: number;
  /** Listings beside the driven ones, each with one visitor: they give the slots their size. */
  readonly listings: number;
  readonly windowSeconds: number;
  readonly random: Random;
  readonly show: (text: string) => void;
  /** Aborted: no further stage begins. */
  readonly stop: AbortSignal;
}

/** CPU of a window. */
export interface Window {
  /** Requests that were answered in it. */
  readonly requests: number;
  readonly seconds: number;
  readonly used: CpuUsed;
}

export interface Stage {
  readonly name: string;
  readonly seconds: number;
  /** The longest time without an acknowledged change of one shard, from the stage's begin to its end. */
  readonly silenceMs: number;
  /** Requests a second meanwhile. */
  readonly rate: number;
  /** The two windows that follow. */
  readonly after: readonly [Window, Window];
}

export interface ShardSilence extends SlotMoved {
  readonly silenceMs: number;
}

export interface ElasticResult {
  readonly proof: Proof;
  /** Before the first stage. */
  readonly before: Window;
  readonly stages: readonly Stage[];
  readonly silences: readonly ShardSilence[];
}

const drivenBots = 64;
const users = 1_000;
const hookedBots = 6;
const warmUpMs = 10_000;
const clocksMs = 5;
const fillersAtOnce = 64;

/** A visit activates each filler: then it is in Redis. */
const visitFillers = async ({ urls }: ElasticServers, count: number): Promise<void> => {
  const client = createClient(fillersAtOnce);
  const ids = Array.from({ length: count }, (_, index) => toGrownId(index));
  const headers = { 'X-Forwarded-For': '2001:db8:ffff::1' };
  await runAtOnce(ids, fillersAtOnce, (id) =>
    askPatiently(client, `${urls[0]}/bots/${id}?target=page`, { headers }),
  ).finally(client.close);
};

interface Run {
  readonly options: ElasticOptions;
  readonly servers: ElasticServers;
  readonly log: ProveLog;
}

const measureWindow = async ({ options, servers, log }: Run): Promise<Window> => {
  const [from, answered, fromMs] = [await servers.readCpu(), log.answered, nowMs()];
  await sleep(options.windowSeconds * 1_000);
  const to = await servers.readCpu();
  const used = {
    nodes: to.nodes - from.nodes,
    redis: to.redis - from.redis,
    postgres: to.postgres - from.postgres,
  };
  return { requests: log.answered - answered, seconds: (nowMs() - fromMs) / 1_000, used };
};

const findLongest = (log: ProveLog, span: Span): number =>
  Math.max(
    ...listAllShards(shardsTotal).map((shard) => findSilenceMs(pickShards(log, new Set([shard])), span)),
  );

const runStage = async (run: Run, name: string, change: () => Promise<void>): Promise<Stage> => {
  const { log, options } = run;
  options.show(`${name} …`);
  const [fromMs, answered] = [nowMs(), log.answered];
  await change();
  const seconds = (nowMs() - fromMs) / 1_000;
  const rate = (log.answered - answered) / seconds;
  const toMs = nowMs();
  const after = [await measureWindow(run), await measureWindow(run)] as const;
  return { name, seconds, rate, silenceMs: findLongest(log, { fromMs, toMs }), after };
};

interface StagePlan {
  readonly name: string;
  readonly change: () => Promise<void>;
}

const planStages = ({ options, servers }: Run, moved: SlotMoved[]): readonly StagePlan[] => {
  const { cluster } = servers;
  let taken: Taken | null = null;
  return [
    {
      name: 'primaries 3 → 4',
      change: async () => {
        taken = await growPrimaries(cluster);
        moved.push(...taken.moved);
      },
    },
    {
      name: 'primaries 4 → 3',
      change: async () => void moved.push(...(await shrinkPrimaries(cluster, taken as Taken))),
    },
    {
      name: `nodes 1 → ${options.nodes}`,
      change: async () => {
        while (servers.urls.length < options.nodes) await servers.addNode();
      },
    },
    {
      name: `nodes ${options.nodes} → 1`,
      change: async () => {
        while (servers.urls.length > 1) await servers.removeNode();
      },
    },
  ];
};

type Measured = Omit<ElasticResult, 'proof'>;

const runStages = async (run: Run, isOver: () => boolean): Promise<Measured> => {
  const moved: SlotMoved[] = [];
  await sleep(warmUpMs);
  const before = await measureWindow(run);
  const stages: Stage[] = [];
  for (const { name, change } of planStages(run, moved))
    if (!isOver()) stages.push(await runStage(run, name, change));
  const silences = moved.map((move) => {
    const silenceMs = findSilenceMs(pickShards(run.log, new Set<Shard>([move.shard])), move);
    return { ...move, silenceMs };
  });
  return { before, stages, silences };
};

/** Starts all servers, drives, changes, judges, and ends them. */
export const runElastic = async (options: ElasticOptions): Promise<ElasticResult> => {
  const { listings, random, rate, show, stop } = options;
  const directory = createDirectory({ bots: drivenBots, users });
  const servers = await startElastic(directory);
  try {
    const copies = { template: directory.bots[0]?.id ?? '', count: listings };
    await fillBots(servers.databaseUrl, copies, (done) => show(`${done} listings …`));
    await servers.addNode();
    show('a visit of each …');
    await visitFillers(servers, listings);
    let measured: Measured | null = null;
    const { urls, waitMs } = servers;
    const proof = await prove({
      ...{ urls, waitMs, directory, bots: drivenBots, webhooks: hookedBots, isDirect: true, clocksMs },
      ...{ random, rate, historyMs: 0, firstId: 1, show },
      meanwhile: async (isFull, log) => {
        measured = await runStages({ options, servers, log }, () => stop.aborted || isFull());
      },
    });
    return { proof, ...(measured as unknown as Measured) };
  } finally {
    await servers.close();
  }
};
