/**
 * What the clients of one address share: their connections, and how much they may request.
 *
 * One message of an address is handled at a time, in the order in which they came, so who sends more waits
 * longer and nobody else does. All limits grow with the connections that an address may have. Bounded by
 * connections, messages that wait, and the tables of the limits.
 */
import type { Clock } from '../../engine/ports.ts';
import { createLimit } from '../limits/limiter.ts';
import { feedLimits } from './state.ts';

export interface Addresses {
  /** Whether the address has as many connections as it may. */
  isFull(address: string): boolean;
  join(address: string): void;
  leave(address: string): void;
  /** Counts a message, ping or pong. Throws `rate_limited`. */
  countFrame(address: string): void;
  /** Counts targets of requests and messages. Throws `rate_limited`; for 0 only while a charge is left. */
  countTargets(address: string, targets: number): void;
  /** Something of the address named an unknown entity, or broke a limit: after a few of these it waits. */
  charge(address: string): void;
  /** Runs the task after those before it. False when too many of the node wait. It must not reject. */
  queue(address: string, task: () => Promise<void>): boolean;
  count(): { readonly addresses: number; readonly messages: number };
}

interface Address {
  connections: number;
  /** Ends with its last message. */
  work: Promise<void>;
}

/** The targets that a charge counts as: four charges are a burst, more where an address may have much. */
const computeCharge = (connectionsPerAddressMax: number): number =>
  Math.min(feedLimits.chargedMax, (feedLimits.targetsPerConnection * connectionsPerAddressMax) / 2);

export const createAddresses = (
  clock: Pick<Clock, 'monotonicMs'>,
  connectionsPerAddressMax: number,
): Addresses => {
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
    isFull: (address) => (addresses.get(address)?.connections ?? 0) >= connectionsPerAddressMax,
    join: (address) => {
      const known = addresses.get(address);
      if (known !== undefined) known.connections += 1;
      else addresses.set(address, { connections: 1, work: Promise.resolve() });
    },
    leave: (address) => {
      const known = addresses.get(address);
      if (known !== undefined && --known.connections === 0) addresses.delete(address);
    },
    countFrame: (address) => void frames.take(address, clock.monotonicMs()),
    countTargets: (address, named) => void targets.take(address, clock.monotonicMs(), named),
    charge: (address) => targets.charge(address, clock.monotonicMs(), charged),
    queue: (address, task) => {
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
