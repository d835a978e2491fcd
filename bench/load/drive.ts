/**
 * Drives autocannon: closed loop (a connection sends its next request when the last was answered), or open
 * loop at a set rate.
 *
 * Open loop: the clock schedules requests, whether or not the server keeps up, and a latency counts from the
 * scheduled time, also when the connection was still busy (no coordinated omission). autocannon's own limiter
 * sends each second's requests at once.
 */
import { createRequire } from 'node:module';
import { performance } from 'node:perf_hooks';
import type { LoadRequest } from '../scenarios/scenario.ts';
import type { Order } from './order.ts';

export type Answered = (status: number, bytes: number, milliseconds: number) => void;
export interface Driving {
  /** Resolves to the number of connections that failed. */
  stop(): Promise<number>;
}
export type Drive = (order: Order, lists: readonly LoadRequest[][], answered: Answered) => Driving;

/** The fields of autocannon's client that a limiter of requests works with. */
interface Client {
  rate?: number;
  paused?: boolean;
  reqsMadeThisSecond: number;
  rateInterval?: NodeJS.Timeout;
  setRequests(requests: LoadRequest[]): void;
  _doRequest(): void;
}
type Answer = [client: Client, status: number, bytes: number, milliseconds: number];
interface Run extends PromiseLike<{ readonly errors: number }> {
  stop(): void;
  on(event: 'response', take: (...answer: Answer) => void): void;
}
type Autocannon = (options: Readonly<Record<string, unknown>>) => Run;

// The package has no types.
const autocannon = createRequire(import.meta.url)('autocannon') as Autocannon;
/** Never reached: a round ends after its measured time, however slow the machine is. */
const durationMaxSeconds = 600;
const paceMs = 1;

/** Spreads the due times evenly over the clients. */
const createPace = (rate: number) => {
  const clients: { readonly client: Client; readonly dueMs: number[] }[] = [];
  const waiting = new Map<Client, number[]>();
  const begunMs = performance.now();
  let given = 0;
  const give = (): void => {
    const due = ((performance.now() - begunMs) / 1_000) * rate;
    for (; given < due && clients.length > 0; given++) {
      const one = clients[given % clients.length];
      one?.dueMs.push(begunMs + (given / rate) * 1_000);
      if (one?.client.paused) {
        one.client.paused = false;
        one.client.reqsMadeThisSecond = 0;
        one.client._doRequest();
      }
    }
  };
  const timer = setInterval(give, paceMs);
  return {
    add: (client: Client): void => {
      const dueMs: number[] = [];
      clients.push({ client, dueMs });
      waiting.set(client, dueMs);
      client.rate = 1;
      // Its own limiter is set up after this call.
      queueMicrotask(() => clearInterval(client.rateInterval));
    },
    /** How long ago the answered request was due, and whether the next one is already due. */
    answered: (client: Client): number | null => {
      const dueMs = waiting.get(client) ?? [];
      const moment = dueMs.shift();
      client.reqsMadeThisSecond = dueMs.length > 0 ? 0 : 1;
      return moment === undefined ? null : performance.now() - moment;
    },
    stop: () => clearInterval(timer),
  };
};

export const driveAutocannon: Drive = (order, lists, answered) => {
  const pace = order.rate > 0 ? createPace(order.rate) : null;
  let made = 0;
  const run = autocannon({
    url: order.url,
    connections: order.connections,
    duration: durationMaxSeconds,
    sampleInt: 50,
    skipAggregateResult: true,
    setupClient: (client: Client) => {
      client.setRequests(lists[made++ % lists.length] as LoadRequest[]);
      pace?.add(client);
    },
  });
  run.on('response', (...answer) => {
    const [client, status, bytes, milliseconds] = answer;
    if (pace === null) return answered(status, bytes, milliseconds);
    const waitedMs = pace.answered(client);
    if (waitedMs !== null) answered(status, bytes, waitedMs);
  });
  return {
    stop: async () => {
      pace?.stop();
      run.stop();
      return (await run).errors;
    },
  };
};
