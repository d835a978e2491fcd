/**
 * `listing`: visitors open the page of a bot in a browser, each from their own address. Counts what `page`
 * counts.
 */
import { toCode } from './directory.ts';
import { createAddress, drawRequests, pickSkewed, type Scenario } from './scenario.ts';

export const listing: Scenario = {
  name: 'listing',
  summary: 'GET /@{code} as a page from many addresses, skewed',
  peers: [],
  requestsOf: drawRequests((chance, round) => ({
    method: 'GET',
    path: `/@${toCode(pickSkewed(chance, round.directory.bots, round).id)}`,
    headers: { Accept: 'text/html', 'X-Forwarded-For': createAddress(chance) },
  })),
};
