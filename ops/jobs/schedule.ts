/**
 * Wakes the jobs, once a tick, and looks every minute for what was missed.
 *
 * node-cron keeps the time; who runs a fleet's job is decided in SQL (storage/nodes/job-runs.ts), so a tick
 * that comes twice, late or never does no harm: the sweep finds what is due and not done, at start and every
 * minute. That minute, and the pause of a node's job, are of the monotonic clock: node-cron waits for a time
 * of day, for days when the clock was set back. A job does not overlap itself in this process. Stopping tells
 * running jobs to end, and waits for them. Wired by jobs.ts.
 */
import { schedule as cronSchedule, type ScheduledTask } from 'node-cron';
import type { JobMeters } from '../../http/telemetry/job-meters.ts';
import type { JobRuns } from '../../storage/nodes/job-runs.ts';
import { startInterval } from '../timers.ts';
import type { FleetJob, NodeJob } from './job.ts';
import { runOnce } from './run-once.ts';

export interface ScheduleParts {
  readonly fleetJobs: readonly FleetJob[];
  readonly nodeJobs: readonly NodeJob[];
  readonly runs: JobRuns;
  readonly meters: JobMeters;
  readonly clock: { nowMs(): number; monotonicMs(): number };
  readonly failed: (job: string, error: Error) => void;
  readonly leaseMs?: number;
}
export interface Schedule {
  /** Runs what was missed and every node's jobs, and begins to keep time. Never rejects. */
  start(): void;
  /** Runs what is due and not done; resolves when that has ended. Never rejects. */
  sweep(): Promise<void>;
  /** Resolves when no job runs any more. */
  stop(): Promise<void>;
}

const leaseMsDefault = 60_000;
const sweepPauseMs = 60_000;

interface ScheduleState {
  readonly parts: ScheduleParts;
  readonly stopping: AbortController;
  readonly running: Map<string, Promise<void>>;
  tasks: readonly ScheduledTask[];
  cancels: readonly (() => void)[];
}

export const createSchedule = (parts: ScheduleParts): Schedule => {
  const state: ScheduleState = {
    parts,
    stopping: new AbortController(),
    running: new Map(),
    tasks: [],
    cancels: [],
  };
  return {
    start: () => {
      state.tasks = createTasks(state);
      state.cancels = startTimers(state);
      void sweep(state);
      for (const job of parts.nodeJobs) void runNodeJob(state, job);
    },
    sweep: () => sweep(state),
    stop: () => stop(state),
  };
};

const createTasks = (state: ScheduleState): readonly ScheduledTask[] =>
  state.parts.fleetJobs.map((job) => scheduleAt(job.calendar.expression, () => runFleetJob(state, job)));

const startTimers = (state: ScheduleState): readonly (() => void)[] => [
  startInterval(sweepPauseMs, () => sweep(state), ignoreError),
  ...state.parts.nodeJobs.map((job) => startInterval(job.everyMs, () => runNodeJob(state, job), ignoreError)),
];

const ignoreError = (): void => {};
/** What node-cron would say (a tick was late, or missed) the sweep makes good. */
const noLogger = { info: ignoreError, warn: ignoreError, error: ignoreError, debug: ignoreError };

const scheduleAt = (expression: string, task: () => Promise<void>): ScheduledTask =>
  cronSchedule(expression, task, {
    timezone: 'UTC',
    unref: true,
    suppressMissedWarning: true,
    logger: noLogger,
  });

const sweep = async (state: ScheduleState): Promise<void> => {
  await Promise.all(state.parts.fleetJobs.map((job) => runFleetJob(state, job)));
};

/** One at a time of each name; the one that runs is waited for. */
const runGuarded = (state: ScheduleState, name: string, task: () => Promise<void>): Promise<void> => {
  const present = state.running.get(name);
  if (present !== undefined || state.stopping.signal.aborted) return present ?? Promise.resolve();
  const running = task()
    .catch((error: Error) => {
      if (state.stopping.signal.aborted) return;
      state.parts.meters.recordFailure(name);
      state.parts.failed(name, error);
    })
    .finally(() => state.running.delete(name));
  state.running.set(name, running);
  return running;
};

const runFleetJob = (state: ScheduleState, job: FleetJob): Promise<void> =>
  runGuarded(state, job.name, async () => {
    const { runs, clock, leaseMs = leaseMsDefault } = state.parts;
    const dueAtMs = job.calendar.latestMs(clock.nowMs());
    await runs.begin({ name: job.name, dueAtMs });
    const { signal } = state.stopping;
    await runOnce({ ...state.parts, monotonicMs: clock.monotonicMs, signal, leaseMs }, job, dueAtMs);
  });

const runNodeJob = (state: ScheduleState, job: NodeJob): Promise<void> =>
  runGuarded(state, job.name, async () => {
    const startedMs = state.parts.clock.monotonicMs();
    await job.run(state.stopping.signal);
    state.parts.meters.recordSuccess(job.name, state.parts.clock.monotonicMs() - startedMs);
  });

const stop = async (state: ScheduleState): Promise<void> => {
  state.stopping.abort(new Error('the node is stopping'));
  for (const cancel of state.cancels) cancel();
  await Promise.all(state.tasks.map((task) => task.destroy()));
  await Promise.all(state.running.values());
};
