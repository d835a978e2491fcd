/**
 * `read`: anybody looks at a bot, popular ones most. Nothing is counted.
 */
import { chanceOf, pickSkewed, type Scenario } from './scenario.ts';

const requestsPerConnection = 64;

export const read: Scenario = {
  name: 'read',
  summary: 'GET /bots/{id}, skewed',
  targetRatio: 1.5,
  requestsOf: (round) => {
    const chance = chanceOf(round);
    return Array.from({ length: requestsPerConnection }, () => ({
      method: 'GET',
      path: `/bots/${pickSkewed(chance, round.directory.bots).id}`,
      headers: {},
    }));
  },
};
