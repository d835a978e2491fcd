/**
 * `read`: clients read a bot, popular ones most often. Counts nothing.
 */
import { createChances, type LoadRequest, pickSkewed, type Round, type Scenario } from './scenario.ts';

const requestsPerConnection = 64;

export const readOf = (chance: () => number, { directory }: Round): LoadRequest => ({
  method: 'GET',
  path: `/bots/${pickSkewed(chance, directory.bots).id}`,
  headers: {},
});

export const read: Scenario = {
  name: 'read',
  summary: 'GET /bots/{id}, skewed',
  peers: ['fastify-redis', 'fastify-sql'],
  requestsOf: (round) => {
    const chance = createChances(round);
    return Array.from({ length: requestsPerConnection }, () => readOf(chance, round));
  },
};
