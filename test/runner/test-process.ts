/**
 * A process that runs test files one after another, each with a time limit; it leaves nothing behind.
 *
 * It has its own process group and a marker in its environment by which its children are found. Each file
 * gets a temporary folder (TMPDIR). Never throws for a bad test file: whatever happens becomes an outcome.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Counts, type Order, type Report, reportMark } from './messages.ts';
import { endAll, familyOf, markVariable } from './processes.ts';

const exitGraceMs = 5_000;
const namingMs = 300;
const main = fileURLToPath(new URL('./child.ts', import.meta.url));

export interface Outcome {
  readonly file: string;
  readonly counts: Counts | null;
  readonly failures: number;
  readonly problems: readonly string[];
  readonly output: string;
  readonly seconds: number;
  /** Processor time of the test process, without its children. */
  readonly cpuSeconds: number;
}
export interface Limits {
  /** A file may set its own with `time limit: <n> s` in its header. */
  readonly seconds: number;
  /** After its tests ended, a file has this long to close what it opened; then its children, too. */
  readonly graceMs?: number;
  /** More arguments for Node; programs that the test starts inherit them. */
  readonly nodeWords?: readonly string[];
}
export interface TestProcess {
  /** False after a failure, which ends it. */
  isUsable(): boolean;
  run(file: string): Promise<Outcome>;
  /** Expects it to end by itself. Resolves to what was wrong. */
  end(): Promise<readonly string[]>;
}

interface Running {
  readonly child: ChildProcess;
  readonly mark: string;
  readonly limits: Limits;
  readonly exited: Promise<void>;
  /** Of the file that runs. */
  output: string;
  onReport: (report: Report) => void;
}

/** Processes by their marker, so that an interrupted runner can end them. */
const running = new Map<string, number | undefined>();

/** Ends every test process, for an interrupted run. */
export const endRunning = (): void => {
  for (const [mark, leader] of running) endAll(leader, mark);
};

/** Runs one file in a process of its own. */
export const runFile = (file: string, limits: Limits): Promise<Outcome> =>
  inFolder(async (folder) => {
    const state = spawnProcess(limits);
    const outcome = await run(state, { file, folder, graceMs: null });
    const late = await end(state);
    const problems = [...outcome.problems, ...late];
    return { ...outcome, problems, failures: outcome.failures + late.length };
  });

/** A process for several files. */
export const startTestProcess = (limits: Limits): TestProcess => {
  const state = spawnProcess(limits);
  const graceMs = limits.graceMs ?? exitGraceMs;
  return {
    isUsable: () => running.has(state.mark),
    run: (file) => inFolder((folder) => run(state, { file, folder, graceMs })),
    end: () => end(state),
  };
};

