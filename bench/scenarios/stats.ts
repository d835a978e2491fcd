/**
 * `stats`: bots post what they count; a few post far more often than the rest. Every post differs.
 */
import { chanceOf, pickSkewed, type Scenario } from './scenario.ts';

const requestsPerConnection = 64;

export const stats: Scenario = {
  name: 'stats',
  summary: 'POST /bots/stats by many bots, skewed',
  targetRatio: 1.9,
  requestsOf: (round) => {
    const chance = chanceOf(round);
    return Array.from({ length: requestsPerConnection }, () => ({
      method: 'POST',
      path: '/bots/stats',
      headers: {
        'Bot-Auth': pickSkewed(chance, round.directory.bots).token,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({
        servers: Math.floor(chance() * 100_000),
        users: Math.floor(chance() * 10_000_000),
        shards: 1 + Math.floor(chance() * 64),
        status: 'online',
      }),
    }));
  },
};
