/**
 * Stops one node in order: the clients leave, the jobs end, the engine flushes, the stores close.
 */
import type { Logger } from 'pino';
import type { Engine } from '../engine/engine.ts';
import type { VoteLogWaiters } from '../http/api/shared/vote-log-waiters.ts';
import type { Facade } from '../http/facade.ts';
import type { Feed } from '../http/feed/interface.ts';
import type { Membership } from '../storage/nodes/membership.ts';
import type { Stores } from '../storage/open.ts';
import { endWithin } from '../storage/timers.ts';
import { systemClock } from './clock.ts';
import type { ClusterContext } from './cluster-context.ts';
import type { Config } from './config/config.ts';
import type { Schedule } from './jobs/schedule.ts';
import type { Webhooks } from './services/webhooks.ts';

/** After a loss of the embedded SQL nothing can be flushed, and a new process should start soon. */
const lostDrainMsMax = 1_000;
/** A statement or two. */
const leaveMsMax = 2_000;

/** The parts of a started node that a stop ends. */
export interface Stoppable {
  readonly state: { draining: boolean };
  readonly logger: Pick<Logger, 'warn'>;
  readonly facade: Facade;
  readonly admin: Facade;
  readonly engine: Engine;
  readonly voteLogWaiters: Pick<VoteLogWaiters, 'close'>;
  readonly feed: Pick<Feed, 'leave'>;
  readonly membership: Membership;
  readonly clusterContext: ClusterContext;
  readonly stores: Stores;
  readonly config: Config;
  readonly cancelTimers: () => void;
  readonly jobs: Pick<Schedule, 'stop'>;
  readonly webhooks: Pick<Webhooks, 'close'>;
  /** Why the node lost its database; `''` while it has not. */
  readonly loss: { readonly reason: string };
}

/** The first call stops the node; later ones wait for the same stop. */
export const createStop = (parts: Stoppable): (() => Promise<void>) => {
  let stopping: Promise<void> | null = null;
  return () => {
    stopping ??= stop(parts);
    return stopping;
  };
};

/** Waits for running jobs. One that does not end in time fails at closed stores; another node repeats it. */
const endJobs = ({ jobs }: Stoppable, withinMs: number): Promise<void> =>
  endWithin(jobs.stop(), withinMs).catch(() => undefined);

/** SQL that is away, or waits for room, keeps the last heartbeat: a downtime of all nodes counts from it. */
const leaveFleet = ({ membership }: Stoppable): Promise<void> =>
  endWithin(membership.leave(), leaveMsMax).catch(() => undefined);

/** Serves on for LEAVE_MS while `/readyz` answers 503, so that a load balancer removes this node in time. */
const leave = ({ facade, config }: Stoppable): Promise<void> => {
  facade.startLeaving();
  return new Promise((resolve) => void systemClock.after(config.leaveMs, resolve));
};

const stop = async (parts: Stoppable): Promise<void> => {
  const { loss } = parts;
  const drainMs = loss.reason === '' ? parts.config.drainMs : Math.min(parts.config.drainMs, lostDrainMsMax);
  parts.state.draining = true;
  parts.voteLogWaiters.close();
  if (parts.stores.shared && loss.reason === '') await leave(parts);
  // Only now: an `EventSource` that came back to this node would get a 503, and never try again.
  await parts.feed.leave();
  parts.cancelTimers();
  await Promise.all([
    parts.facade.drain(drainMs),
    endJobs(parts, drainMs),
    // Half of the time, so that a slow receiver's attempt can still be given back.
    parts.webhooks.close(drainMs / 2),
  ]);
  const unconfirmed = await parts.engine.drain(systemClock.monotonicMs() + drainMs);
  if (unconfirmed > 0)
    parts.logger.warn({ unconfirmed }, 'the hot store did not confirm some changes, so they may not count');
  await leaveFleet(parts);
  await parts.clusterContext.close();
  await parts.stores.close();
  await parts.admin.drain(0);
};
