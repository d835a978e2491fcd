/**
 * Suspicious votes on the operator's page, in a real browser: the finding with its reason, the chart, and the
 * plan that voids its votes in two clicks.
 */
import * as assert from 'uvu/assert';
import { until } from '../../support/until.ts';
import { openPage, operate, readPublic, robin, test, world } from './http-operator-page.ts';

/** Votes on the bot from one address by users who have not voted on it. Resolves to their number. */
const voteFromOneAddress = async (bot: string, accounts: number): Promise<number> => {
  const users = (await operate('GET', '/users')).users as readonly { id: string }[];
  let accepted = 0;
  for (const { id } of users) {
    if (accepted === accounts) break;
    const { token } = await operate('POST', `/user/${id}/tokens`, { name: 'a test' });
    const headers = { 'User-Auth': String(token) };
    const path = `/users/${id}/bots/${bot}/votes?upvote=true`;
    if ((await fetch(world.node.url + path, { method: 'PUT', headers })).status === 204) accepted += 1;
  }
  return accepted;
};

test('votes of one address are shown with the reason, and voided by two clicks', async () => {
  const { bot } = world.demo;
  const countVotes = async (): Promise<number> => Number((await readPublic(`/bots/${bot.id}`)).json.votes);
  const before = await countVotes();
  assert.is(await voteFromOneAddress(bot.id, 8), 8);
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
