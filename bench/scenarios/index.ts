/**
 * `index`: the front page of the bots, as visitors and crawlers load it. Counts nothing.
 */
import type { Scenario } from './scenario.ts';

export const index: Scenario = {
  name: 'index',
  summary: 'GET /bots/@index',
  peers: [],
  requestsOf: () => [{ method: 'GET', path: '/bots/@index', headers: {} }],
};
