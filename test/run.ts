/**
 * Runs the tests of a group (runner/test-groups.ts), and before those of `npm test` style, format and types.
 *
 *   npm test                   the checks and the loop: what runs inside a process, two files at a time
 *   npm test -- votes rank     the files of `npm test` and `npm run test:stores` with "votes" or "rank" in
 *                              their path
 *   npm test -- --reversed     the same files, their cases from the last to the first: none may need another
 *   npm test -- --help         prints this
 *   npm run check              only the checks; `-- --size` prints how large the project is instead
 *   npm run test:stores        what starts servers or nodes
 *   npm run test:faults -- hostile   all hostile suites, of any group; ends with their count of 500 replies
 *   npm run test:faults        the fault cases, with long limits: first those of HTTP, one by one, because
 *                              they measure time; then the others, the longest first. `-- --seeds N` runs
 *                              each with N seeds
 *
 * Ends with a line `N passed, N failed, N skipped` (a check counts as one) and leaves nothing running. A
 * failing step does not keep the later ones from running: all failures are printed in full at the end.
 */
import { spawn } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { parseOptions } from '../ops/cli/options.ts';
import { shareCache, useMemoryFolder } from './runner/cache.ts';
import { createDisplay } from './runner/display.ts';
import { countReplies, hostileWord, isHostile } from './runner/hostile.ts';
import { findGroups, type TestGroup } from './runner/test-groups.ts';
import { endRunning, type Outcome } from './runner/test-process.ts';
import { createWorker } from './runner/worker.ts';
import { type Ended, watchChild } from './support/child.ts';
import { formatSize } from './tidy/size.ts';

/** Files at a time, for two cores. Those that start servers wait half of their time. */
const atOnce = { loop: 2, stores: 3, faults: 3 } as const;
/** The fault cases of HTTP measure how long others wait, and one long life: alone, with Node's defaults. */
const isTimed = (file: string): boolean => /^test\/faults\/cases\/http-(?!fuzz)/.test(file);
const limitSeconds = 300;
const faultLimitSeconds = 3_000;
/**
 * Half of what an embedded Postgres costs that lives for seconds is V8 compiling its wasm a second time,
 * better. Here that begins some twenty times later.
 */
const briefWords = ['--wasm-tiering-budget=300000000'];

interface Plan {
  readonly groups: readonly TestGroup[];
  readonly checks: boolean;
  readonly filters: readonly string[];
}
interface Failure {
  readonly title: string;
  readonly words: string;
}
interface Tally {
  passed: number;
  failed: number;
  readonly skipped: string[];
  readonly replies: { all: number; of500: number };
  readonly failures: Failure[];
}

const main = async (): Promise<void> => {
  const { groups, checks, filters } = readPlan();
  const replies = { all: 0, of500: 0 };
  const tally: Tally = { passed: 0, failed: 0, skipped: [], replies, failures: [] };
  stopOnSignals();
  if (!groups.includes('faults')) useMemoryFolder();
  shareCache();
  const files = globSync('test/**/*.{test,fault}.ts')
    .filter((file) => isChosen(file, groups, filters))
    .sort();
  if (groups.length > 0 && files.length === 0)
    fail(tally, 'no test file', `None matches ${filters.join(' ')}.`);
  const checked = checks ? runChecks(tally) : Promise.resolve();
  await Promise.all([checked, runFiles(files, groups, { tally, checked })]);
  if (isCounted(groups, filters)) reportReplies(tally);
  report(tally);
};

const isCounted = (groups: readonly TestGroup[], filters: readonly string[]): boolean =>
  groups.includes('faults') && filters.includes(hostileWord);

const isChosen = (file: string, groups: readonly TestGroup[], filters: readonly string[]): boolean => {
  if (isCounted(groups, filters) && isHostile(file)) return true;
  const isOfGroup = findGroups(file).some((group) => groups.includes(group));
  return isOfGroup && (filters.length === 0 || filters.some((filter) => file.includes(filter)));
};

/** Reads the command line; the tests learn their group and number of seeds from the environment. */
const readPlan = (): Plan => {
  const flag = { type: 'boolean', default: false } as const;
  const options = {
    check: flag,
    stores: flag,
    faults: flag,
    seeds: { type: 'string', default: '3' },
    reversed: flag,
    size: flag,
  } as const;
  const config = { allowPositionals: true, options } as const;
  const { values, positionals: filters } = parseOptions(import.meta.filename, config);
  if (values.size) {
    console.log(formatSize('.'));
    process.exit(0);
  }
  if (!/^[1-9]\d*$/.test(values.seeds)) throw new Error(`--seeds is a number from 1, not ${values.seeds}.`);
  const group = values.faults ? 'faults' : values.stores ? 'stores' : 'loop';
  // People who work on these files filter by name: they get all cases.
  const both = group === 'loop' && filters.length > 0;
  process.env.TEST_GROUP = both ? 'stores' : group;
  process.env.TEST_SEEDS = values.seeds;
  if (isCounted([group], filters)) process.env.COUNT_REPLIES = '1';
  if (values.reversed) process.env.TEST_ORDER = 'reversed';
  if (values.check) return { groups: [], checks: true, filters };
  return { groups: both ? ['loop', 'stores'] : [group], checks: group === 'loop' && !both, filters };
};

