/**
 * Runs one job for one instant, if nobody else does: claims it, keeps the lease alive, records the end.
 *
 * A run that was taken over (this node stood still for longer than the lease) is told so by its signal and
 * records nothing. A failure is recorded and tried again after a pause, by whoever looks first. Called by
 * schedule.ts.
 */
import type { JobMeters } from '../../http/telemetry/job-meters.ts';
import type { JobClaim, JobRuns } from '../../storage/nodes/job-runs.ts';
import { startInterval } from '../timers.ts';
import type { FleetJob } from './job.ts';

export interface RunParts {
  readonly runs: JobRuns;
  readonly meters: JobMeters;
  readonly monotonicMs: () => number;
  /** The node is stopping. */
  readonly signal: AbortSignal;
  /** How long a run is safe from others without a word from us. */
  readonly leaseMs: number;
  readonly failed: (job: string, error: Error) => void;
}

/** Before a failed run is tried again. */
const pauseMs = 60_000;

/** Resolves to whether this node ran it to its end. Rejects only when the coordinator cannot be asked. */
export const runOnce = async (parts: RunParts, job: FleetJob, dueAtMs: number): Promise<boolean> => {
  const { runs, leaseMs } = parts;
  const claim = await runs.claim({ name: job.name, dueAtMs }, leaseMs);
  if (claim === null) return false;
  const lost = new AbortController();
  const cancel = startInterval(leaseMs / 3, () => extend(parts, claim, lost), giveUp(lost));
  const startedMs = parts.monotonicMs();
  try {
    await job.run({ dueAtMs, signal: AbortSignal.any([parts.signal, lost.signal]) });
    parts.signal.throwIfAborted();
    await runs.finish(claim);
    parts.meters.recordSuccess(job.name, parts.monotonicMs() - startedMs);
    return true;
  } catch (error) {
    await releaseClaim(parts, claim, error instanceof Error ? error : new Error(String(error)));
    return false;
  } finally {
    cancel();
  }
};

const extend = async ({ runs, leaseMs }: RunParts, claim: JobClaim, lost: AbortController): Promise<void> => {
  if (!(await runs.extend(claim, leaseMs))) lost.abort(new Error('another node has taken this run over'));
};

/** A lease that cannot be kept is as good as lost. */
const giveUp = (lost: AbortController) => (error: Error) => lost.abort(error);

/** A node that stops leaves the run to the others at once; a failure is worth a pause. */
const releaseClaim = async (parts: RunParts, claim: JobClaim, error: Error): Promise<void> => {
  const stopping = parts.signal.aborted;
  if (!stopping) {
    parts.meters.recordFailure(claim.name);
    parts.failed(claim.name, error);
  }
  const why = stopping ? { error: 'the node was stopped', pauseMs: 0 } : { error: error.message, pauseMs };
  await parts.runs.fail(claim, why).catch((failure: Error) => parts.failed(claim.name, failure));
};
