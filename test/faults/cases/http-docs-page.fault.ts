/**
 * The page at /docs in a real browser (headless Chromium): it opens, lists every operation, contacts no other
 * address, sends a request with a token that was typed in, and shows the answer.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { routes } from '../../../http/routes/table.ts';
import { makeFolder } from '../../support/folder.ts';
import { findFolder, findOrInstallProgram } from '../../support/needed-program.ts';
import { type StartedNode, startNode } from '../../support/node-process.ts';

const test = suite('docs page');
const folder = makeFolder('rollcall-docs-');
/** The browser's own calls home are off, so that every request seen is the page's. */
const quiet = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** A browser and a node on a machine where twenty others wait for a core. */
const patienceMs = 300_000;

let node: StartedNode;
let browser: Browser;
test.before(async () => {
  const program = findOrInstallProgram({
    name: 'Chromium',
    debianPackage: 'chromium',
    find: () => findFolder('chromium'),
    advice: 'Install Chromium so that `chromium` is in PATH.',
  });
  node = await startNode({ dataDir: folder, settings: { DEMO: 'on' } });
  browser = await chromium.launch({
    executablePath: join(program, 'chromium'),
    args: quiet,
    timeout: patienceMs,
  });
});
test.after(async () => {
  await browser?.close();
  await node?.stop();
});

const openPage = async (place: string): Promise<{ page: Page; outside: string[] }> => {
  const page = await browser.newPage({ viewport: { width: 1_400, height: 1_000 } });
  page.setDefaultTimeout(patienceMs);
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
  for (const section of new Set(routes.map((route) => route.section))) {
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
  const { page } = await openPage('#tag/bots/POST/bots/stats');
  await page.getByRole('button', { name: /Test Request\s*\(post \/bots\/stats\)/ }).click();
  const dialog = page.getByRole('dialog');

  await dialog.locator('input[type=password], input:not([type=checkbox])').first().fill(demo.bot.token);
  await dialog.getByRole('button', { name: /^Send/ }).last().click();

  await dialog.getByText('Stats recorded.').first().waitFor();
  const bot = (await (await fetch(`${node.url}/bots/${demo.bot.id}`)).json()) as { servers: number };
  assert.is(bot.servers, 1_200, 'the example of the page was posted');
  await page.close();
});

test.run();
