/**
 * `page`: visitors open a bot's page, each from their own address behind a proxy. Counts clicks and visitors.
 */
import {
  createAddress,
  drawRequests,
  type LoadRequest,
  pickSkewed,
  type Round,
  type Scenario,
} from './scenario.ts';

export const createVisit = (chance: () => number, round: Round): LoadRequest => ({
  method: 'GET',
  path: `/bots/${pickSkewed(chance, round.directory.bots, round).id}?target=page`,
  headers: { 'X-Forwarded-For': createAddress(chance) },
});

export const page: Scenario = {
  name: 'page',
  summary: 'GET /bots/{id}?target=page from many addresses, skewed',
  peers: ['fastify-redis', 'fastify-sql'],
  requestsOf: drawRequests(createVisit),
};
