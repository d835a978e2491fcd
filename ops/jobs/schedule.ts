/**
 * Starts the jobs on time, and finds missed runs once a minute.
 *
 * node-cron keeps the time, and SQL decides which node runs a fleet job (storage/nodes/job-runs.ts). So a
 * tick that comes twice, late or never does no harm: the sweep, at the start and each minute, runs what is
 * due and not done, and so does one at a jump of the wall clock, which node-cron notices late. The sweep and
 * node jobs use the monotonic clock, because node-cron would wait for days if the clock was set back. In one
 * process a job never overlaps itself. Stopping aborts running jobs and waits for them.
 */
import { schedule as cronSchedule, type ScheduledTask } from 'node-cron';
import { startInterval } from '../../storage/timers.ts';
import type { FleetJob, NodeJob } from './job.ts';
import { type RunParts, runOnce } from './run-once.ts';

export interface ScheduleParts extends Omit<RunParts, 'signal' | 'monotonicMs'> {
  readonly fleetJobs: readonly FleetJob[];
  readonly nodeJobs: readonly NodeJob[];
  readonly clock: { nowMs(): number; monotonicMs(): number };
}

const sweepPauseMs = 60_000;
const lookForJumpMs = 1_000;
/** Corrections of a clock within a second are smaller. */
const jumpMsMin = 1_000;

const createState = (parts: ScheduleParts) => ({
  parts,
  stopping: new AbortController(),
  running: new Map<string, Promise<void>>(),
  /** Names of fleet jobs that SQL knows. */
  begun: new Set<string>(),
  tasks: [] as readonly ScheduledTask[],
  cancels: [] as readonly (() => void)[],
});
type ScheduleState = ReturnType<typeof createState>;

/** Creates the schedule; call `start` to begin. */
export const createSchedule = (parts: ScheduleParts) => {
  parts.meters.declareJobs([...parts.fleetJobs, ...parts.nodeJobs].map(({ name }) => name));
  const state = createState(parts);
  return {
    /** Runs missed fleet jobs and all node jobs, and starts the timers. Never rejects. */
    start: () => {
      state.tasks = parts.fleetJobs.map((job) =>
        scheduleAt(job.calendar.expression, () => runFleetJob(state, job)),
      );
      state.cancels = [
        startInterval(sweepPauseMs, () => sweep(state), ignoreError),
        watchForJumps(state),
        ...parts.nodeJobs.map((job) => startInterval(job.everyMs, () => runNodeJob(state, job), ignoreError)),
      ];
      void sweep(state);
      for (const job of parts.nodeJobs) void runNodeJob(state, job);
    },
    /** Runs the fleet jobs that are due and not done. Resolves when they have ended; never rejects. */
    sweep: () => sweep(state),
    /** Runs a node job now, if it does not run already. */
    wake: (name: string) => {
      for (const job of parts.nodeJobs) if (job.name === name) void runNodeJob(state, job);
    },
    /** Aborts running jobs and waits until they have ended. */
    stop: () => stop(state),
  };
};
export type Schedule = ReturnType<typeof createSchedule>;

const ignoreError = (): void => {};
/** node-cron logs late and missed ticks; the sweep repairs both, so nothing is logged. */
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

/** Sweeps when the wall clock has jumped. */
const watchForJumps = (state: ScheduleState): (() => void) => {
  const { clock } = state.parts;
  const readOffsetMs = (): number => clock.nowMs() - clock.monotonicMs();
  let offsetMs = readOffsetMs();
  const look = async (): Promise<void> => {
    const beforeMs = offsetMs;
    offsetMs = readOffsetMs();
    if (Math.abs(offsetMs - beforeMs) > jumpMsMin) await sweep(state);
  };
  return startInterval(lookForJumpMs, look, ignoreError);
};

/**
 * Runs `task`, or waits for the run of this name that is already in progress. Does nothing while stopping.
 */
const runExclusively = (state: ScheduleState, name: string, task: () => Promise<void>): Promise<void> => {
  const current = state.running.get(name);
  if (current !== undefined || state.stopping.signal.aborted) return current ?? Promise.resolve();
  const running = task()
    .catch((error: Error) => {
      if (state.stopping.signal.aborted) return;
      state.parts.meters.recordFailure(name, error);
      state.parts.onFailure(name, error);
    })
    .finally(() => state.running.delete(name));
  state.running.set(name, running);
  return running;
};

const runFleetJob = (state: ScheduleState, job: FleetJob): Promise<void> =>
  runExclusively(state, job.name, async () => {
    const { runs, clock } = state.parts;
    const dueAtMs = job.calendar.latestMs(clock.nowMs());
    if (!state.begun.has(job.name)) await runs.begin({ name: job.name, dueAtMs });
    state.begun.add(job.name);
    const { signal } = state.stopping;
    await runOnce({ ...state.parts, monotonicMs: clock.monotonicMs, signal }, job, dueAtMs);
  });

const runNodeJob = (state: ScheduleState, job: NodeJob): Promise<void> =>
  runExclusively(state, job.name, async () => {
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
