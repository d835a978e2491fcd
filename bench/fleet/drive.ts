/**
 * Sends mixed requests to several servers at a fixed rate, whether or not answers come (open loop).
 *
 * Each request goes to a random server, or to the one that its entity's id selects, as a load balancer with
 * affinity does. Latency counts from the scheduled time. The requests are built before the measurement.
 * Called by measure.ts.
 */
import { Agent, request as send } from 'node:http';
import { build } from 'hdr-histogram-js';
import { createRandom } from '../../ops/demo/random.ts';
import { buildRequestLists } from '../scenarios/all.ts';
import type { Directory } from '../scenarios/directory.ts';
import type { LoadRequest, LoadScenarioName } from '../scenarios/scenario.ts';

export type Routing = 'random' | 'id';
export const routings: readonly Routing[] = ['random', 'id'];

export interface FleetOrder {
  readonly urls: readonly string[];
  readonly scenario: LoadScenarioName;
  readonly routing: Routing;
  /** Requests per second to all servers together. */
  readonly rate: number;
  readonly seconds: number;
  /** Seconds of all earlier orders: their votes must not be sent again. */
  readonly usedSeconds: number;
  readonly directory: Directory;
}
export interface FleetAnswers {
  readonly requests: number;
  /** Requests without an answer, or with one other than 2xx. */
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** The lists that requests are taken from in turn; each has users of its own, so that no vote comes twice. */
export const lists = 64;
const tickMs = 1;
const socketsPerServer = 64;

const buildRequests = (order: FleetOrder): readonly LoadRequest[] => {
  const count = Math.ceil(order.rate * order.seconds);
  const built = buildRequestLists({ ...order, round: order.usedSeconds + 1, connections: lists });
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
  const random = createRandom(usedSeconds + 1);
  return requests.map((request) =>
    routing === 'id' ? findNumber(request) % urls.length : random.below(urls.length),
  );
};

const sendOne = (agent: Agent, url: string, { method, path, headers, body = '' }: LoadRequest) =>
  new Promise<boolean>((resolve) => {
    const sized = method === 'GET' ? headers : { ...headers, 'Content-Length': Buffer.byteLength(body) };
    const request = send(`${url}${path}`, { agent, method, headers: sized });
    request.on('response', (response) => {
      const { statusCode = 0 } = response;
      response.resume();
      response.on('close', () => resolve(statusCode >= 200 && statusCode < 300));
    });
    request.on('error', () => resolve(false));
    request.end(body);
  });

/** Resolves when the last request is answered or has failed. */
export const driveFleet = async (order: FleetOrder): Promise<FleetAnswers> => {
  const requests = buildRequests(order);
  const servers = chooseServers(order, requests);
  const agents = order.urls.map(() => new Agent({ keepAlive: true, maxSockets: socketsPerServer }));
  const histogram = build({ highestTrackableValue: 60_000_000, numberOfSignificantValueDigits: 3 });
  const answers: Promise<void>[] = [];
  let failed = 0;
  const begunMs = performance.now();
  const sendNext = async (index: number): Promise<void> => {
    const server = servers[index] as number;
    const [agent, url] = [agents[server] as Agent, order.urls[server] as string];
    if (!(await sendOne(agent, url, requests[index] as LoadRequest))) failed += 1;
    const dueMs = begunMs + (index / order.rate) * 1_000;
    histogram.recordValue(Math.max(1, Math.round((performance.now() - dueMs) * 1_000)));
  };
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(requests.length, ((performance.now() - begunMs) / 1_000) * order.rate);
      while (answers.length < due) answers.push(sendNext(answers.length));
      if (answers.length < requests.length) return;
      clearInterval(timer);
      resolve();
    }, tickMs);
  });
  await Promise.all(answers);
  for (const agent of agents) agent.destroy();
  const [p50Ms, p99Ms] = [50, 99].map((percentile) => histogram.getValueAtPercentile(percentile) / 1_000);
  return { requests: requests.length, failed, p50Ms: p50Ms ?? 0, p99Ms: p99Ms ?? 0 };
};
