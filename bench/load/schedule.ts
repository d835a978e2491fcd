/**
 * Sends mixed requests to several servers at a fixed rate, whether or not answers come (open loop).
 *
 * Each request goes to a random server, or to the one that its entity's id selects, as a load balancer with
 * affinity does. Latency counts from the scheduled time. The requests are built before the measurement. Below
 * some hundred requests per second each one leaves within microseconds of its time; above, within a
 * millisecond.
 */
import { Agent, request as send } from 'node:http';
import { build } from 'hdr-histogram-js';
import { buildRequestLists } from '../scenarios/all.ts';
import type { Directory } from '../scenarios/directory.ts';
import type { LoadRequest, LoadScenarioName } from '../scenarios/scenario.ts';
import { createRandom } from '../shared/random.ts';

export type Routing = 'random' | 'id';
export const routings: readonly Routing[] = ['random', 'id'];

export interface FleetOrder {
  readonly urls: readonly string[];
  readonly scenario: LoadScenarioName;
  readonly routing: Routing;
  /** Requests per second to all servers together. */
  readonly rate: number;
  readonly seconds: number;
  /** Seconds before those, with the same load, which do not count; default 0. */
  readonly leadSeconds?: number;
  /** Every entity as often as every other. */
  readonly isUniform?: boolean;
  /** Seconds of all earlier orders: their votes must not be sent again. */
  readonly usedSeconds: number;
  readonly directory: Directory;
}
export interface FleetAnswers {
  readonly requests: number;
  /** Those of the lead included. */
  readonly sent: number;
  /** Requests without an answer, or with one other than 2xx. */
  readonly failed: number;
  /** Those by status; `no answer` counts the requests without one. */
  readonly failures: Readonly<Record<string, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** The lists that requests are taken from in turn; each has users of its own, so that no vote comes twice. */
export const lists = 64;
/** Node's timers are up to a millisecond late. */
const timerLateMs = 1.5;
/** Above this rate, waiting for the exact time would take too much of a core. */
const exactRateMax = 300;
const socketsPerServer = 64;

/** In the order of their due times, those of the lead included. */
export const buildRequests = (order: FleetOrder): readonly LoadRequest[] => {
  const seconds = order.seconds + (order.leadSeconds ?? 0);
  const round = Math.ceil(order.usedSeconds) + 1;
  const built = buildRequestLists({ ...order, seconds, round, connections: lists });
  const count = Math.ceil(order.rate * seconds);
  return Array.from({ length: count }, (_, index) => {
    const list = built[index % lists] as LoadRequest[];
    return list[Math.floor(index / lists) % list.length] as LoadRequest;
  });
};

/** The last digits of the bot's id, in the path or in the token; the index has none. */
const findNumber = ({ path, headers }: LoadRequest): number =>
  Number(/(\d{1,8})(?!\d)/.exec(headers['Bot-Auth'] ?? /bots\/\d+/.exec(path)?.[0] ?? '')?.[1] ?? 0);

const chooseServers = (order: FleetOrder, requests: readonly LoadRequest[]): readonly number[] => {
  const { routing, urls, usedSeconds } = order;
  const random = createRandom(Math.ceil(usedSeconds) + 1);
  return requests.map((request) =>
    routing === 'id' ? findNumber(request) % urls.length : random.below(urls.length),
  );
};

/** Resolves to the status; 0: no answer. */
const sendOne = (agent: Agent, url: string, { method, path, headers, body = '' }: LoadRequest) =>
  new Promise<number>((resolve) => {
    const sized = method === 'GET' ? headers : { ...headers, 'Content-Length': Buffer.byteLength(body) };
    const request = send(`${url}${path}`, { agent, method, headers: sized });
    request.on('response', (response) => {
      const { statusCode = 0 } = response;
      response.resume();
      response.on('close', () => resolve(statusCode));
    });
    request.on('error', () => resolve(0));
    request.end(body);
  });

/** Calls `send` for each request when it is due. Resolves when the last one was sent. */
const sendOnTime = ({ rate }: FleetOrder, count: number, send: (index: number, dueMs: number) => void) =>
  new Promise<void>((resolve) => {
    const begunMs = performance.now();
    let next = 0;
    const dueMs = (): number => begunMs + (next / rate) * 1_000;
    const look = (): void => {
      for (; next < count && dueMs() <= performance.now(); next++) send(next, dueMs());
      const waitMs = dueMs() - performance.now();
      if (next === count) resolve();
      else if (rate > exactRateMax) setTimeout(look, 1);
      else if (waitMs > timerLateMs) setTimeout(look, waitMs - timerLateMs);
      else setImmediate(look);
    };
    look();
  });

/**
 * Resolves when the last request is answered or has failed. `begun` is called when the lead is over.
 */
export const driveFleet = async (order: FleetOrder, begun = (): void => {}): Promise<FleetAnswers> => {
  const requests = buildRequests(order);
  const servers = chooseServers(order, requests);
  const agents = order.urls.map(() => new Agent({ keepAlive: true, maxSockets: socketsPerServer }));
  const histogram = build({ highestTrackableValue: 60_000_000, numberOfSignificantValueDigits: 3 });
  const lead = Math.round(order.rate * (order.leadSeconds ?? 0));
  const answers: Promise<void>[] = [];
  const failures: Record<string, number> = {};
  let failed = 0;
  const answer = async (index: number, dueMs: number): Promise<void> => {
    const server = servers[index] as number;
    const [agent, url] = [agents[server] as Agent, order.urls[server] as string];
    const status = await sendOne(agent, url, requests[index] as LoadRequest);
    if (index < lead) return;
    if (status < 200 || status >= 300) {
      const name = status === 0 ? 'no answer' : String(status);
      failures[name] = (failures[name] ?? 0) + 1;
      failed += 1;
    }
    histogram.recordValue(Math.max(1, Math.round((performance.now() - dueMs) * 1_000)));
  };
  await sendOnTime(order, requests.length, (index, dueMs) => {
    if (index === lead) begun();
    answers.push(answer(index, dueMs));
  });
  await Promise.all(answers);
  for (const agent of agents) agent.destroy();
  const [p50Ms, p99Ms] = [50, 99].map((percentile) => histogram.getValueAtPercentile(percentile) / 1_000);
  const sent = requests.length;
  return { requests: sent - lead, sent, failed, failures, p50Ms: p50Ms ?? 0, p99Ms: p99Ms ?? 0 };
};
