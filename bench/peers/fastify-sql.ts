/**
 * The peer on SQL: Fastify, `postgres`, one UPDATE per post and per page view, one SELECT per read.
 *
 * As durable as ours: every statement is a transaction that Postgres syncs. A program of its own;
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
} from './peer.ts';
import { type BotRow, createHolderLookup, openTables, toPage } from './tables.ts';

const { store, directory } = readPeerSettings();
const sql = await openTables(store, directory);
const findBot = createSessions(createHolderLookup(sql, 'bot'));
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

interface Visit {
  readonly Params: { readonly id: string };
  readonly Querystring: { readonly target?: string };
}
app.get<Visit>('/bots/:id', async (request, reply) => {
  const { id } = request.params;
  const rows =
    request.query.target === 'page'
      ? await sql<BotRow[]>`update bots set clicks = clicks + 1 where id = ${id} returning *`
      : await sql<BotRow[]>`select * from bots where id = ${id}`;
  const [row] = rows;
  return row === undefined ? reply.code(404).send(refusals.missing) : toPage(row);
});

await app.listen({ host: '127.0.0.1', port: 0 });
printAddress(app.server.address() as AddressInfo);
process.on('SIGTERM', () => process.exit(0));
