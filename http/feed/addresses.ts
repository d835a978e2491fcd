/**
 * What the clients of one address share: their connections, and how much they may request.
 *
 * One message of an address is handled at a time, in the order of arrival, so an address that sends more
 * delays only itself. All limits grow with the connections that an address may have. Bounded by
 * connections, messages that wait, and the tables of the limits.
 */
import type { Clock } from '../../engine/ports.ts';
import { createLimit } from '../limits/limiter.ts';
import { feedLimits } from './state.ts';

interface Address {
  connections: number;
  /** Ends with its last message. */
  work: Promise<void>;
}

/** Computes how many targets a charge counts as: four use up the burst, unless `chargedMax` is less. */
const computeCharge = (connectionsPerAddressMax: number): number =>
  Math.min(feedLimits.chargedMax, (feedLimits.targetsPerConnection * connectionsPerAddressMax) / 2);

export const createAddresses = (clock: Pick<Clock, 'monotonicMs'>, connectionsPerAddressMax: number) => {
  const addresses = new Map<string, Address>();
  const limit = (name: string, each: number) => {
    const requests = each * connectionsPerAddressMax;
    return createLimit(name, { requests, seconds: feedLimits.windowMs / 1_000, burst: 2 * requests });
  };
  const frames = limit('feed_frames', feedLimits.framesPerWindow / 2);
  const targets = limit('feed_targets', feedLimits.targetsPerConnection);
  const charged = computeCharge(connectionsPerAddressMax);
  let waiting = 0;
  return {
    /** Whether the address has as many connections as it may. */
    isFull: (address: string) => (addresses.get(address)?.connections ?? 0) >= connectionsPerAddressMax,
    join: (address: string) => {
      const known = addresses.get(address);
      if (known !== undefined) known.connections += 1;
      else addresses.set(address, { connections: 1, work: Promise.resolve() });
    },
    leave: (address: string) => {
      const known = addresses.get(address);
      if (known !== undefined && --known.connections === 0) addresses.delete(address);
    },
    /** Counts a message, ping or pong. Throws `rate_limited`. */
    countFrame: (address: string) => void frames.take(address, clock.monotonicMs()),
    /** Counts targets of requests and messages. Throws `rate_limited`; for 0 only while a charge is left. */
    countTargets: (address: string, named: number) => void targets.take(address, clock.monotonicMs(), named),
    /** Call when a request of the address named an unknown entity or broke a limit: after a few it waits. */
    charge: (address: string) => targets.charge(address, clock.monotonicMs(), charged),
    /** Runs the task after the address's earlier ones. False when too many wait. The task must not reject. */
    queue: (address: string, task: () => Promise<void>) => {
      const known = addresses.get(address);
      if (known === undefined) return true;
      if (waiting >= feedLimits.messagesWaitingMax) return false;
      waiting += 1;
      known.work = known.work.then(task).finally(() => {
        waiting -= 1;
      });
      return true;
    },
    count: () => ({ addresses: addresses.size, messages: waiting }),
  };
};
export type Addresses = ReturnType<typeof createAddresses>;
