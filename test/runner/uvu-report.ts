/**
 * Reads what a test file printed and decides what it means. Pure.
 *
 * uvu is quiet about four kinds of failure: a file whose suite never runs, `.only`, a hook that throws (the
 * rest of the suite is dropped silently) and tests left out. Each of them is a failure here.
 */
export interface Counts {
  readonly total: number;
  readonly passed: number;
  readonly skipped: number;
}

/** How a test process ended, as `run-file.ts` saw it. */
export interface Ending {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Set when the runner ended it: why. */
  readonly stopped: 'time_limit' | 'no_exit' | null;
  readonly leftovers: readonly string[];
}

/** uvu's summary, `null` when the file did not reach it. */
export const countsOf = (output: string): Counts | null => {
  const found = /^ {2}Total: +(\d+)\n {2}Passed: +(\d+)\n {2}Skipped: +(\d+)$/m.exec(output);
  if (!found) return null;
  return { total: Number(found[1]), passed: Number(found[2]), skipped: Number(found[3]) };
};

/** Describes the problems of a finished file; empty when there are none. */
export const problemsOf = (counts: Counts | null, ending: Ending, limitSeconds: number): string[] => {
  const problems: string[] = [];
  if (ending.stopped === 'time_limit') problems.push(`stopped after its time limit of ${limitSeconds} s`);
  if (ending.stopped === 'no_exit') {
    problems.push(
      'its tests ended but its process did not: something is still open (a timer, server, socket)',
    );
  }
  if (ending.leftovers.length > 0) problems.push(`left processes running: ${ending.leftovers.join('; ')}`);
  if (counts === null) {
    if (ending.stopped !== null) return problems;
    if (ending.exitCode === 0) problems.push('ended without a result: is `test.run()` missing at its end?');
    else problems.push(`ended before its tests did (${endOf(ending)})`);
    return problems;
  }
  if (counts.total === 0) problems.push('ran no test: is `test.run()` missing at its end?');
  if (counts.skipped > 0) problems.push(`${counts.skipped} tests were left out (.skip or .only)`);
  if (counts.passed === counts.total && ending.stopped === null && ending.exitCode !== 0) {
    problems.push(`all its tests passed but the process failed afterwards (${endOf(ending)})`);
  }
  return problems;
};

/** Failed tests, plus one for each problem without a test of its own. */
export const failuresOf = (counts: Counts | null, problems: readonly string[]): number =>
  counts === null ? Math.max(1, problems.length) : counts.total - counts.passed + problems.length;

/** A suite stops when a hook throws. It says so (hook-reasons.ts), and fewer passed than failed in print. */
export const hookThrew = (counts: Counts, output: string): boolean =>
  /^ {3}FAIL {2}.*"a hook"$/m.test(output) ||
  counts.total - counts.passed > (output.match(/^ {3}FAIL {2}/gm) ?? []).length;

const endOf = (ending: Ending): string =>
  ending.signal === null ? `exit code ${ending.exitCode}` : `signal ${ending.signal}`;
