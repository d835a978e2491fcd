/**
 * Votes that an operator voids by a query on the page, in a real browser: preview, confirmation, undo.
 */
import * as assert from 'uvu/assert';
import { until } from '../../support/until.ts';
import { openPage, readPublic, robin, test, world } from './http-operator-page.ts';

test('votes are voided by a query: the filter, the preview, the confirmation, the undo', async () => {
  const { bot } = world.demo;
  const countVotes = async (): Promise<unknown> => (await readPublic(`/bots/${bot.id}`)).json.votes;
  const before = Number(await countVotes());
  assert.ok(before > 0);
  const address = `votes/${encodeURIComponent(`target_type=bot&target_id=${bot.id}`)}`;
  const { page, end } = await openPage(robin, address);
  await page.getByText('No plans yet').waitFor();
  await page.locator('summary', { hasText: 'votes void-many' }).click();
  const form = page.locator('form', { hasText: 'Voids the votes that a query finds' });
  assert.is(await form.getByLabel('target id').inputValue(), bot.id);
  await form.getByLabel('since').fill('2020-01-01T00:00:00Z');
  await form.getByLabel('reason').fill('A farm of accounts.');
  await form.getByRole('button', { name: 'votes void-many' }).click();
  await page.getByText(/^Voids .* of 1 listing/).waitFor();
  assert.is(await countVotes(), before, 'a preview changes nothing');

  await page.getByRole('button', { name: /^Void \d/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Void', exact: true }).click();
  await page
    .getByText(/became void/)
    .first()
    .waitFor();
  await until('no votes', async () => (await countVotes()) === 0);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Go on' }).click();
  await page
    .getByText(/count again/)
    .first()
    .waitFor();
  await until('all votes', async () => (await countVotes()) === before);
  await page.goto(`${world.node.adminUrl}/#${address}`);
  await page.getByRole('cell', { name: 'undone', exact: true }).waitFor();
  await end();
});

test.run();
