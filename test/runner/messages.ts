/**
 * What the runner and a test process say to each other, a line of JSON each.
 */

/** Run this file; `folder` is its temporary folder. */
export interface Order {
  readonly file: string;
  readonly folder: string;
  /**
   * After its tests ended, it has this long to close what it opened. `null` when no file follows: then the
   * end of the process shows that it did.
   */
  readonly graceMs: number | null;
}

export interface Counts {
  readonly total: number;
  readonly passed: number;
  /** Left out by `.skip` or `.only`. */
  readonly skipped: number;
}
export interface Report {
  /** `null` when the file did not load or run to its end. */
  readonly counts: Counts | null;
  /** A hook threw, and the rest of the suite did not run. */
  readonly hookThrew: boolean;
  /** Processor time of the process itself. */
  readonly cpuMs: number;
  /** What the tests left open: kinds of resources that keep the process alive. */
  readonly open: readonly string[];
}

/** Begins the line of a report among the output of tests. */
export const reportMark = '\u001erollcall-report ';
