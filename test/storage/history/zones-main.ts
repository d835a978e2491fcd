/**
 * The program that zones.stores.test.ts runs in each time zone: the jobs of history, archive and boards over
 * days of 23 and 25 hours and a leap day, at instants given in UTC. Prints all that they wrote as JSON.
 */
import { createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { writeVoteMonths } from '../../../storage/history/vote-months.ts';
import { createPartitions } from '../../../storage/ledger/partitions.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { addBot, addUser, addVote } from '../catalogue/directory.ts';
import { createRunner, never, setTotals, toMinute } from './world.ts';

/** In Europe and America the clocks change in these, and 2028 has a 29 February. */
const ranges = [
  ['2027-03-13T18:00Z', '2027-03-15T12:00Z'],
  ['2027-03-27T18:00Z', '2027-03-29T12:00Z'],
  ['2027-10-30T18:00Z', '2027-11-01T12:00Z'],
  ['2027-11-06T18:00Z', '2027-11-08T12:00Z'],
  ['2028-02-28T18:00Z', '2028-03-01T12:00Z'],
] as const;
/** Each in another month by some clock of the world, or on the leap day. */
const votedAt = [
  '2027-10-31T22:30Z',
  '2027-10-31T23:59:59.999Z',
  '2027-11-01T00:00Z',
  '2028-02-29T00:00Z',
  '2028-02-29T23:59:59.999Z',
  '2028-03-01T00:00Z',
];

const { sql, close } = await openServerSql(process.argv[2] ?? '');
await migrate(sql);
await addUser(sql, 'robin');
const bot = await addBot(sql, 'bot1', { owner_id: 'robin' });
const { run } = createRunner(sql, { historyFineMinutes: 30, historyFineHours: 10_000, historyHourDays: 900 });
const { boards } = createCatalogue(sql);
const written: unknown[] = [];
let clicks = 0;
for (const [from, to] of ranges) {
  for (let at = toMinute(from); at <= toMinute(to); at += 30) {
    clicks += 1;
    await setTotals(sql, bot.incarnation, { clicks, unique_clicks: clicks, servers: clicks });
    await run(at);
    if (at % 180 !== 0) continue;
    await boards.makeOthers(at * 60_000, never);
    written.push(...(await sql`select days_at, clicks_days, servers_days, heat from board_listings`));
  }
}
const votes = votedAt.map((text) => ({ atMs: Date.parse(text) }));
for (const vote of votes) await createPartitions(sql).prepare([vote]);
for (const [index, { atMs }] of votes.entries())
  await addVote(sql, bot, { author: `u${index}`, created_at: new Date(atMs).toISOString() });
await writeVoteMonths(sql, Date.parse('2028-04-02T00:20Z'), never);
for (const level of ['fine', 'hours', 'days'])
  written.push(await sql`select at, clicks from ${sql(`history_${level}`)} order by at`);
const parts = await sql`
  select tableoid::regclass::text as part, count(*)::int from votes group by 1 order by 1`;
const months = await sql`select month::text, upvotes, voters, rank from vote_months order by month`;
const days = await sql<{ at: number }[]>`select at from history_days order by at`;
const editions = await sql`select board, kind, day, scores from board_editions order by board, kind`;
const named = days.map(({ at }) => new Date(at * 60_000).toISOString());
console.log(JSON.stringify({ parts, months, days: named, editions, written }));
await close();