const inFolder = async (task: (folder: string) => Promise<Outcome>): Promise<Outcome> => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-'));
  try {
    return await task(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

let processes = 0;

const spawnProcess = (limits: Limits): Running => {
  const mark = `${process.pid}-${++processes}`;
  const child = spawn(process.execPath, [...process.execArgv, ...(limits.nodeWords ?? []), main], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1', [markVariable]: mark },
  });
  running.set(mark, child.pid);
  const exited = new Promise<void>((fulfil) => {
    child.once('close', fulfil);
    child.once('error', fulfil);
  });
  const state: Running = { child, mark, limits, exited, output: '', onReport: () => {} };
  const collect = (text: string): void => {
    state.output += text;
    const found = new RegExp(`\n?${reportMark}(.*)\n`).exec(state.output);
    if (found === null) return;
    state.output = state.output.replace(found[0], '');
    state.onReport(JSON.parse(found[1] as string));
  };
  child.stdout.setEncoding('utf8').on('data', collect);
  child.stderr.setEncoding('utf8').on('data', collect);
  child.once('error', (error) => collect(`${error.message}\n`));
  // A process that has ended takes no orders; its end is reported.
  child.stdin.on('error', () => {});
  return state;
};

const run = async (state: Running, order: Order): Promise<Outcome> => {
  const startedMs = performance.now();
  const { report, problems } = await send(state, order);
  const counts = report?.counts ?? null;
  if (report !== null) problems.push(...findProblems(report));
  // What is still open are often the pipes to these.
  if (report?.open.length === 0 && order.graceMs !== null) problems.push(...(await findLeftovers(state)));
  const failures =
    counts === null ? Math.max(1, problems.length) : counts.total - counts.passed + problems.length;
  // Not an extra failure: the tests that it prevented are already counted.
  if (report?.hookThrew) {
    problems.push('a before, after or each hook threw, and the rest of the suite did not run');
  }
  if (failures > 0) await kill(state);
  const seconds = (performance.now() - startedMs) / 1_000;
  const cpuSeconds = (report?.cpuMs ?? 0) / 1_000;
  return { file: order.file, counts, problems, output: state.output, failures, seconds, cpuSeconds };
};

/** Resolves when the file is done or its process has ended. */
const send = async (state: Running, order: Order) => {
  const limit = (readTimeLimit(order.file) ?? state.limits.seconds) * countSeedShares();
  const problems: string[] = [];
  state.output = '';
  const reported = new Promise<Report>((fulfil) => {
    state.onReport = fulfil;
  });
  state.child.stdin?.write(`${JSON.stringify(order)}\n`);
  const late = setTimeout(() => {
    problems.push(`stopped after its time limit of ${limit} s`);
    void kill(state);
  }, limit * 1_000);
  const report = await Promise.race([reported, state.exited.then(() => null)]);
  clearTimeout(late);
  if (report === null && problems.length === 0) {
    problems.push(`ended before its tests did (${describeExit(state)})`);
  }
  return { report, problems };
};

const describeExit = ({ child: { exitCode, signalCode } }: Running): string =>
  signalCode === null ? `exit code ${exitCode}` : `signal ${signalCode}`;

const readTimeLimit = (file: string): number | null => {
  const found = /time limit: (\d+) s/i.exec(readFileSync(file, 'utf8').slice(0, 2_000));
  return found ? Number(found[1]) : null;
};

/** A time limit is for three seeds; more take longer. */
const countSeedShares = (): number => Math.max(1, Number(process.env.TEST_SEEDS ?? 3) / 3);

/** uvu is quiet about a file whose suite never runs, and about `.only`. */
const findProblems = ({ counts, open }: Report): string[] => {
  if (counts === null) return [`ended before its tests did (it threw)`];
  const problems: string[] = [];
  if (counts.total === 0) problems.push('ran no test: is `test.run()` missing at its end?');
  if (counts.skipped > 0) problems.push(`${counts.skipped} tests were left out (.skip or .only)`);
  if (open.length > 0) problems.push(`its tests ended but something is still open: ${open.join(', ')}`);
  return problems;
};

/** Names what is open, then ends the process and all its children. */
const kill = async (state: Running): Promise<void> => {
  state.child.kill('SIGUSR2');
  await Promise.race([state.exited, new Promise((fulfil) => setTimeout(fulfil, namingMs))]);
  endAll(state.child.pid, state.mark);
  running.delete(state.mark);
  await state.exited;
};

const end = async (state: Running): Promise<readonly string[]> => {
  if (!running.has(state.mark)) return [];
  state.output = '';
  state.child.stdin?.write('end\n');
  const late = setTimeout(() => void kill(state), state.limits.graceMs ?? exitGraceMs);
  await state.exited;
  clearTimeout(late);
  if (!running.has(state.mark)) {
    return [`its tests ended but its process did not: something is still open\n${state.output}`];
  }
  const problems = await findLeftovers(state);
  endAll(state.child.pid, state.mark);
  running.delete(state.mark);
  if (state.child.exitCode === 0) return problems;
  const words = `all its tests passed but the process failed afterwards (${describeExit(state)})`;
  return [...problems, `${words}\n${state.output}`];
};

/** Names processes that outlive the tests by more than the grace. */
const findLeftovers = async ({ child, mark, limits }: Running): Promise<string[]> => {
  const find = () => familyOf(mark).filter(({ pid }) => pid !== child.pid);
  const untilMs = performance.now() + (limits.graceMs ?? exitGraceMs);
  let left = find();
  while (left.length > 0 && performance.now() < untilMs) {
    await new Promise((fulfil) => setTimeout(fulfil, 50));
    left = find();
  }
  return left.length > 0 ? [`left processes running: ${left.map(({ command }) => command).join('; ')}`] : [];
};
