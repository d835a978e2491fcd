/**
 * A test process: runs the files that the runner names, one after another, and reports each.
 *
 * Reads one line of JSON per file on standard input (`Order`) and writes one on standard output (`Report`,
 * after `reportMark`). The line `end` ends the process as soon as nothing is open. Asked by SIGUSR2, it names
 * what is open. When the runner is gone (standard input ends without that line), it kills itself and all its
 * children.
 */
import { registerHooks } from 'node:module';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { type Order, type Report, reportMark } from './messages.ts';
import { endAll, markVariable } from './processes.ts';

/** What uvu queues for each suite instead of running it; `uvu/run` uses the same two names. */
type RunSuite = () => Promise<[errors: string | true, passed: number, skipped: number, total: number]>;
const queue: RunSuite[] = [];
Object.assign(globalThis, { UVU_DEFER: true, UVU_QUEUE: [queue] });
// Not before: uvu reads the two as it is loaded.
const { countHookFailures } = await import('./explained-suite.ts');

const explained = import.meta.resolve('./explained-suite.ts');
const uvu = import.meta.resolve('uvu');
registerHooks({
  resolve: (specifier, context, next) => {
    const resolved = next(specifier, context);
    return resolved.url === uvu && context.parentURL !== explained ? next(explained, context) : resolved;
  },
});

// Opened by their first use, which is not a test's.
process.stdout.write('');
process.stderr.write('');

const environment = { ...process.env };
const restoreEnvironment = (folder: string): void => {
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment, { TMPDIR: folder });
};

const runFile = async ({ file, folder, graceMs }: Order): Promise<Report> => {
  restoreEnvironment(folder);
  const open = listOpen();
  const hookFailures = countHookFailures();
  const cpuBefore = process.cpuUsage();
  let counts = { total: 0, passed: 0, skipped: 0 };
  queue.length = 0;
  try {
    await import(pathToFileURL(file).href);
    for (const runSuite of queue) {
      const [errors, passed, skipped, total] = await runSuite();
      if (errors !== true) process.stdout.write(`\n${errors}\n`);
      counts = {
        total: counts.total + total,
        passed: counts.passed + passed,
        skipped: counts.skipped + skipped,
      };
    }
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
    return { counts: null, hookThrew: false, cpuMs: 0, open: [] };
  }
  const hookThrew = countHookFailures() > hookFailures;
  const { user, system } = process.cpuUsage(cpuBefore);
  const left = graceMs === null ? [] : await waitUntilClosed(open, graceMs);
  return { counts, hookThrew, cpuMs: (user + system) / 1_000, open: left };
};

const listOpen = (): string[] => process.getActiveResourcesInfo();

/** What is open beside `before`. */
const listMore = (before: readonly string[]): string[] => {
  const left = [...before];
  return listOpen().filter((name) => {
    const at = left.indexOf(name);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
};

/** What keeps the process alive beside `before`, if it still does after `graceMs`. */
const waitUntilClosed = async (before: readonly string[], graceMs: number): Promise<string[]> => {
  const endMs = performance.now() + graceMs;
  for (;;) {
    const more = listMore(before);
    if (more.length === 0 || performance.now() > endMs) return more;
    await pause(20);
  }
};

/** Standard input, output and error. */
const ownPipes = ['PipeWrap', 'PipeWrap', 'PipeWrap'];

let ended = false;
const lines = createInterface({ input: process.stdin });
lines.on('line', async (line) => {
  // From here only the test keeps the process alive: one that waits for nothing ends early, and is reported.
  process.stdin.unref();
  ended = line === 'end';
  if (ended) return;
  const report = await runFile(JSON.parse(line));
  process.stdin.ref();
  process.stdout.write(`\n${reportMark}${JSON.stringify(report)}\n`);
});
process.stdin.on('end', () => {
  if (!ended) endAll(process.pid, process.env[markVariable] ?? '');
});
process.on('SIGUSR2', () => {
  const more = listMore(ownPipes);
  if (more.length > 0) process.stderr.write(`\nStill open: ${more.join(', ')}\n`);
});
