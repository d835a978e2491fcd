/**
 * `stats`: bots post their statistics; a few post more often than the rest. Every post differs.
 */
import { drawRequests, type LoadRequest, pickPoster, type Round, type Scenario } from './scenario.ts';

export const createPost = (chance: () => number, round: Round): LoadRequest => ({
  method: 'POST',
  path: '/bots/stats',
  headers: {
    'Bot-Auth': pickPoster(chance, round.directory.bots, round).token,
    'Content-Type': 'application/json',
  },
  body: JSON.stringify({
    servers: Math.floor(chance() * 100_000),
    users: Math.floor(chance() * 10_000_000),
    shards: 1 + Math.floor(chance() * 64),
    status: 'online',
  }),
});

export const stats: Scenario = {
  name: 'stats',
  summary: 'POST /bots/stats by many bots, skewed',
  peers: ['fastify-redis', 'fastify-sql'],
  requestsOf: drawRequests(createPost),
};
