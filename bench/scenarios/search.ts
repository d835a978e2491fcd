/**
 * `search`: visitors search the names of bots, each from their own address. Few words are searched often, and
 * an answer is as old as a list may be.
 */
import { createAddress, drawRequests, pickSkewed, type Scenario } from './scenario.ts';

export const search: Scenario = {
  name: 'search',
  summary: 'GET /search?q=bot-{n} from many addresses, skewed',
  peers: [],
  requestsOf: drawRequests((chance, round) => {
    const { bots } = round.directory;
    return {
      method: 'GET',
      path: `/search?q=bot-${bots.indexOf(pickSkewed(chance, bots, round))}`,
      headers: { 'X-Forwarded-For': createAddress(chance) },
    };
  }),
};
