/**
 * `churn`: every client comes once: it connects, reads one bot, and disconnects.
 */
import { read } from './read.ts';
import type { Scenario } from './scenario.ts';

export const churn: Scenario = {
  name: 'churn',
  summary: 'GET /bots/{id}, a new connection for each request',
  peers: [],
  reconnects: true,
  requestsOf: read.requestsOf,
};