const fail = (tally: Tally, title: string, words: string): void => {
  tally.failed += 1;
  tally.failures.push({ title, words });
};

const checks = [
  { title: 'style', script: 'test/tidy.ts', words: [] },
  { title: 'format and lint', script: 'node_modules/.bin/biome', words: ['check'] },
  { title: 'types', script: 'node_modules/.bin/tsc', words: ['-p', '.'] },
  { title: 'types of the page', script: 'node_modules/.bin/tsc', words: ['-p', 'http/operator/page'] },
  { title: 'types of the site', script: 'node_modules/.bin/tsc', words: ['-p', 'http/site/page'] },
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

const runTool = (args: readonly string[]): Promise<Ended> =>
  watchChild(spawn(process.execPath, [...process.execArgv, ...args], { stdio: ['ignore', 'pipe', 'pipe'] }))
    .ended;

interface Course {
  readonly tally: Tally;
  /** Resolves after the checks; until then they occupy one of the two cores. */
  readonly checked: Promise<void>;
}

const runFiles = async (
  files: readonly string[],
  groups: readonly TestGroup[],
  { tally, checked }: Course,
) => {
  const [group = 'loop'] = groups;
  const faults = group === 'faults';
  const limitsOf = (file: string) => ({
    seconds: faults ? faultLimitSeconds : limitSeconds,
    nodeWords: isTimed(file) ? [] : briefWords,
  });
  const display = createDisplay(files.length);
  const work = async (waiting: string[], index: number): Promise<void> => {
    if (index > 0) await checked;
    // From both ends: neighbours are alike, and two that wait for time-outs would leave both cores idle.
    const takeNext = () => (faults || index % 2 === 0 ? waiting.shift() : waiting.pop());
    const worker = createWorker(limitsOf);
    for (let file = takeNext(); file !== undefined; file = takeNext()) {
      display.started(file);
      const outcome = await worker.run(file);
      display.finished(outcome);
      if (faults) for (const line of figuresOf(outcome)) console.log(`  ${line}`);
      count(outcome, tally);
      // A run of an hour may be ended before its report.
      if (faults && outcome.failures > 0) console.log(wordsOf(outcome));
    }
    for (const problem of await worker.end()) fail(tally, 'a process of several files', problem);
  };
  const isAlone = (file: string): boolean => faults && isTimed(file);
  await work(files.filter(isAlone), 0);
  const others = files.filter((file) => !isAlone(file));
  const rest = faults ? others.sort((a, b) => readTimeLimit(b) - readTimeLimit(a)) : others;
  await Promise.all(Array.from({ length: atOnce[group] }, (_, index) => work(rest, index)));
  display.end();
};

/** What a fault test measured: lost, doubled and the like, also when all is well. */
const figuresOf = ({ output }: Outcome): readonly string[] => output.match(/^figures: .*$/gm) ?? [];

/** What the header of a fault case says, seconds: the files that may take longest are the longest. */
const readTimeLimit = (file: string): number =>
  Number(/Time limit: (\d+) s/.exec(readFileSync(file, 'utf8'))?.[1] ?? 0);

const wordsOf = ({ problems, output }: Outcome): string =>
  [...problems.map((problem) => `! ${problem}`), output.trim()].join('\n');

const count = (outcome: Outcome, tally: Tally): void => {
  const { counts, failures, file, output } = outcome;
  // A test that needs a program, or a right, that this system does not have says so and ends.
  const skipped = output.match(/^skipped: .*$/gm) ?? [];
  tally.skipped.push(...skipped);
  const { all, of500 } = countReplies(output);
  tally.replies.all += all;
  tally.replies.of500 += of500;
  tally.passed += Math.max(0, (counts?.passed ?? 0) - skipped.length);
  tally.failed += failures;
  if (failures === 0) return;
  tally.failures.push({ title: file, words: wordsOf(outcome) });
};

const reportReplies = (tally: Tally): void => {
  const { all, of500 } = tally.replies;
  console.log(`\nhostile: 500 replies: ${of500} of ${all}`);
  if (of500 > 0) fail(tally, 'replies of 500', `${of500}; the log of each node has their causes.`);
};

const report = ({ passed, failed, skipped, failures }: Tally): void => {
  for (const { title, words } of failures) console.log(`\n──── ${title}\n${words}`);
  if (skipped.length > 0) console.log(`\n${skipped.join('\n')}`);
  console.log(`\n${passed} passed, ${failed} failed, ${skipped.length} skipped`);
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
