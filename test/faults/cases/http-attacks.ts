/**
 * Runs one attack against a node, with an ordinary client beside it: who waits how long, what the node's
 * memory does, whether it lives. Before it, as many harmless clients show what the machine itself costs.
 *
 * Attackers and the ordinary client are processes of their own; this one only watches.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ClientLog } from '../../../bench/prove/client-log.ts';
import { tokenOf } from '../../support/directory.ts';
import { readCoreTime } from '../harness/core-time.ts';
import { seed } from '../harness/fault-case.ts';
import { operatorToken, outsider } from '../harness/stack.ts';
import type { Arena } from './attack-arena.ts';
import { type Attack, harmlessFor } from './attack-list.ts';
import { emptyHarvest, type Harvest, type Target } from './attackers.ts';
import type { Ordinary, OrdinaryLog } from './ordinary-main.ts';

/** Of the ordinary client. */
export interface Waits {
  readonly worstMs: number;
  /** Without the time for which the node or the client was ready and had no core: what is judged. */
  readonly worstOwnMs: number;
  readonly p99Ms: number;
  readonly answered: number;
  /** Answers but 200, by status; 0 is none at all. */
  readonly others: readonly number[];
}
export interface Outcome {
  readonly attack: Attack;
  readonly waits: Waits;
  /** With harmless clients instead. */
  readonly harmless: Waits;
  /** With no other client; `null` if no limit depends on it. */
  readonly alone: Waits | null;
  /** MiB of the node: before, at most, and after. */
  readonly memory: { readonly before: number; readonly most: number; readonly after: number };
  /** CPU time of all threads of the node meanwhile, ms; 0 if it ended. */
  readonly cpuMs: number;
  readonly lived: boolean;
  readonly harvest: Harvest;
  /** What the node wrote meanwhile. */
  readonly output: string;
}

const attackerProgram = fileURLToPath(new URL('./attacker-main.ts', import.meta.url));
const ordinaryProgram = fileURLToPath(new URL('./ordinary-main.ts', import.meta.url));

/** Seconds of an attack; ATTACK_SECONDS=60 for long ones. */
const attackSeconds = Number(process.env.ATTACK_SECONDS ?? 5);
const harmlessSeconds = 3;
/** A node that takes so much more memory is ended, for the sake of the machine. */
const growthMiBMax = 1_500;
/** Time for a node to give memory back. */
const restMs = 1_000;

/* --------------------------------------------------------------- processes */

const start = (program: string, args: readonly string[]): ChildProcess =>
  fork(program, args, { serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });

/** The next message of a process; rejects when it ends without one. */
const messageOf = <Message>(child: ChildProcess): Promise<Message> =>
  new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as Message));
    child.once('exit', (code, signal) => reject(new Error(`a client's process ended (${code ?? signal})`)));
  });

const startOrdinary = async (arena: Arena): Promise<() => Promise<OrdinaryLog>> => {
  const { directory, log } = arena;
  const life = arena.life();
  const { url, pid } = arena.node();
  const given: Ordinary = { url, directory, nextId: log.nextId, life, seed, pid };
  const child = start(ordinaryProgram, [JSON.stringify(given)]);
  await messageOf(child);
  return async () => {
    const logged = messageOf<OrdinaryLog>(child);
    child.send('stop');
    return logged;
  };
};

const targetOf = (arena: Arena, attack: Attack, seconds: number): Target => {
  const { url, adminUrl } = arena.node();
  return {
    port: Number(new URL(url).port),
    adminPort: Number(new URL(adminUrl).port),
    operatorToken,
    bot: outsider,
    botToken: tokenOf('bot', outsider),
    userToken: tokenOf('user', arena.directory.users[0] ?? ''),
    connections: attack.connections,
    seconds,
  };
};

/* ------------------------------------------------------------------ figures */

const waitsOf = ({ log: { stats, clicks }, ownMs }: OrdinaryLog): Waits => {
  const all = [...stats, ...clicks];
  const sorted = all.map(({ callMs, returnMs }) => returnMs - callMs).sort((left, right) => left - right);
  return {
    worstMs: sorted.at(-1) ?? 0,
    worstOwnMs: Math.max(0, ...ownMs),
    p99Ms: sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0,
    answered: all.filter(({ status }) => status !== 0).length,
    others: [...new Set(all.map(({ status }) => status))].filter((status) => status !== 200),
  };
};

const adopt = (log: ClientLog, part: ClientLog): void => {
  log.stats.push(...part.stats);
  log.clicks.push(...part.clicks);
  log.sights.push(...part.sights);
  log.strange.push(...part.strange);
  log.unanswered += part.unanswered;
  log.nextId = part.nextId;
};

/** MiB that the process holds; 0 once it is gone. */
const memoryOf = (pid: number): number => {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024;
  } catch {
    // It ended between two looks.
    return 0;
  }
};

/** CPU time of all threads of the process, ms; 0 once it is gone. */
const readCpuMs = (pid: number): number => {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.reduce((sum, thread) => sum + readCoreTime(`${pid}/task/${thread}`).cpuMs, 0);
  } catch {
    return 0;
  }
};

