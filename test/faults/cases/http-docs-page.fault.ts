/**
 * The page at /docs in a real browser (headless Chromium): it opens, lists every operation, contacts no other
 * address, sends a request with a token that was typed in, and shows the answer. On the machine of the server
 * the demo's tokens and ids are filled in.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { findSection } from '../../../http/openapi/sections.ts';
import { routes } from '../../../http/routes/table.ts';
import { browserPatienceMs, createBrowserSuite, openBrowser } from '../../support/browser.ts';
import { makeFolder } from '../../support/folder.ts';
import { type StartedNode, startNode } from '../../support/node-process.ts';

const test = createBrowserSuite('docs page');
const folder = makeFolder('rollcall-docs-');

let node: StartedNode;
let browser: Browser;
test.before(async () => {
  node = await startNode({ dataDir: folder, settings: { DEMO: 'on' } });
  browser = await openBrowser();
});
test.after(async () => {
  await browser?.close();
  await node?.stop();
});

/** A visitor behind a proxy gets no token of the demo. */
const throughProxy = { 'x-forwarded-for': '203.0.113.7' };

const openPage = async (
  place: string,
  extraHTTPHeaders: Record<string, string> = {},
): Promise<{ page: Page; outside: string[] }> => {
  const page = await browser.newPage({ viewport: { width: 1_400, height: 1_000 }, extraHTTPHeaders });
  page.setDefaultTimeout(browserPatienceMs);
  const outside: string[] = [];
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(node.url))
      outside.push(request.url());
  });
  await page.goto(`${node.url}/docs${place}`);
  await page.getByText('Sessions and login').first().waitFor();
  return { page, outside };
};

test('it lists every operation, and contacts no other server', async () => {
  const { page, outside } = await openPage('');
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

  assert.equal(outside, []);
  await page.close();
});

test('a token typed in is sent, and the answer is shown', async () => {
  const demo = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8'));
  const { page } = await openPage('#tag/stats/POST/bots/stats', throughProxy);
  await page.getByRole('button', { name: /Test Request\s*\(post \/bots\/stats\)/ }).click();
  const dialog = page.getByRole('dialog');

  await dialog.locator('input[type=password], input:not([type=checkbox])').first().fill(demo.bot.token);
  await dialog.getByRole('button', { name: /^Send/ }).last().click();

  await dialog.getByText('Stats recorded.').first().waitFor();
  const bot = (await (await fetch(`${node.url}/bots/${demo.bot.id}`)).json()) as { servers: number };
  assert.is(bot.servers, 1_200, 'the example of the page was posted');
  await page.close();
});

/** Opens an operation and sends it as it stands. Resolves to the status. */
const sendAsItStands = async (place: string, title: RegExp): Promise<number> => {
  const { page } = await openPage(place);
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
