/**
 * Runs one round against one server, as much as it takes or at a rate: the load, and what server and stores
 * used for each request of the measured time.
 */
import type { Load, Order } from '../load/order.ts';
import type { FleetOrder } from '../load/schedule.ts';
import { placeProcess } from '../machine/places.ts';
import type { Row } from '../report/rows.ts';
import type { ServerProcess } from '../servers/process.ts';
import type { Stores } from '../servers/stores.ts';
import { measureLoad, readMemoryBytes, type UsedTimes, watchTimes } from './usage.ts';

/** A measured server, and the stores that it works on; `null`: none outside its process. */
export interface Contestant {
  readonly name: string;
  readonly process: ServerProcess;
  readonly stores: Stores | null;
}

const toEach = (used: UsedTimes, requests: number) => {
  const each = (total: number): number => total / Math.max(1, requests);
  return {
    ...{ requests, serverUs: each(used.serverUs), redisUs: each(used.redisUs) },
    ...{ postgresUs: each(used.postgresUs), wakeUps: each(used.wakeUps), diskBytes: each(used.writtenBytes) },
  };
};

/** Rejects when the load or the server ends. */
export const measureRound = async (
  load: Load,
  { name: server, process, stores }: Contestant,
  order: Omit<Order, 'url'>,
): Promise<Row> => {
  const { scenario, round, placement } = order;
  const fleet = { servers: [process], stores };
  let begun: (() => Promise<UsedTimes>) | undefined;
  let reading: Promise<UsedTimes> | undefined;
  if (placement !== null) placeProcess(process.child.pid ?? 0, placement, true);
  const { failures, latencyMs, requests, ...result } = await load.measure(
    { ...order, url: process.url },
    {
      begun: () => {
        begun = watchTimes(fleet);
      },
      ended: () => {
        reading = begun?.();
        // Reported below.
        reading?.catch(() => {});
      },
    },
  );
  if (reading === undefined) throw new Error('the load generator did not report its measured time');
  const used = await reading;
  return {
    ...{ scenario, server, round, load: placement ?? 'free', latencyMs, failures },
    ...toEach(used, requests),
    residentBytes: readMemoryBytes([process]),
    saturated: { ...result, cores: used.serverUs / 1_000_000 / used.seconds },
  };
};

/** With a lead, counts are those of all requests sent. */
export const measureRate = async (
  { name: server, process, stores }: Contestant,
  round: number,
  order: Omit<FleetOrder, 'urls' | 'routing' | 'isUniform'>,
): Promise<Row> => {
  const fleet = { servers: [process], stores };
  const { used, answers } = await measureLoad(fleet, { ...order, routing: 'random', isUniform: true });
  const { requests, sent, failures, latencyMs } = answers;
  return {
    ...{ scenario: order.scenario, server, round, load: `${order.rate}/s`, latencyMs, failures },
    ...toEach(used, requests),
    residentBytes: readMemoryBytes([process]),
    ...{ redisCommands: used.redisCommands / sent, statements: used.statements / sent },
  };
};
