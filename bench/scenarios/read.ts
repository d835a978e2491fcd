/**
 * `read`: clients read a bot, popular ones most often. Counts nothing.
 */
import { drawRequests, type LoadRequest, pickSkewed, type Round, type Scenario } from './scenario.ts';

export const readOf = (chance: () => number, round: Round): LoadRequest => ({
  method: 'GET',
  path: `/bots/${pickSkewed(chance, round.directory.bots, round).id}`,
  headers: {},
});

export const read: Scenario = {
  name: 'read',
  summary: 'GET /bots/{id}, skewed',
  peers: ['fastify-redis', 'fastify-sql'],
  requestsOf: drawRequests(readOf),
};
