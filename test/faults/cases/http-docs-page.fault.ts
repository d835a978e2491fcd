/**
 * The page at /docs in a real browser (headless Chromium): it opens, lists every operation, contacts no other
 * address, sends a request with a token that was typed in, and shows the answer. On the machine of the server
 * the demo's tokens and ids are filled in.
 */
import * as assert from 'uvu/assert';
import { routes } from '../../../http/api/table.ts';
import { findSection } from '../../../http/openapi/sections.ts';
import { createPageSuite } from '../../support/browser.ts';

const { test, world } = createPageSuite('docs page');

/** A visitor behind a proxy gets no token of the demo. */
const throughProxy = { 'x-forwarded-for': '203.0.113.7' };

const openDocs = async (place: string, extraHTTPHeaders: Record<string, string> = {}) => {
  const viewport = { width: 1_400, height: 1_000 };
  const opened = await world.openPage({ viewport, extraHTTPHeaders });
  await opened.page.goto(`${world.node.url}/docs${place}`);
  await opened.page.getByText('Sessions and login').first().waitFor();
  return opened;
};

test('it lists every operation, and contacts no other server', async () => {
  const { page, problems } = await openDocs('');
  for (const section of new Set(routes.map(findSection))) {
    const group = page.getByRole('button', { name: `Open Group - ${section}`, exact: true });
    if ((await group.count()) > 0) await group.first().click();
  }

  for (const route of routes) {
    await page
      .getByText(route.summary.replace(/\.$/, ''), { exact: false })
      .first()
      .waitFor({ state: 'attached' });
  }

  assert.equal(problems, []);
  await page.close();
});

test('a token typed in is sent, and the answer is shown', async () => {
  const { page } = await openDocs('#tag/stats/POST/bots/stats', throughProxy);
  await page.getByRole('button', { name: /Test Request\s*\(post \/bots\/stats\)/ }).click();
  const dialog = page.getByRole('dialog');

  await dialog.locator('input[type=password], input:not([type=checkbox])').first().fill(world.demo.bot.token);
  await dialog.getByRole('button', { name: /^Send/ }).last().click();

  await dialog.getByText('Stats recorded.').first().waitFor();
  const bot = (await (await fetch(`${world.node.url}/bots/${world.demo.bot.id}`)).json()) as {
    servers: number;
  };
  assert.is(bot.servers, 1_200, 'the example of the page was posted');
  await page.close();
});

/** Opens an operation and sends it as it stands. Resolves to the status. */
const sendAsItStands = async (place: string, title: RegExp): Promise<number> => {
  const { page } = await openDocs(place);
  await page.getByRole('button', { name: title }).click();
  const sent = page.waitForResponse((response) => !/\/docs|openapi\.json/.test(response.url()));
  await page.getByRole('dialog').getByRole('button', { name: /^Send/ }).last().click();
  const status = (await sent).status();
  await page.close();
  return status;
};

test('with the demo, a post, a vote and a read of a bot are accepted as they stand', async () => {
  const vote = 'tag/votes/PUT/users/{uid}/{target_type}/{target_id}/votes';

  const statuses = [
    await sendAsItStands('#tag/stats/POST/bots/stats', /Test Request\s*\(post \/bots\/stats\)/),
    await sendAsItStands(`#${vote}`, /Test Request\s*\(put \/users\/.*\/votes\)/),
    await sendAsItStands('#tag/bots/GET/bots/{id}', /Test Request\s*\(get \/bots\/\{id\}\)/),
  ];

  assert.equal(statuses, [200, 204, 200]);
});

test.run();
