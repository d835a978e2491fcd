/**
 * Runs one job for one due time, unless another node does: claims the run, extends the lease, records the
 * end.
 *
 * When another node has taken over the run (this node stalled for longer than the lease), the job's signal
 * aborts and nothing is recorded. A failure is recorded; after a pause any node may run the job again. Used
 * by schedule.ts and boards.ts.
 */
import { toError } from '../../engine/errors.ts';
import type { JobMeters } from '../../http/telemetry/counts.ts';
import type { JobClaim, JobRuns } from '../../storage/nodes/job-runs.ts';
import { startInterval } from '../../storage/timers.ts';
import type { FleetJob } from './job.ts';

export interface RunParts {
  readonly runs: JobRuns;
  readonly meters: JobMeters;
  readonly monotonicMs: () => number;
  /** Aborted when the node stops. */
  readonly signal: AbortSignal;
  /** Without an extension for this long, another node may take over the run. Default 60 s. */
  readonly leaseMs?: number;
  readonly onFailure: (job: string, error: Error) => void;
  /** Called after a run that this node completed. */
  readonly onSuccess?: ((job: string, milliseconds: number) => void) | undefined;
}

/** The pause before a failed run is repeated. */
const pauseMs = 60_000;

/** Resolves to whether this node completed the run. Rejects only when the run cannot be claimed in SQL. */
export const runOnce = async (
  parts: RunParts,
  job: Pick<FleetJob, 'name' | 'run'>,
  dueAtMs: number,
): Promise<boolean> => {
  const { runs, leaseMs = 60_000 } = parts;
  const claim = await runs.claim({ name: job.name, dueAtMs }, leaseMs);
  if (claim === null) return false;
  const takeover = new AbortController();
  const abort = (error: Error): void => takeover.abort(error);
  const extendLease = async (): Promise<void> => {
    if (!(await runs.extend(claim, leaseMs))) abort(new Error('another node has taken over this run'));
  };
  const cancel = startInterval(leaseMs / 3, extendLease, abort);
  const startedMs = parts.monotonicMs();
  try {
    await job.run({ dueAtMs, signal: AbortSignal.any([parts.signal, takeover.signal]) });
    parts.signal.throwIfAborted();
    await runs.finish(claim);
    const tookMs = parts.monotonicMs() - startedMs;
    parts.meters.recordSuccess(job.name, tookMs);
    parts.onSuccess?.(job.name, tookMs);
    return true;
  } catch (error) {
    await releaseClaim(parts, claim, toError(error));
    return false;
  } finally {
    cancel();
  }
};

/** Releases the run: without a pause when this node stops, with one after a failure. */
const releaseClaim = async (parts: RunParts, claim: JobClaim, error: Error): Promise<void> => {
  const stopping = parts.signal.aborted;
  if (!stopping) {
    parts.meters.recordFailure(claim.name, error);
    parts.onFailure(claim.name, error);
  }
  const failure = stopping
    ? { error: 'the node was stopped', pauseMs: 0 }
    : { error: error.message, pauseMs };
  await parts.runs.fail(claim, failure).catch((cause: Error) => parts.onFailure(claim.name, cause));
};
