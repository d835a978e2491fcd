/**
 * Past votes on real SQL: which are void, which are valid, and who voted.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { refOf } from '../../support/refs.ts';
import { addBot, addUser, addVote, openDirectory } from './directory.ts';

const test = suite('catalogue votes');

const at = (day: number, hour = 0): string => new Date(Date.UTC(2026, 1, day, hour)).toISOString();

const directory = await openDirectory();
const { sql } = directory;
await addUser(sql, 'robin');
const bot = await addBot(sql, 'bot1');
const crowd = await addBot(sql, 'bot2');
const catalogue = createCatalogue(sql);
await addVote(sql, bot, { author: 'ann', created_at: at(1) });
await addVote(sql, bot, { author: 'ann', created_at: at(2), immutable: true });
await addVote(sql, bot, { author: 'ann', created_at: at(10), vote_num: 0 });
await addVote(sql, bot, { author: 'ann', created_at: at(10), vote_num: 1 });
await addVote(sql, bot, {
  author: 'ann',
  created_at: at(11),
  void: true,
  void_reason: 'operator',
  voided_at: at(12),
});
await addVote(sql, bot, { author: 'ben', created_at: at(9) });
for (let hour = 0; hour < 12; hour++) await addVote(sql, bot, { author: 'cleo', created_at: at(20, hour) });
await sql`insert into vote_resets (scope, at, reason) values ('all', ${at(5)}, 'monthly_reset')`;
await sql`insert into vote_resets (scope, at, reason) values ('999999', ${at(28)}, 'deleted')`;
test.after(() => directory.close());

test('valid votes leave out void ones and those before a reset, unless immutable; newest first', async () => {
  const rows = await catalogue.votes.valid({ user: 'ann', ref: bot });

  assert.equal(
    rows.map((row) => [row.created_at.toISOString(), row.vote_num]),
    [
      [at(10), 1],
      [at(10), 0],
      [at(2), 0],
    ],
  );
});

test('all votes show void ones with their reason and time', async () => {
  const page = await catalogue.votes.page({ user: 'ann', ref: bot }, 1);
  const shown = page.rows.map((row) => [
    row.created_at.toISOString(),
    row.void_reason,
    row.voided_at?.toISOString(),
  ]);

  assert.is(page.count, 5);
  assert.equal(shown[0], [at(11), 'operator', at(12)]);
  assert.equal(shown.at(-1), [at(1), 'monthly_reset', at(5)]);
});

test('all votes are shown ten per page', async () => {
  const second = await catalogue.votes.page({ user: 'cleo', ref: bot }, 2);

  assert.is(second.count, 12);
  assert.equal(
    second.rows.map((row) => row.created_at.toISOString()),
    [at(20, 1), at(20, 0)],
  );
});

test('votes of a deleted listing are shown but never valid for the new one', async () => {
  const later = refOf('bot', 'bot1', bot.incarnation + 5_000);

  assert.is((await catalogue.votes.page({ user: 'ann', ref: later }, 1)).count, 5);
  assert.is((await catalogue.votes.valid({ user: 'ann', ref: later })).length, 0);
  assert.equal(await catalogue.votes.voters(later, 1), []);
});

test('every vote for a deleted listing is void since the deletion, immutable ones too', async () => {
  const gone = refOf('bot', 'gone', bot.incarnation + 7_000);
  await addVote(directory.sql, gone, { author: 'dan', created_at: at(3), immutable: true });
  await addVote(directory.sql, gone, { author: 'eve', created_at: at(6) });
  await directory.sql`
    insert into vote_resets (scope, at, reason, created_at)
    values (${String(gone.incarnation)}, 'infinity', 'deleted', ${at(8)})`;

  for (const user of ['dan', 'eve']) {
    const [row] = (await catalogue.votes.page({ user, ref: gone }, 1)).rows;
    assert.equal([row?.void, row?.void_reason, row?.voided_at?.toISOString()], [true, 'deleted', at(8)]);
    assert.is((await catalogue.votes.valid({ user, ref: gone })).length, 0);
  }
  assert.equal(await catalogue.votes.voters(gone, 1), []);
});

test('voters are distinct authors of valid votes, by their newest vote', async () => {
  assert.equal(await catalogue.votes.voters(bot, 1), ['cleo', 'ann', 'ben']);
});

test('the whole list of voters comes in steps, each voter once, also during a vote', async () => {
  const voters = 2_500;
  await directory.sql`
    insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num)
    select gen_random_uuid(), ${at(13)}::timestamptz + number / 2 * interval '1 microsecond',
      ${crowd.incarnation}, 'bot', 'bot2', 'voter' || number, true, 0
    from generate_series(1, ${voters}::int) as number`;
  const seen: string[] = [];
  let steps = 0;
  for await (const step of catalogue.votes.eachVoters(crowd)) {
    if (steps++ === 0) await addVote(directory.sql, crowd, { author: 'voter1', created_at: at(27) });
    seen.push(...step);
  }

  assert.is(steps, 3);
  assert.is(seen.length, voters);
  assert.is(new Set(seen).size, voters);
  assert.is(seen.at(-1), 'voter1');
  assert.equal((await catalogue.votes.voters(crowd, 1)).slice(0, 1), ['voter1']);
});

test.run();
