/**
 * Runs one test file as a process of its own, with a time limit, and ensures that nothing of it remains.
 *
 * The file gets its own process group, its own temporary folder (TMPDIR), and a marker in its environment by
 * which its children are found. Never throws for a bad test file: whatever happens becomes an outcome.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endAll, familyOf, markVariable, parentVariable } from './processes.ts';
import { type Counts, countsOf, type Ending, failuresOf, hookThrew, problemsOf } from './uvu-report.ts';

const exitGraceMs = 5_000;
const namingMs = 300;
const preload = fileURLToPath(new URL('./preload.ts', import.meta.url));

export interface Outcome {
  readonly file: string;
  readonly counts: Counts | null;
  readonly failures: number;
  readonly problems: readonly string[];
  readonly output: string;
  readonly seconds: number;
}

/** Files that are being run, so that an interrupted runner can end them. */
const running = new Map<string, number | undefined>();

export interface Limits {
  /** A file may set its own with `time limit: <n> s` in its header. */
  readonly seconds: number;
  /** After its tests ended, a process has this long to end by itself; after that, its children as well. */
  readonly graceMs?: number;
  /** More arguments for Node; programs that the test starts inherit them. */
  readonly nodeWords?: readonly string[];
}

export const runFile = async (file: string, limits: Limits): Promise<Outcome> => {
  const startedMs = performance.now();
  const limit = timeLimitOf(file) ?? limits.seconds;
  const graceMs = limits.graceMs ?? exitGraceMs;
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-'));
  const mark = `${process.pid}-${running.size}-${folder.slice(-6)}`;
  const world = { folder, mark, graceMs, limitMs: limit * 1_000, nodeWords: limits.nodeWords ?? [] };
  const { output, ending } = await observe(file, world);
  running.delete(mark);
  rmSync(folder, { recursive: true, force: true });
  const counts = countsOf(output);
  const problems = problemsOf(counts, ending, limit);
  const failures = failuresOf(counts, problems);
  // Not an extra failure: the tests that it prevented are already counted.
  if (counts !== null && hookThrew(counts, output)) {
    problems.push('a before, after or each hook threw, and the rest of the suite did not run');
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  return { file, counts, problems, output, seconds, failures };
};

/** Ends every running test, for an interrupted run. */
export const endRunning = (): void => {
  for (const [mark, leader] of running) endAll(leader, mark);
};

const timeLimitOf = (file: string): number | null => {
  const found = /time limit: (\d+) s/i.exec(readFileSync(file, 'utf8').slice(0, 2_000));
  return found ? Number(found[1]) : null;
};

interface World {
  readonly folder: string;
  readonly mark: string;
  readonly limitMs: number;
  readonly graceMs: number;
  readonly nodeWords: readonly string[];
}

const observe = (file: string, world: World): Promise<{ output: string; ending: Ending }> => {
  const child = start(file, world);
  running.set(world.mark, child.pid);
  let output = '';
  let stopped: Ending['stopped'] = null;
  const stop = (why: 'time_limit' | 'no_exit'): void => {
    stopped = why;
    child.kill('SIGUSR2');
    setTimeout(() => endAll(child.pid, world.mark), namingMs);
  };
  const limit = setTimeout(() => stop('time_limit'), world.limitMs);
  let grace: NodeJS.Timeout | undefined;
  const collect = (chunk: Buffer): void => {
    output += chunk.toString();
    if (grace === undefined && countsOf(output)) grace = setTimeout(() => stop('no_exit'), world.graceMs);
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  return new Promise((resolve) => {
    child.once('error', (error) => collect(Buffer.from(`${error.message}\n`)));
    child.once('exit', async (exitCode, signal) => {
      clearTimeout(limit);
      clearTimeout(grace);
      const leftovers = stopped === null ? await leftoversOf(world) : [];
      endAll(child.pid, world.mark);
      resolve({ output, ending: { exitCode, signal, stopped, leftovers } });
    });
  });
};

const start = (file: string, world: World) =>
  spawn(process.execPath, [...process.execArgv, ...world.nodeWords, '--import', preload, file], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NO_COLOR: '1',
      TMPDIR: world.folder,
      [markVariable]: world.mark,
      [parentVariable]: String(process.pid),
    },
  });

/** Commands of processes that outlive the test by more than the grace. */
const leftoversOf = async ({ mark, graceMs }: World): Promise<string[]> => {
  const untilMs = performance.now() + graceMs;
  let left = familyOf(mark);
  while (left.length > 0 && performance.now() < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    left = familyOf(mark);
  }
  return left.map(({ command }) => command);
};
