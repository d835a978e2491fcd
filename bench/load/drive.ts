/**
 * The ways in which our own generator sends: as fast as answers come on kept connections (autocannon), on a
 * new connection for each request, and at a rate.
 *
 * At a rate the clock schedules requests, whether or not the server keeps up, and a latency counts from the
 * scheduled time, also when all connections were busy (no coordinated omission).
 */
import { Agent } from 'node:http';
import { createRequire } from 'node:module';
import type { LoadRequest } from '../scenarios/scenario.ts';
import type { Order } from './order.ts';
import { sendOne, sendOnTime } from './send.ts';

/** `status` 0: no answer. */
export type Answered = (status: number, bytes: number, milliseconds: number) => void;
export interface Driving {
  /** Resolves when nothing is sent any more. */
  stop(): Promise<void>;
}
export type Drive = (order: Order, lists: readonly LoadRequest[][], answered: Answered) => Driving;

interface Run extends PromiseLike<{ readonly errors: number }> {
  stop(): void;
  on(
    event: 'response',
    take: (_: unknown, status: number, bytes: number, milliseconds: number) => void,
  ): void;
  on(event: 'reqError', take: () => void): void;
}
// The package has no types.
const autocannon = createRequire(import.meta.url)('autocannon') as (
  options: Readonly<Record<string, unknown>>,
) => Run;
/** Never reached: a round ends after its measured time, however slow the machine is. */
const durationMaxSeconds = 600;

export const driveAutocannon: Drive = ({ url, connections }, lists, answered) => {
  let made = 0;
  const run = autocannon({
    ...{ url, connections, duration: durationMaxSeconds, sampleInt: 50, skipAggregateResult: true },
    setupClient: (client: { setRequests(requests: readonly LoadRequest[]): void }) =>
      client.setRequests(lists[made++ % lists.length] as LoadRequest[]),
  });
  run.on('response', (_, ...answer) => answered(...answer));
  run.on('reqError', () => answered(0, 0, 0));
  return {
    stop: async () => {
      run.stop();
      await run;
    },
  };
};

export const driveReconnecting: Drive = ({ url }, lists, answered) => {
  let isStopped = false;
  const drive = async (requests: readonly LoadRequest[]): Promise<void> => {
    for (let turn = 0; !isStopped; turn++) {
      const request = requests[turn % requests.length] as LoadRequest;
      const begunMs = performance.now();
      const { status, bytes } = await sendOne(false, url, {
        ...request,
        headers: { ...request.headers, Connection: 'close' },
      });
      if (!isStopped) answered(status, bytes, performance.now() - begunMs);
      // A pause, so that a server that refuses connections is not called in a tight loop.
      await new Promise(setImmediate);
    }
  };
  const all = lists.map(drive);
  return {
    stop: async () => {
      isStopped = true;
      await Promise.all(all);
    },
  };
};

export const driveAtRate: Drive = ({ url, rate, connections }, lists, answered) => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const sending = sendOnTime(rate, Number.POSITIVE_INFINITY, (index, dueMs) => {
    const list = lists[index % lists.length] as LoadRequest[];
    const request = list[Math.floor(index / lists.length) % list.length] as LoadRequest;
    const take = ({ status, bytes }: { readonly status: number; readonly bytes: number }): void =>
      answered(status, bytes, performance.now() - dueMs);
    void sendOne(agent, url, request).then(take);
  });
  return {
    stop: async () => {
      sending.stop();
      await sending.ended;
      agent.destroy();
    },
  };
};
