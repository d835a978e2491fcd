/**
 * What a job is. Types only.
 *
 * A fleet's job runs once per instant of its calendar, on any node; if all were down then, the newest instant
 * missed is made up for by the first that starts. It must bear being begun twice for the same instant: a node
 * that dies or stalls in the middle is followed by another. A node's job runs on every node, again and again;
 * what must not be done twice, it claims row by row.
 */
import type { Calendar } from './calendar.ts';

export interface JobRun {
  /** The instant it was due, which may be long ago. */
  readonly dueAtMs: number;
  /** The node is stopping, or the run was taken over: end soon. */
  readonly signal: AbortSignal;
}
export interface FleetJob {
  readonly name: string;
  readonly calendar: Calendar;
  run(run: JobRun): Promise<void>;
}
export interface NodeJob {
  readonly name: string;
  /** From the end of one run to the beginning of the next. */
  readonly everyMs: number;
  run(signal: AbortSignal): Promise<void>;
}
