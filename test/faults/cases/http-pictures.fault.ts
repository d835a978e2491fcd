/**
 * The pictures of README.md: a listing's page and the operator's page, light and dark, as a browser shows
 * them. With PICTURES=write they are written to docs/pictures; else only taken.
 */
import { existsSync, writeFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { createPageSuite } from '../../support/browser.ts';
import { postServers } from '../../support/node-process.ts';

const { test, world } = createPageSuite('pictures');
const folder = new URL('../../../docs/pictures/', import.meta.url);

const showListing = async (page: Page): Promise<void> => {
  await page.goto(`${world.node.url}/@${world.demo.bot.id}`);
  await page.locator('h1').waitFor();
};

const showOperator = async (page: Page): Promise<void> => {
  await page.goto(world.node.adminUrl);
  await page.getByLabel("The operator's token").fill(world.demo.admin_token ?? '');
  await page.keyboard.press('Enter');
  await page.locator('header').waitFor();
  for (let servers = 1_200; servers < 1_230; servers++) {
    assert.is(await postServers(world.node.url, world.folder, servers), 200);
    await page.waitForTimeout(200);
  }
};

for (const colorScheme of ['light', 'dark'] as const)
  for (const [name, show] of [
    ['listing', showListing],
    ['operator', showOperator],
  ] as const)
    test(`the page of the ${name}, ${colorScheme}`, async () => {
      const { page, problems } = await world.openPage({
        viewport: { width: 1_100, height: 720 },
        colorScheme,
      });
      await show(page);
      await page.waitForLoadState('load').catch(() => {});
      const picture = await page.screenshot({ type: 'jpeg', quality: 72 });
      await page.close();

      assert.equal(problems, []);
      const file = new URL(`${name}-${colorScheme}.jpg`, folder);
      if (process.env.PICTURES === 'write') writeFileSync(file, picture);
      assert.ok(existsSync(file) && picture.length > 10_000, `${picture.length} bytes`);
    });

test.run();
