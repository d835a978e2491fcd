/**
 * What jobs and push messages report to Prometheus. Called by the jobs through ops; registered by metrics.ts.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface JobMeters {
  recordSuccess(job: string, milliseconds: number): void;
  recordFailure(job: string): void;
  /** One attempt to send a message: what became of it. */
  recordPush(outcome: 'delivered' | 'gone' | 'later' | 'refused' | 'abandoned'): void;
}

const secondsBuckets = [0.01, 0.05, 0.25, 1, 5, 15, 60, 300];

export const registerJobMeters = (registers: Registry[]): JobMeters => {
  const labelNames = ['job'];
  const time = new Histogram({
    name: 'rollcall_job_seconds',
    help: 'Time of runs of a job that succeeded on this node.',
    labelNames,
    buckets: secondsBuckets,
    registers,
  });
  const success = new Gauge({
    name: 'rollcall_job_last_success_timestamp_seconds',
    help: 'When a run of a job last succeeded on this node.',
    labelNames,
    registers,
  });
  const failures = new Counter({
    name: 'rollcall_job_failures_total',
    help: 'Runs of a job that failed on this node.',
    labelNames,
    registers,
  });
  const messages = new Counter({
    name: 'rollcall_push_messages_total',
    help: 'Attempts to send a push message, by what became of them.',
    labelNames: ['outcome'],
    registers,
  });
  return {
    recordSuccess: (job, milliseconds) => {
      time.observe({ job }, milliseconds / 1_000);
      success.setToCurrentTime({ job });
    },
    recordFailure: (job) => failures.inc({ job }),
    recordPush: (outcome) => messages.inc({ outcome }),
  };
};
