/**
 * A peer as most directories are written: Express, SQL per request, and a vote that checks for an earlier
 * one, then inserts and counts.
 *
 * Two simultaneous requests may both check before either inserts; the report shows how many double votes
 * pass. A program of its own; `PEER_STORE` is the database's address.
 */
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createSessions, printAddress, readPeerSettings, refusals, voteWaitHours } from './peer.ts';
import { type BotRow, createHolderLookup, openTables, toPage } from './tables.ts';

const { store, directory } = readPeerSettings();
const sql = await openTables(store, directory);
const findUser = createSessions(createHolderLookup(sql, 'user'));
const app = express();
app.disable('x-powered-by');

app.get('/bots/:id', async (request, response) => {
  const [row] = await sql<BotRow[]>`select * from bots where id = ${request.params.id}`;
  if (row === undefined) response.status(404).json(refusals.missing);
  else response.json(toPage(row));
});

app.put('/users/:user/bots/:bot/votes', async (request, response) => {
  const { user, bot } = request.params;
  if ((await findUser(request.header('user-auth'))) !== user) {
    response.status(401).json(refusals.token);
    return;
  }
  const upvote = request.query.upvote === 'true';
  const [last] = await sql`
    select id from votes
    where author = ${user} and bot = ${bot}
      and created_at > now() - make_interval(hours => ${voteWaitHours})
    limit 1`;
  if (last !== undefined) {
    response.status(429).json(refusals.wait);
    return;
  }
  await sql.begin(async (transaction) => {
    await transaction`insert into votes (author, bot, upvote) values (${user}, ${bot}, ${upvote})`;
    await transaction`update bots set votes = votes + ${upvote ? 1 : -1} where id = ${bot}`;
  });
  response.status(204).end();
});

const server = app.listen(0, '127.0.0.1', () => printAddress(server.address() as AddressInfo));
process.on('SIGTERM', () => process.exit(0));
