/**
 * Sends mixed requests to several servers at a fixed rate, whether or not answers come (open loop).
 *
 * Each request goes to a random server, or to the one that its entity's id selects, as a load balancer with
 * affinity does. Latency counts from the scheduled time. The requests are built before the measurement.
 */
import { Agent } from 'node:http';
import { buildRequestLists } from '../scenarios/all.ts';
import type { Directory } from '../scenarios/directory.ts';
import type { LoadRequest, LoadScenarioName } from '../scenarios/scenario.ts';
import { createRandom } from '../shared/random.ts';
import { percentiles } from './order.ts';
import { sendOne, sendOnTime } from './send.ts';
import { createTally } from './tally.ts';

export const routings = ['random', 'id'] as const;
export type Routing = (typeof routings)[number];

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
/** The lists that requests are taken from in turn; each has users of its own, so that no vote comes twice. */
export const lists = 64;
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

/**
 * Resolves when the last request is answered or has failed. `begun` is called when the lead is over.
 */
export const driveFleet = async (order: FleetOrder, begun = (): void => {}) => {
  const requests = buildRequests(order);
  const servers = chooseServers(order, requests);
  const agents = order.urls.map(() => new Agent({ keepAlive: true, maxSockets: socketsPerServer }));
  const lead = Math.round(order.rate * (order.leadSeconds ?? 0));
  const tally = createTally();
  const answers: Promise<void>[] = [];
  const answer = async (index: number, dueMs: number): Promise<void> => {
    const server = servers[index] as number;
    const [agent, url] = [agents[server] as Agent, order.urls[server] as string];
    const { status } = await sendOne(agent, url, requests[index] as LoadRequest);
    if (index >= lead) tally.take(status, performance.now() - dueMs);
  };
  await sendOnTime(order.rate, requests.length, (index, dueMs) => {
    if (index === lead) begun();
    answers.push(answer(index, dueMs));
  }).ended;
  await Promise.all(answers);
  for (const agent of agents) agent.destroy();
  const counted = tally.read();
  const [p50Ms = 0, p99Ms = 0] = [50, 99].map(
    (percentile) => counted.latencyMs[percentiles.indexOf(percentile as 50)] ?? 0,
  );
  const sent = requests.length;
  // `sent` with those of the lead.
  return { ...counted, requests: sent - lead, sent, p50Ms, p99Ms };
};
export type FleetAnswers = Awaited<ReturnType<typeof driveFleet>>;
