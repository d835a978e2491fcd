/**
 * All scenarios that measure requests per second, in the order in which they run and are reported: what each
 * request of a connection is.
 *
 * Requests are drawn at random, the same for the same connection and round. `vote` and `mixed` vote with each
 * user once for each bot, so their lists are as long as a round can use.
 */
import { toCode } from './directory.ts';
import {
  createAddress,
  createChances,
  type LoadRequest,
  type LoadScenarioName,
  pickPoster,
  pickSkewed,
  type Round,
  type Scenario,
} from './scenario.ts';
import { createVote, votesPerConnectionAndSecond } from './vote.ts';

type Draw = (chance: () => number, round: Round) => LoadRequest;

const get = (path: string, headers: LoadRequest['headers'] = {}): LoadRequest => ({
  method: 'GET',
  path,
  headers,
});

const post = (path: string, token: string, body: object): LoadRequest => ({
  ...{ method: 'POST', path, body: JSON.stringify(body) },
  headers: { 'Bot-Auth': token, 'Content-Type': 'application/json' },
});

const below = (chance: () => number, limit: number): number => Math.floor(chance() * limit);

/** Bots post their statistics; a few post more often than the rest. Every post differs. */
const createPost: Draw = (chance, round) =>
  post('/bots/stats', pickPoster(chance, round.directory.bots, round).token, {
    servers: below(chance, 100_000),
    users: below(chance, 10_000_000),
    shards: 1 + below(chance, 64),
    status: 'online',
  });

/** Few enough that the warm-up posts every shard of nearly every bot: then their sums are in force. */
const shardCount = 4;

/** The processes of bots post their shards. Next to `stats` it shows what adding up the shards costs. */
const createPartPost: Draw = (chance, round) =>
  post('/bots/stats/shards', pickPoster(chance, round.directory.bots, round).token, {
    shard_count: shardCount,
    shards: [
      {
        id: below(chance, shardCount),
        servers: below(chance, 25_000),
        users: below(chance, 2_500_000),
        status: 'online',
      },
    ],
  });

/** Clients read a bot, popular ones most often. */
const createRead: Draw = (chance, round) =>
  get(`/bots/${pickSkewed(chance, round.directory.bots, round).id}`);

/** Visitors open a bot's page, each from their own address behind a proxy. Counts clicks and visitors. */
const createVisit: Draw = (chance, round) => {
  const { id } = pickSkewed(chance, round.directory.bots, round);
  return get(`/bots/${id}?target=page`, { 'X-Forwarded-For': createAddress(chance) });
};

/** The same in a browser. */
const createListingVisit: Draw = (chance, round) => {
  const { id } = pickSkewed(chance, round.directory.bots, round);
  return get(`/@${toCode(id)}`, { Accept: 'text/html', 'X-Forwarded-For': createAddress(chance) });
};

/** The front page of the bots, as visitors and crawlers load it. */
const createIndexVisit: Draw = () => get('/bots/@index');

/** So few that one address stays below its limit of badges that are new within a second. */
const badgeBotsMax = 50;

/** READMEs show the badges of a few popular bots. Nearly every request repeats one of the last second. */
const createBadgeRead: Draw = (chance, round) => {
  const bots = round.directory.bots.slice(0, badgeBotsMax);
  return get(`/badges/bots/${pickSkewed(chance, bots, round).id}/servers.svg`);
};

/** Visitors search the names of bots. Few words are searched often; an answer is as old as a list may be. */
const createSearch: Draw = (chance, round) => {
  const { bots } = round.directory;
  const word = bots.indexOf(pickSkewed(chance, bots, round));
  return get(`/search?q=bot-${word}`, { 'X-Forwarded-For': createAddress(chance) });
};

const requestsPerConnection = 64;

const drawRequests =
  (draw: Draw): Scenario['requestsOf'] =>
  (round) => {
    const chance = createChances(round);
    return Array.from({ length: requestsPerConnection }, () => draw(chance, round));
  };

/** Each round continues where the last one ended. */
const createVotes: Scenario['requestsOf'] = (round) => {
  const first = Math.ceil(round.usedSeconds * votesPerConnectionAndSecond);
  const count = Math.floor(round.seconds * votesPerConnectionAndSecond);
  return Array.from({ length: count }, (_, index) => createVote(round, first + index));
};

/** What a directory gets on an ordinary day: of a hundred requests; the remaining one is the index. */
const mix = { stats: 50, read: 25, page: 20, vote: 4 } as const;

const createMix: Scenario['requestsOf'] = (round) => {
  const chance = createChances(round);
  const votes = Math.ceil((round.seconds * votesPerConnectionAndSecond * mix.vote) / 100);
  const first = Math.ceil(round.usedSeconds * votesPerConnectionAndSecond);
  const pick = (drawn: number): Draw => {
    if (drawn < mix.stats) return createPost;
    if (drawn < mix.stats + mix.read) return createRead;
    return drawn < mix.stats + mix.read + mix.page ? createVisit : createIndexVisit;
  };
  const requests: LoadRequest[] = [];
  for (let turn = 0; turn < votes; turn++) {
    const hundredths = [...Array(100 / mix.vote)].map(() => chance() * (100 - mix.vote));
    hundredths.pop();
    requests.push(createVote(round, first + turn));
    requests.push(...hundredths.map((drawn) => pick(drawn)(chance, round)));
  }
  // Connections begin at different offsets: otherwise all would vote at the same time.
  const turned = round.connection % (100 / mix.vote);
  return [...requests.slice(turned), ...requests.slice(0, turned)];
};

const peers = ['fastify-redis', 'fastify-sql'] as const;
const scenarios: Readonly<Record<LoadScenarioName, Scenario>> = {
  stats: { summary: 'POST /bots/stats by many bots, skewed', peers, requestsOf: drawRequests(createPost) },
  parts: {
    summary: 'POST /bots/stats/shards by many bots, one shard in each post, skewed',
    requestsOf: drawRequests(createPartPost),
  },
  read: { summary: 'GET /bots/{id}, skewed', peers, requestsOf: drawRequests(createRead) },
  page: {
    summary: 'GET /bots/{id}?target=page from many addresses, skewed',
    ...{ peers, requestsOf: drawRequests(createVisit) },
  },
  vote: { summary: 'PUT /users/{uid}/bots/{id}/votes, each accepted', peers, requestsOf: createVotes },
  index: { summary: 'GET /bots/@index', requestsOf: drawRequests(createIndexVisit) },
  badges: {
    summary: 'GET /badges/bots/{id}/servers.svg, skewed, of 50 bots',
    requestsOf: drawRequests(createBadgeRead),
  },
  listing: {
    summary: 'GET /@{code} as a page from many addresses, skewed',
    requestsOf: drawRequests(createListingVisit),
  },
  search: {
    summary: 'GET /search?q=bot-{n} from many addresses, skewed',
    requestsOf: drawRequests(createSearch),
  },
  mixed: { summary: '50 % stats, 25 % reads, 20 % page views, 4 % votes, 1 % index', requestsOf: createMix },
  churn: {
    summary: 'GET /bots/{id}, a new connection for each request',
    ...{ reconnects: true, requestsOf: drawRequests(createRead) },
  },
};

export const findScenario = (name: LoadScenarioName): Scenario => scenarios[name];

/** One list of requests per connection, sent in a cycle. */
export const buildRequestLists = (
  round: Omit<Round, 'connection'> & { readonly scenario: LoadScenarioName },
): LoadRequest[][] =>
  Array.from({ length: round.connections }, (_, connection) =>
    scenarios[round.scenario].requestsOf({ ...round, connection }),
  );
