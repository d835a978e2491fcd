/**
 * Suspicious votes on the operator's page, in a real browser: the finding with its reason, the charts of all
 * listings and of one, and the plan that voids its votes in two clicks.
 */
import * as assert from 'uvu/assert';
import { until } from '../../support/until.ts';
import { openPage, operate, readPublic, robin, test, world } from './http-operator-page.ts';

const listUsers = async (): Promise<readonly string[]> =>
  ((await operate('GET', '/users')).users as readonly { id: string }[]).map(({ id }) => id);

/** Resolves to whether the vote counts: some users of the demo have voted. */
const voteFrom = async (address: string, user: string, bot: string): Promise<boolean> => {
  const { token } = await operate('POST', `/user/${user}/tokens`, { name: 'a test' });
  const headers = { 'User-Auth': String(token), 'X-Forwarded-For': address };
  const path = `/users/${user}/bots/${bot}/votes?upvote=true`;
  return (await fetch(world.node.url + path, { method: 'PUT', headers })).status === 204;
};

/** Votes on a bot until `count` votes are accepted, each by another user. Resolves to how many were. */
const voteBy = async (bot: string, count: number, addressOf: (index: number) => string): Promise<number> => {
  let accepted = 0;
  for (const [index, user] of (await listUsers()).entries())
    if (accepted < count && (await voteFrom(addressOf(index), user, bot))) accepted += 1;
  return accepted;
};

/**
 * Eight on the bot from one address, and 36 elsewhere from others: so many that the votes of the demo on this
 * bot within a day, whose number depends on the hour, make little difference.
 */
const voteAll = async (bot: string): Promise<void> => {
  const { bots } = await operate('GET', '/bots?type=approved');
  const others = (bots as readonly { bot_id: string }[]).filter(({ bot_id }) => bot_id !== bot).slice(0, 3);
  const accepted: number[] = [];
  for (const { bot_id } of others) accepted.push(await voteBy(bot_id, 12, (index) => `198.51.100.${index}`));
  accepted.push(await voteBy(bot, 8, () => '203.0.113.1'));
  assert.equal(accepted, [12, 12, 12, 8]);
};

test('votes of one address are shown with the reason, and voided by two clicks', async () => {
  const { bot } = world.demo;
  const countVotes = async (): Promise<number> => Number((await readPublic(`/bots/${bot.id}`)).json.votes);
  const before = await countVotes();
  await voteAll(bot.id);
  const counted = await countVotes();
  assert.ok(counted >= before + 8);
  const listFound = async () =>
    (await operate('GET', `/votes/suspects?target_type=bot&target_id=${bot.id}`)).suspects as {
      found: string;
    }[];
  await until('a finding', async () => (await listFound()).length > 0, 60_000);

  const { page, end } = await openPage(robin, 'suspects');
  const row = page.getByRole('row').filter({ hasText: 'one address, one listing' });
  assert.match(
    (await row.textContent()) ?? '',
    /8 of the 8 accounts that voted from this address within a day/,
  );
  await page.locator('figure.chart canvas').waitFor();
  await row.getByRole('link').click();
  const chart = page.locator('figure.chart').filter({ hasText: `Votes on bot ${bot.id} by hour` });
  await chart.locator('canvas').waitFor();
  assert.match((await chart.textContent()) ?? '', /a surge is above/);
  const hours = (await operate('GET', `/votes/hours?target_type=bot&target_id=${bot.id}`)).hours;
  assert.is((hours as readonly unknown[]).length, 336);
  assert.is(
    await page.getByRole('row').filter({ hasText: bot.id }).count(),
    await page.getByRole('button', { name: 'Plan' }).count(),
  );
  await row.getByRole('button', { name: 'Plan' }).click();
  await page.getByText(/^Voids .* of 1 listing/).waitFor();
  assert.is(await countVotes(), counted, 'a plan changes nothing');
  await page.getByRole('button', { name: /^Void \d/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Void', exact: true }).click();
  await page
    .getByText(/became void/)
    .first()
    .waitFor();
  await until('fewer votes', async () => (await countVotes()) <= counted - 8);
  await end();
});

test.run();
