/**
 * All scenarios that measure requests per second, in the order in which they run and are reported.
 */
import { badges } from './badges.ts';
import { churn } from './churn.ts';
import { index } from './index.ts';
import { listing } from './listing.ts';
import { mixed } from './mixed.ts';
import { page } from './page.ts';
import { parts } from './parts.ts';
import { read } from './read.ts';
import type { LoadRequest, LoadScenarioName, Round, Scenario } from './scenario.ts';
import { search } from './search.ts';
import { stats } from './stats.ts';
import { vote } from './vote.ts';

const scenarios: Readonly<Record<LoadScenarioName, Scenario>> = {
  stats,
  parts,
  read,
  page,
  vote,
  index,
  badges,
  listing,
  search,
  mixed,
  churn,
};

export const findScenario = (name: LoadScenarioName): Scenario => scenarios[name];

/** One list of requests per connection, sent in a cycle. */
export const buildRequestLists = (
  round: Omit<Round, 'connection'> & { readonly scenario: LoadScenarioName },
): LoadRequest[][] =>
  Array.from({ length: round.connections }, (_, connection) =>
    scenarios[round.scenario].requestsOf({ ...round, connection }),
  );
