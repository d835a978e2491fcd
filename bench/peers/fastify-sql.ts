/**
 * The peer on SQL: Fastify, `postgres`, one UPDATE per post and per page view, one SELECT per read, and a
 * vote that checks for an earlier one, then inserts and counts.
 *
 * As durable as ours: every statement is a transaction that Postgres syncs. Two simultaneous votes may both
 * check before either inserts; the report shows how many double votes pass. A program of its own;
 * `PEER_STORE` is the database's address.
 */
import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import {
  createSessions,
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
import { type BotRow, createHolderLookup, openTables, toPage } from './tables.ts';

const { store, directory, port } = readPeerSettings();
const sql = await openTables(store, directory);
const findBot = createSessions(createHolderLookup(sql, 'bot'));
const findUser = createSessions(createHolderLookup(sql, 'user'));
const app = fastify();

app.post<{ Body: StatsPost }>('/bots/stats', { schema: { body: statsSchema } }, async (request, reply) => {
  const bot = await findBot(request.headers['bot-auth'] as string | undefined);
  if (bot === null) return reply.code(401).send(refusals.token);
  const { servers = null, users = null, shards = null, status = null } = request.body;
  await sql`
    update bots set
      servers = coalesce(${servers}, servers), users = coalesce(${users}, users),
      shards = coalesce(${shards}, shards), status = coalesce(${status}, status), last_stats_post = now()
    where id = ${bot}`;
  return recorded;
});

app.get<Visit>('/bots/:id', async (request, reply) => {
  const { id } = request.params;
  const rows =
    request.query.target === 'page'
      ? await sql<BotRow[]>`update bots set clicks = clicks + 1 where id = ${id} returning *`
      : await sql<BotRow[]>`select * from bots where id = ${id}`;
  const [row] = rows;
  return row === undefined ? reply.code(404).send(refusals.missing) : toPage(row);
});

app.put<Vote>('/users/:user/bots/:bot/votes', async (request, reply) => {
  const { user, bot } = request.params;
  const caller = await findUser(request.headers['user-auth'] as string | undefined);
  if (caller !== user) return reply.code(401).send(refusals.token);
  const upvote = request.query.upvote === 'true';
  const [last] = await sql`
    select id from votes
    where author = ${user} and bot = ${bot}
      and created_at > now() - make_interval(hours => ${voteWaitHours})
    limit 1`;
  if (last !== undefined) return reply.code(429).send(refusals.wait);
  await sql.begin(async (transaction) => {
    await transaction`insert into votes (author, bot, upvote) values (${user}, ${bot}, ${upvote})`;
    await transaction`update bots set votes = votes + ${upvote ? 1 : -1} where id = ${bot}`;
  });
  return reply.code(204).send();
});

await app.listen({ host: '127.0.0.1', port });
printAddress(app.server.address() as AddressInfo);
process.on('SIGTERM', () => process.exit(0));
