/**
 * `badges`: READMEs show the badges of a few popular bots. Nearly every request repeats one of the last
 * second. Counts nothing.
 */
import { createChances, type LoadRequest, pickSkewed, type Scenario } from './scenario.ts';

const requestsPerConnection = 64;
/** So few that one address stays below its limit of badges that are new within a second. */
const botsMax = 50;

export const badges: Scenario = {
  name: 'badges',
  summary: 'GET /badges/bots/{id}/servers.svg, skewed, of 50 bots',
  peers: [],
  requestsOf: (round) => {
    const chance = createChances(round);
    const bots = round.directory.bots.slice(0, botsMax);
    return Array.from(
      { length: requestsPerConnection },
      (): LoadRequest => ({
        method: 'GET',
        path: `/badges/bots/${pickSkewed(chance, bots, round).id}/servers.svg`,
        headers: {},
      }),
    );
  },
};
