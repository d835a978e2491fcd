/**
 * Summer time and a leap day: in any time zone of the node and of the database, history, archived months and
 * boards are those of UTC, where each day has 24 hours.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectSql } from '../../../storage/sql/client.ts';
import { watchChild } from '../../support/child.ts';
import { startPostgres } from '../../support/postgres-server.ts';

const test = suite('time zones');
const program = fileURLToPath(new URL('./zones-main.ts', import.meta.url));
const postgres = await startPostgres();
test.after(() => postgres.close());

const runIn = async (zone: string): Promise<string> => {
  const name = zone.replace(/\W/g, '_').toLowerCase();
  const url = await postgres.database(name);
  const admin = connectSql(url, { connectionsMax: 1 });
  await admin.unsafe(`alter database ${name} set timezone to '${zone}'`);
  await admin.end();
  const env = { ...process.env, TZ: zone };
  const child = spawn(process.execPath, [...process.execArgv, program, url], { env });
  const { code, out, output } = await watchChild(child).ended;
  assert.is(code, 0, output);
  return out;
};

const inUtc = await runIn('UTC');

test('each day ends at 00:00 UTC, 29 February too, and votes are in the month of UTC', () => {
  const { days, months } = JSON.parse(inUtc) as { days: string[]; months: object[] };
  const ended = ['2027-03-14', '2027-03-15', '2027-03-28', '2027-03-29', '2027-10-31', '2027-11-01']
    .concat(['2027-11-07', '2027-11-08', '2028-02-29', '2028-03-01'])
    .map((day) => `${day}T00:00:00.000Z`);

  assert.equal(
    days.filter((day) => ended.includes(day)),
    ended,
  );
  assert.equal(months, [
    { month: '2027-10-01', upvotes: 2, voters: 2, rank: 1 },
    { month: '2027-11-01', upvotes: 1, voters: 1, rank: 1 },
    { month: '2028-02-01', upvotes: 2, voters: 2, rank: 1 },
    { month: '2028-03-01', upvotes: 1, voters: 1, rank: 1 },
  ]);
});

for (const zone of ['Europe/Berlin', 'America/New_York', 'Pacific/Kiritimati']) {
  test(`${zone}: the same`, async () => {
    assert.is(await runIn(zone), inUtc);
  });
}

test.run();
