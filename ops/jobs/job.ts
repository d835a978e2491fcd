/**
 * The types of jobs. Types only.
 *
 * A fleet job runs once per due time of its calendar, on any one node. If all nodes were down at that time,
 * the first node that starts runs the latest missed one. A fleet job must be repeatable for the same due
 * time: when a node dies or stalls during a run, another node runs it again. A node job runs on every node
 * at an interval; for work that must not happen twice, it claims each SQL row before it works on it.
 */
import type { Calendar } from './calendar.ts';

export interface JobRun {
  /** The time at which it was due, which may be long ago. */
  readonly dueAtMs: number;
  /** Aborted when the node stops or another node has taken over the run: end soon. */
  readonly signal: AbortSignal;
}
export interface FleetJob {
  readonly name: string;
  readonly calendar: Calendar;
  run(run: JobRun): Promise<void>;
}
export interface NodeJob {
  readonly name: string;
  /** The pause between the end of a run and the start of the next. */
  readonly everyMs: number;
  run(signal: AbortSignal): Promise<void>;
}