/* ------------------------------------------------------------------- a run */

type Run = Omit<Outcome, 'harmless' | 'alone'>;

const run = async (arena: Arena, attack: Attack, seconds: number): Promise<Run> => {
  const node = arena.node();
  const written = node.output().length;
  const stopOrdinary = await startOrdinary(arena);
  const before = memoryOf(node.pid);
  let most = before;
  const cpuBeforeMs = readCpuMs(node.pid);
  const attackers = start(attackerProgram, [attack.name, JSON.stringify(targetOf(arena, attack, seconds))]);
  let lived = true;
  node.exited.then(() => {
    lived = false;
    attackers.kill('SIGKILL');
  });
  const watch = setInterval(() => {
    most = Math.max(most, memoryOf(node.pid));
    if (most - before > growthMiBMax) node.signal('SIGKILL');
  }, 50);
  try {
    const harvest = await messageOf<Harvest>(attackers).catch((error: unknown) => {
      if (lived) throw error;
      return emptyHarvest();
    });
    const cpuMs = Math.max(0, readCpuMs(node.pid) - cpuBeforeMs);
    const part = await stopOrdinary();
    adopt(arena.log, part.log);
    await sleep(restMs);
    const memory = { before, most, after: memoryOf(node.pid) };
    return {
      attack,
      waits: waitsOf(part),
      memory,
      cpuMs,
      lived,
      harvest,
      output: node.output().slice(written),
    };
  } finally {
    clearInterval(watch);
    attackers.kill('SIGKILL');
  }
};

/** What the ordinary client waits beside so many harmless ones, measured once for each number. */
const baselines = new Map<string, Waits>();
const measureHarmless = async (arena: Arena, connections: number): Promise<Waits> => {
  const key = `${arena.stores} ${connections}`;
  const existing = baselines.get(key);
  if (existing !== undefined) return existing;
  const { waits } = await run(arena, harmlessFor(connections), harmlessSeconds);
  baselines.set(key, waits);
  return waits;
};

/** A node that an attack leaves with so much more memory hides what the next one takes. */
const swollenMiB = 200;

/** Runs the attack. The arena has a node fit for the next one afterwards. */
export const runAttack = async (arena: Arena, attack: Attack): Promise<Outcome> => {
  const harmless = await measureHarmless(arena, attack.connections);
  const alone = attack.waitsAsAlone ? await measureHarmless(arena, 0) : null;
  const outcome = await run(arena, attack, attackSeconds);
  const { before, after } = outcome.memory;
  if (!outcome.lived || after - before > swollenMiB) await arena.replace();
  return { ...outcome, harmless, alone };
};

/* --------------------------------------------------------------- the verdict */

/** Beside harmless clients a wait of this length still leaves the machine fast enough for the limit. */
const harmlessFactor = 3;
const aloneMs = 50;

/** The worst wait that is allowed, of `worstOwnMs`: attackers on the same machine take cores. */
export const allowedMs = ({ attack, harmless, alone }: Outcome): number =>
  alone === null
    ? Math.max(attack.waitMsMax ?? Number.POSITIVE_INFINITY, harmlessFactor * harmless.worstOwnMs)
    : harmlessFactor * alone.worstOwnMs + aloneMs;

/** The parser below looks every 4 s for what is too old. */
const closingMs = 4_000;

/** All that an attack must not do, and did. */
export const faultsOf = (outcome: Outcome): readonly string[] => {
  const { attack, waits, memory, lived, harvest, output } = outcome;
  const { answers, demanded = [], answersMax = {}, growthMiBMax = Number.POSITIVE_INFINITY } = attack;
  const closedMsMax = (attack.closedMsMax ?? Number.POSITIVE_INFINITY) + closingMs;
  const oldestMs = Math.max(harvest.closedMsMax, harvest.openMsMax);
  const growth = memory.most - memory.before;
  const found: readonly (readonly [boolean, string])[] = [
    [!lived, `the node ended:\n${output}`],
    [waits.others.length > 0, `the ordinary client got ${waits.others.join(', ')} (0: no answer)`],
    [waits.worstOwnMs > allowedMs(outcome), `the ordinary client waited ${waits.worstOwnMs.toFixed(0)} ms`],
    [growth > growthMiBMax, `memory grew by ${growth.toFixed(0)} MiB`],
    [oldestMs > closedMsMax, `a connection was open after ${(oldestMs / 1_000).toFixed(1)} s`],
    [/Z fatal |uncaught/i.test(output), `the node wrote\n${output.slice(0, 2_000)}`],
    ...Object.keys(harvest.answers).map(
      (label) => [!answers.includes(label), `attackers got ${label}`] as const,
    ),
    ...demanded.map((label) => [!(label in harvest.answers), `attackers never got ${label}`] as const),
    ...Object.entries(answersMax).map(
      ([label, max]) => [(harvest.answers[label] ?? 0) > max, `attackers got ${label} too often`] as const,
    ),
  ];
  return found.filter(([holds]) => holds).map(([, message]) => message);
};
