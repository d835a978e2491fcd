/**
 * Meters of jobs for tests that do not look at them, or only at some.
 */
import type { JobMeters } from '../../http/telemetry/counts.ts';

const ignore = (): void => {};

export const silentMeters: JobMeters = {
  recordSuccess: ignore,
  recordFailure: ignore,
  declareJobs: ignore,
  recordPush: ignore,
  recordPushAnswer: ignore,
  recordSearch: ignore,
  recordDeadLetters: ignore,
};
