/**
 * The fleet: downtimes become outages, active nodes are listed, shared values are the same for all.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { limits } from '../../../engine/limits.ts';
import { getOrCreateSecret, getOrCreateSetting, openMembership } from '../../../storage/nodes/membership.ts';
import { openDirectory } from '../catalogue/directory.ts';

const test = suite('fleet');
const { sql, close } = await openDirectory();
const checkMs = 60_000;

const seen = async (node: string, secondsAgo: number): Promise<void> => {
  await sql`
    insert into fleet (node, seen_at) values (${node}, now() - make_interval(secs => ${secondsAgo}))
    on conflict (node) do update set seen_at = excluded.seen_at`;
};

test.before.each(async () => {
  await sql`delete from fleet`;
  await sql`delete from outages`;
});
test.after(close);

test('the very first start records no outage', async () => {
  const membership = await openMembership(sql, { node: 'one', checkMs });
  assert.equal(await membership.listDowntimes(), []);
  assert.equal(await membership.listNodes(1_000), ['one']);
});

test('a downtime of the whole fleet longer than a check becomes one outage', async () => {
  await seen('old', 7_200);
  await seen('one', 3_600);
  const membership = await openMembership(sql, { node: 'two', checkMs });
  await openMembership(sql, { node: 'three', checkMs });

  const outages = await membership.listDowntimes();
  assert.is(outages.length, 1);
  const [outage] = outages;
  const silence = (outage?.toMs ?? 0) - (outage?.fromMs ?? 0);
  assert.ok(silence >= 3_600_000 && silence < 3_660_000, `${silence} ms`);
});

test('no outage while another node lives, or for a short stop', async () => {
  await seen('one', 3_600);
  await seen('two', 30);
  const membership = await openMembership(sql, { node: 'one', checkMs });
  assert.equal(await membership.listDowntimes(), []);
});

test('only the newest outages are listed, oldest first', async () => {
  await sql`
    insert into outages (from_at, to_at)
    select at, at + interval '1 minute'
    from generate_series(now() - interval '2000 hours', now() - interval '1 hour', interval '1 hour') as at`;
  const membership = await openMembership(sql, { node: 'one', checkMs });
  const outages = await membership.listDowntimes();

  assert.is(outages.length, limits.downtimesMax);
  assert.ok(
    outages.every((outage, index) => index === 0 || outage.fromMs > (outages[index - 1]?.fromMs ?? 0)),
  );
  assert.ok((outages.at(-1)?.fromMs ?? 0) > Date.now() - 2 * 3_600_000);
});

test('a node that leaves is removed at once; the last one records when it left', async () => {
  const one = await openMembership(sql, { node: 'one', checkMs });
  const two = await openMembership(sql, { node: 'two', checkMs });
  await two.writeHeartbeat();
  await one.leave();
  assert.equal(await two.listNodes(10_000), ['two']);
  await two.leave();
  assert.equal(await two.listNodes(10_000), ['two']);
});

test('a shared value is created once, by the first node that reads it', async () => {
  const secrets = await Promise.all(
    Array.from({ length: 8 }, () => getOrCreateSecret(sql, 'visitor_secret')),
  );
  assert.is(new Set(secrets).size, 1);
  assert.match(secrets[0] ?? '', /^[0-9a-f]{64}$/);
  assert.is(await getOrCreateSetting(sql, 'visitor_secret', () => 'another'), secrets[0]);
});

test.run();
