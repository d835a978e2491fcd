/**
 * The peer on Redis: Fastify, ioredis with automatic pipelining, one HSET per post, one HGETALL per read, and
 * votes by `SET … NX EX`, which rejects a second one.
 *
 * Its Redis syncs every write, as ours does. A program of its own; `PEER_STORE` is the Redis' address.
 */
import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import { Redis } from 'ioredis';
import {
  createProfile,
  createSessions,
  hashToken,
  printAddress,
  readPeerSettings,
  recorded,
  refusals,
  type StatsPost,
  statsSchema,
  type Visit,
  type Vote,
  voteWaitHours,
} from './peer.ts';

const { store, directory, port } = readPeerSettings();
const redis = new Redis(store, { enableAutoPipelining: true });
const app = fastify();
const findBot = createSessions((hash) => redis.get(`session:bot:${hash}`));
const findUser = createSessions((hash) => redis.get(`session:user:${hash}`));

const fill = async (): Promise<void> => {
  const pipeline = redis.pipeline();
  for (const { id, token } of directory.users) pipeline.set(`session:user:${hashToken(token)}`, id);
  for (const [index, { id, token }] of directory.bots.entries()) {
    pipeline.set(`session:bot:${hashToken(token)}`, id);
    const bot = { profile: JSON.stringify(createProfile(id, index)), clicks: 0, votes: 0 };
    // A restart leaves what was counted.
    for (const [field, value] of Object.entries(bot)) pipeline.hsetnx(`bot:${id}`, field, value);
  }
  await pipeline.exec();
};

app.post<{ Body: StatsPost }>('/bots/stats', { schema: { body: statsSchema } }, async (request, reply) => {
  const bot = await findBot(request.headers['bot-auth'] as string | undefined);
  if (bot === null) return reply.code(401).send(refusals.token);
  await redis.hset(`bot:${bot}`, { ...request.body, last_stats_post: Date.now() });
  return recorded;
});

app.get<Visit>('/bots/:id', async (request, reply) => {
  const key = `bot:${request.params.id}`;
  const found = await redis.hgetall(key);
  const { profile, ...numbers } = found;
  if (profile === undefined) return reply.code(404).send(refusals.missing);
  if (request.query.target === 'page') {
    const visitor = hashToken(request.ip);
    await Promise.all([redis.hincrby(key, 'clicks', 1), redis.sadd(`visitors:${key}`, visitor)]);
  }
  const counted = Object.entries(numbers).map(([name, value]) => [name, name === 'status' ? value : +value]);
  return { ...JSON.parse(profile), ...Object.fromEntries(counted) };
});

app.put<Vote>('/users/:user/bots/:bot/votes', async (request, reply) => {
  const { user, bot } = request.params;
  const caller = await findUser(request.headers['user-auth'] as string | undefined);
  if (caller !== user) return reply.code(401).send(refusals.token);
  const key = `vote:${user}:${bot}`;
  const first = await redis.set(key, Date.now(), 'EX', voteWaitHours * 3_600, 'NX');
  if (first === null) return reply.code(429).send(refusals.wait);
  await redis.hincrby(`bot:${bot}`, 'votes', request.query.upvote === 'true' ? 1 : -1);
  return reply.code(204).send();
});

await fill();
await app.listen({ host: '127.0.0.1', port });
printAddress(app.server.address() as AddressInfo);
process.on('SIGTERM', () => process.exit(0));
