/**
 * When premium begins and ends, as SQL, the hot store and clients see it.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { pluck } from '../../support/pluck.ts';
import { until } from '../../support/until.ts';
import { openOperated } from './world.ts';

const test = suite('premium periods');
const hourMs = 3_600_000;
const minuteMs = 60_000;
const world = await openOperated();
const { done, read: show, sql } = world;
for (const user of ['robin', 'ann']) await addUser(sql, user);
await addTeam(sql, 'team1');
test.after(() => world.close());

type Named = readonly [table: 'bots' | 'servers', id: string];
/** Lets 35 minutes pass for a premium period, as SQL sees it: no edit tells anybody. */
const letStart = ([table, id]: Named): Promise<unknown> =>
  sql.begin(async (transaction) => {
    const passed = transaction`interval '35 minutes'`;
    await transaction.unsafe(`alter table ${table} disable trigger user`);
    await transaction`
      update ${sql(table)} set start_premium_period = start_premium_period - ${passed}
      where ${sql(`${table.slice(0, -1)}_id`)} = ${id}`;
    await transaction`update edited set at = at - ${passed} where at > now()`;
    await transaction.unsafe(`alter table ${table} enable trigger user`);
  });

test('premium from now on has begun, whichever of the clocks of the node and of SQL is ahead', async () => {
  await addBot(sql, 'sudden');
  for (const skippedMs of [0, 400 * hourMs]) {
    world.clock.skip(skippedMs);
    await done('PUT /bots/sudden/premium', { hours: 24 * 365 });
    const { vote_info } = await show('/users/ann/bots/sudden/votes');
    assert.equal([(await show('/bots/sudden')).premium, vote_info.vote_time], [true, 4]);
    world.clock.skip(-skippedMs);
  }
  await done('DELETE /bots/sudden');
});

test('premium begins at its start: shown, in lists, for votes, also of what an import adds', async () => {
  // SQL has its own clock.
  const aheadMs = Date.now() - world.clock.nowMs();
  world.clock.skip(aheadMs);
  const start = new Date(Date.now() + 30 * minuteMs);
  await addBot(sql, 'later');
  await addBot(sql, 'imported', { start_premium_period: start, premium_period_hours: 1 });
  await addServer(sql, '758641373074423811', { team_id: 'team1' });
  const period = { hours: 1, start_at: start.toISOString() };
  assert.match(await done('PUT /bots/later/premium', period), /premium for 1 h from 20/);
  await done('PUT /servers/758641373074423811/premium', period);
  const listings: readonly Named[] = [
    ['bots', 'later'],
    ['bots', 'imported'],
    ['servers', '758641373074423811'],
  ];
  const readPremium = async ([table, id]: Named) => {
    const { vote_info } = await show(`/users/ann/${table}/${id}/votes`);
    const { results } = await show(`/${table}/@all`);
    const row = results.find((one: Record<string, string>) => (one.bot_id ?? one.server_id) === id);
    return [(await show(`/${table}/${id}`)).premium, row?.premium, vote_info.vote_time === 4];
  };
  const lateMs = world.clock.nowMs() + 12 * hourMs;
  await sql`
    insert into reminders (incarnation, user_id, created_at, voted_at_ms, due_at_ms)
    select incarnation, 'ann', now(), 1, ${lateMs} from bots where bot_id = 'later'`;
  const countReminders = async () => (await sql`select from reminders where due_at_ms = 1`).length;
  const readFront = async () => pluck((await show('/bots/@index')).premium, 'bot_id').sort();
  const isSent = async () => (await sql`select from edited where at <= now()`).length === 0;

  await until('all is sent that can be sent before the start', isSent);
  for (const listing of listings) {
    if (listing[0] === 'servers') await done('POST /servers/758641373074423811/approve', {});
    await until('listed', async () => (await readPremium(listing))[1] !== undefined);
    assert.equal(await readPremium(listing), [false, false, false], listing[1]);
  }
  assert.equal(await readFront(), []);

  await sql`update reminders set due_at_ms = ${lateMs}`;
  for (const listing of listings) await letStart(listing);
  world.clock.skip(40 * minuteMs);
  for (const listing of listings)
    await until(`${listing[1]} is premium`, async () => (await readPremium(listing)).every((is) => is));
  await until('a reminder is looked at again', async () => (await countReminders()) === 1);
  await until('both are on the front page', async () => (await readFront()).length === 2);
  assert.is((await sql`select from edited`).length, 0);
});

test.run();
