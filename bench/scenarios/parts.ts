/**
 * `parts`: the processes of bots post their shards, one in each post. Next to `stats` it shows what adding up
 * the shards costs.
 */
import { drawRequests, type LoadRequest, pickPoster, type Round, type Scenario } from './scenario.ts';

/** Few enough that the warm-up posts every shard of nearly every bot: then their sums are in force. */
const shardCount = 4;

const createPartPost = (chance: () => number, round: Round): LoadRequest => ({
  method: 'POST',
  path: '/bots/stats/shards',
  headers: {
    'Bot-Auth': pickPoster(chance, round.directory.bots, round).token,
    'Content-Type': 'application/json',
  },
  body: JSON.stringify({
    shard_count: shardCount,
    shards: [
      {
        id: Math.floor(chance() * shardCount),
        servers: Math.floor(chance() * 25_000),
        users: Math.floor(chance() * 2_500_000),
        status: 'online',
      },
    ],
  }),
});

export const parts: Scenario = {
  name: 'parts',
  summary: 'POST /bots/stats/shards by many bots, one shard in each post, skewed',
  peers: [],
  requestsOf: drawRequests(createPartPost),
};
