/**
 * `npm test`: style rules, formatter and linter, types, then every test file as a process of its own, two at
 * a time.
 *
 *   npm test -- votes          only test files whose name contains "votes" (and no checks)
 *   npm run check              only the checks
 *   npm run test:faults        only *.fault.ts, one at a time, with long limits
 *
 * Ends with a line `N passed, N failed` (a check counts as one) and leaves nothing running. A failing step
 * does not keep the later ones from running: all failures are printed in full at the end.
 */
import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { shareCache } from './runner/cache.ts';
import { createDisplay } from './runner/display.ts';
import { endRunning, type Outcome, runFile } from './runner/run-file.ts';

const atOnce = 2;
const limitSeconds = 300;
const faultLimitSeconds = 3_000;
/**
 * Half of what an embedded Postgres costs that lives for seconds is V8 compiling its wasm a second time,
 * better. Here that begins some twenty times later; fault tests run with the defaults.
 */
const briefWords = ['--wasm-tiering-budget=300000000'];

interface Failure {
  readonly title: string;
  readonly words: string;
}
interface Tally {
  passed: number;
  failed: number;
  readonly failures: Failure[];
}

const main = async (): Promise<void> => {
  const words = process.argv.slice(2);
  const options = words.filter((word) => word.startsWith('--'));
  const filters = words.filter((word) => !word.startsWith('--'));
  const unknown = options.filter((option) => !['--check', '--faults'].includes(option));
  if (unknown.length > 0)
    throw new Error(`Unknown option ${unknown.join(' ')}; known are --check and --faults.`);
  const faults = options.includes('--faults');
  const tally: Tally = { passed: 0, failed: 0, failures: [] };
  stopOnSignals();
  shareCache();
  if (!faults && filters.length === 0) await runChecks(tally);
  if (!options.includes('--check')) {
    const files = globSync(faults ? 'test/**/*.fault.ts' : 'test/**/*.test.ts').sort();
    const chosen = files.filter((file) => filters.every((filter) => file.includes(filter)));
    if (chosen.length === 0) fail(tally, 'no test file', `None matches ${filters.join(' ') || 'test/'}.`);
    await runFiles(chosen, faults, tally);
  }
  report(tally);
};

const fail = (tally: Tally, title: string, words: string): void => {
  tally.failed += 1;
  tally.failures.push({ title, words });
};

const checks = [
  { title: 'style', script: 'test/tidy.ts', words: [] },
  { title: 'format and lint', script: 'node_modules/.bin/biome', words: ['check'] },
  { title: 'types', script: 'node_modules/.bin/tsc', words: ['-p', '.'] },
];

const runChecks = async (tally: Tally): Promise<void> => {
  for (const { title, script, words } of checks) {
    const startedMs = performance.now();
    const { code, output } = await runTool([script, ...words]);
    if (code === 0) tally.passed += 1;
    else fail(tally, title, output);
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    console.log(`${code === 0 ? '✓' : '✘'} ${title}  ${seconds} s`);
  }
};

const runTool = (words: readonly string[]): Promise<{ code: number; output: string }> => {
  const child = spawn(process.execPath, [...process.execArgv, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const collect = (chunk: Buffer): void => {
    output += chunk.toString();
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
};

const runFiles = async (files: readonly string[], faults: boolean, tally: Tally): Promise<void> => {
  const display = createDisplay(files.length);
  const waiting = [...files];
  // From both ends: neighbours are alike, and two that wait for time-outs would leave both cores idle.
  const nextOf = (worker: number) => (worker % 2 === 0 ? waiting.shift() : waiting.pop());
  const work = async (worker: number): Promise<void> => {
    for (let file = nextOf(worker); file !== undefined; file = nextOf(worker)) {
      display.started(file);
      const limits = faults
        ? { seconds: faultLimitSeconds }
        : { seconds: limitSeconds, nodeWords: briefWords };
      const outcome = await runFile(file, limits);
      display.finished(outcome);
      if (faults) for (const line of figuresOf(outcome)) console.log(`  ${line}`);
      count(outcome, tally);
    }
  };
  await Promise.all(Array.from({ length: faults ? 1 : atOnce }, (_, worker) => work(worker)));
  display.end();
};

/** What a fault test measured: lost, doubled and the like, also when all is well. */
const figuresOf = ({ output }: Outcome): readonly string[] => output.match(/^figures: .*$/gm) ?? [];

const count = ({ counts, failures, problems, file, output }: Outcome, tally: Tally): void => {
  tally.passed += counts?.passed ?? 0;
  tally.failed += failures;
  if (failures === 0) return;
  const words = [...problems.map((problem) => `! ${problem}`), output.trim()].join('\n');
  tally.failures.push({ title: file, words });
};

const report = ({ passed, failed, failures }: Tally): void => {
  for (const { title, words } of failures) console.log(`\n──── ${title}\n${words}`);
  console.log(`\n${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
};

const stopOnSignals = (): void => {
  const stop = (): void => {
    endRunning();
    console.log('\nStopped.');
    process.exit(130);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
};

await main();
