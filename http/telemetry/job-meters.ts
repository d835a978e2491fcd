/**
 * The Prometheus metrics of background jobs and push messages. Updated by ops/jobs; registered by metrics.ts.
 */
import type { Instruments } from './instruments.ts';

const pushOutcomes = ['delivered', 'gone', 'retry', 'rejected', 'abandoned'] as const;

export interface JobMeters {
  recordSuccess(job: string, milliseconds: number): void;
  recordFailure(job: string): void;
  /** Shows these jobs with 0 failures. */
  declareJobs(jobs: readonly string[]): void;
  /** Records how many votes have no number yet. */
  recordUnnumberedVotes(votes: number): void;
  /** Counts one attempt to send. `gone`: the subscription has ended. `retry`: another attempt follows. */
  recordPush(outcome: (typeof pushOutcomes)[number]): void;
}

const secondsBuckets = [0.01, 0.05, 0.25, 1, 5, 15, 60, 300];

export const registerJobMeters = (instruments: Instruments): JobMeters => {
  const time = instruments.createHistogram(
    'rollcall_job_duration_seconds',
    'Duration of the successful runs of a job on this node.',
    secondsBuckets,
    ['job'],
  );
  const success = instruments.createGauge(
    'rollcall_job_last_success_timestamp_seconds',
    'Unix time of the last successful run of a job on this node.',
    ['job'],
  );
  const failures = instruments.createCounterBy('job', [], {
    name: 'rollcall_job_failures_total',
    help: 'Failed runs of a job on this node.',
  });
  const messages = instruments.createCounterBy('outcome', pushOutcomes, {
    name: 'rollcall_push_messages_total',
    help: 'Attempts to send a push message, by outcome.',
  });
  const unnumbered = instruments.createGauge(
    'rollcall_votes_unnumbered',
    'Votes of listings that have no number in the vote log yet; counted up to 100,000.',
  );
  return {
    recordSuccess: (job, milliseconds) => {
      time.observe({ job }, milliseconds / 1_000);
      success.setToCurrentTime({ job });
    },
    recordFailure: (job) => failures.inc({ job }),
    declareJobs: (jobs) => {
      for (const job of jobs) failures.inc({ job }, 0);
    },
    recordUnnumberedVotes: (votes) => unnumbered.set(votes),
    recordPush: (outcome) => messages.inc({ outcome }),
  };
};
