/**
 * `prove`: drives a server, while its operator may kill any part of it, and judges in the end what it
 * acknowledged by what it has. Without `--url` it starts the server itself, and kills it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Context, defineCommand } from '../command.ts';
import { ArgumentError, count, flag, names, type Values, word } from '../options.ts';
import {
  type Disturbance,
  disturbances,
  type OwnServers,
  startOwn,
  startOwnPeer,
} from '../prove/own-servers.ts';
import { type ProveOptions, prove as proveServer } from '../prove/prove.ts';
import { buildProofTable, listLies } from '../prove/table.ts';
import type { Proof } from '../prove/verdict.ts';
import { peerNames } from '../scenarios/scenario.ts';
import { killOnExit } from '../servers/process.ts';
import { parseTarget, readTokens } from '../servers/target.ts';
import { createRandom } from '../shared/random.ts';

const options = {
  seconds: count(30, [1, 86_400], 'how long to drive'),
  rate: count(150, [1, 5_000], 'requests a second in all'),
  bots: count(6, [1, 100], 'how many bots are driven'),
  while: word(
    'WHAT',
    `meanwhile: a command for the shell, or what of its own servers is killed and started again: \
${disturbances.join(', ')} (nodes)`,
  ),
  nodes: count(0, [0, 8], 'own nodes on a Redis and a Postgres; 0: one on embedded stores'),
  servers: names(['rollcall', ...peerNames], 'one after the other, in one table: ', ['rollcall']),
  seed: count(null, [0, 1_000_000_000], 'of the load'),
  url: word(
    'A[,B]',
    'addresses of a server that runs, best those of the nodes; no other client may use these bots',
  ),
  tokens: word('FILE', 'its bots and users, as "tokens FOLDER" writes them'),
  direct: flag('each address is one node: no number may ever fall there'),
  history: count(
    null,
    [0, 3_600],
    'seconds to wait for a sample of the history at the end (0; own servers 75)',
  ),
  'i-own-this': flag('needed when an address is not this machine'),
};
type Given = Values<typeof options>;

const parseTargets = (given: Given) => {
  const urls = given.url?.split(',') ?? [];
  const targets = urls.flatMap((url) => parseTarget({ ...given, url }) ?? []);
  const during = given.while ?? (targets.length === 0 ? 'nodes' : 'nothing');
  const known = disturbances.find((name) => name === during);
  if (targets.length > 0 && known !== undefined && known !== 'nothing')
    throw new ArgumentError(`--while ${during} is for own servers: name a command that does it.`);
  if (given.nodes === 0 && ['redis', 'postgres'].includes(during))
    throw new ArgumentError(`--while ${during} needs --nodes 1 or more.`);
  return { targets, during };
};

/* ------------------------------------------------------------- meanwhile */

const tickMs = 200;
const disturbMsMax = 4_000;
/** For a command that starts again what it has stopped. */
const tidyMsMax = 60_000;

/** Runs a command of the shell beside the load; it is ended with it, and may take a while to tidy up. */
const runCommand = async (command: string, isOver: () => boolean): Promise<string> => {
  const child = spawn('sh', ['-c', command], { stdio: 'inherit', detached: true });
  killOnExit(child);
  const closed = once(child, 'close');
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const endGroup = (signal: NodeJS.Signals): void => {
    if (!hasEnded()) process.kill(-(child.pid as number), signal);
  };
  while (!isOver()) await sleep(tickMs);
  const wasEarly = hasEnded();
  endGroup('SIGTERM');
  const timer = setTimeout(endGroup, tidyMsMax, 'SIGKILL');
  const [code, signal] = await closed;
  clearTimeout(timer);
  return `the command ended with ${code ?? signal}${wasEarly ? ' before the load did' : ''}`;
};

/** Kills one of the own servers after the other. */
const disturb = async (
  servers: OwnServers,
  what: Disturbance,
  { seed, isOver }: { seed: number; isOver: () => boolean },
) => {
  const random = createRandom(seed + 1);
  let times = 0;
  for (; !isOver(); times++) {
    await sleep(1_000 + random.below(disturbMsMax));
    if (!isOver()) await servers.disturb(what, random);
  }
  return `${what} killed ${times} times`;
};

type Subject = Pick<ProveOptions, 'urls' | 'directory' | 'waitMs' | 'isDirect' | 'clocksMs' | 'firstId'>;

/** Drives until its time is over, the log is full, or the run is interrupted. */
const proveOne = (
  subject: Subject,
  { given, during, historyMs, context: { live, stop } }: Run,
  servers: OwnServers | null,
): Promise<Proof> => {
  const seed = given.seed ?? Date.now() % 1_000_000;
  const what = disturbances.find((name) => name === during);
  return proveServer({
    ...{ ...subject, bots: given.bots, rate: given.rate, random: createRandom(seed), historyMs },
    show: live.show,
    meanwhile: async (isFull) => {
      const endMs = performance.now() + given.seconds * 1_000;
      const isOver = (): boolean => performance.now() >= endMs || stop.aborted || isFull();
      if (what === undefined) live.print(await runCommand(during, isOver));
      else if (what === 'nothing' || servers === null) while (!isOver()) await sleep(tickMs);
      else live.print(await disturb(servers, what, { seed, isOver }));
    },
  });
};

interface Run {
  readonly given: Given;
  readonly during: string;
  readonly historyMs: number;
  readonly context: Context;
}

const ownUsers = 400;
const remoteClocksMs = 5_000;
const localClocksMs = 5;

/** A server of our own: started, driven, killed meanwhile, ended. */
const proveOwn = async (name: (typeof peerNames)[number] | 'rollcall', run: Run): Promise<Proof> => {
  const { bots, nodes } = run.given;
  const sizes = { bots, users: ownUsers };
  const servers = name === 'rollcall' ? await startOwn({ ...sizes, nodes }) : await startOwnPeer(name, sizes);
  const subject = { ...servers, isDirect: true, clocksMs: localClocksMs, firstId: 1 };
  return proveOne(subject, run, servers).finally(servers.close);
};

const measure = async (given: Given, context: Context): Promise<void> => {
  const { targets, during } = parseTargets(given);
  const proofs = new Map<string, Proof>();
  context.report(() => ({ parts: [buildProofTable(proofs)], figures: proofs, faults: listLies(proofs) }));
  const historyMs = 1_000 * (given.history ?? (targets.length === 0 ? 75 : 0));
  const run = { given, during, historyMs, context };
  const [first] = targets;
  if (first === undefined) {
    for (const name of given.servers) proofs.set(name, await proveOwn(name, run));
    return;
  }
  const subject = {
    urls: targets.map(({ url }) => url),
    ...{ waitMs: null, directory: readTokens(first.tokensFile), isDirect: given.direct },
    clocksMs: targets.every(({ isLoopback }) => isLoopback) ? localClocksMs : remoteClocksMs,
    // Above the numbers of every earlier run.
    firstId: Date.now() * 10,
  };
  proofs.set(subject.urls.join(), await proveOne(subject, run, null));
};

export const prove = defineCommand({
  name: 'prove',
  about: 'what a server acknowledged, and what it has after kill -9',
  more: `\
Posts, clicks, votes and redeems with values of their own, reads, follows the feed, and receives webhooks;
then waits for quiet and compares what was acknowledged with what is there. Exits with 1 on any lie.`,
  options,
  endsWell: true,
  run: measure,
});
