/**
 * `mixed`: what a directory gets on an ordinary day: of a hundred requests 50 are stats posts, 25 reads, 20
 * page views, 4 votes and 1 is the index.
 *
 * Each user votes once for each bot, so the list of requests is as long as a round can use.
 */
import { index } from './index.ts';
import { createVisit } from './page.ts';
import { readOf } from './read.ts';
import { createChances, type LoadRequest, type Round, type Scenario } from './scenario.ts';
import { createPost } from './stats.ts';
import { createVote, votesPerConnectionAndSecond } from './vote.ts';

/** Of a hundred requests; the remaining one is the index. */
export const mix = { stats: 50, read: 25, page: 20, vote: 4 } as const;

const buildRequests = (round: Round): LoadRequest[] => {
  const chance = createChances(round);
  const votes = Math.ceil((round.seconds * votesPerConnectionAndSecond * mix.vote) / 100);
  const first = Math.ceil(round.usedSeconds * votesPerConnectionAndSecond);
  const requests: LoadRequest[] = [];
  for (let turn = 0; turn < votes; turn++) {
    const hundredths = [...Array(100 / mix.vote)].map(() => chance() * (100 - mix.vote));
    hundredths.pop();
    requests.push(createVote(round, first + turn));
    for (const drawn of hundredths) {
      if (drawn < mix.stats) requests.push(createPost(chance, round));
      else if (drawn < mix.stats + mix.read) requests.push(readOf(chance, round));
      else if (drawn < mix.stats + mix.read + mix.page) requests.push(createVisit(chance, round));
      else requests.push(...index.requestsOf(round));
    }
  }
  // Connections begin at different offsets: otherwise all would vote at the same time.
  const turned = round.connection % (100 / mix.vote);
  return [...requests.slice(turned), ...requests.slice(0, turned)];
};

export const mixed: Scenario = {
  name: 'mixed',
  summary: '50 % stats, 25 % reads, 20 % page views, 4 % votes, 1 % index',
  peers: [],
  requestsOf: buildRequests,
};
