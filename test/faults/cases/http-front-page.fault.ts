/**
 * The front page in a real browser (headless Chromium): it shows the directory and its boards, a vote appears
 * without a reload, a name with markup stays text, and nothing breaks its policy or contacts another server.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserPatienceMs, createBrowserSuite, openBrowser } from '../../support/browser.ts';
import { makeFolder } from '../../support/folder.ts';
import { type StartedNode, startNode } from '../../support/node-process.ts';

const test = createBrowserSuite('front page');
const folder = makeFolder('rollcall-front-');

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

interface Board {
  readonly results: readonly { readonly entity: { readonly bot_id: string } }[];
}
interface Demo {
  readonly user: { readonly id: string; readonly token: string };
}

/** The demo's user votes for the bot with this place on the board. */
const voteFor = async (place: number): Promise<void> => {
  const { results } = (await (await fetch(`${node.url}/leaderboards/bots/votes`)).json()) as Board;
  const { user } = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8')) as Demo;
  const path = `/users/${user.id}/bots/${results[place]?.entity.bot_id}/votes?upvote=true`;
  const reply = await fetch(node.url + path, { method: 'PUT', headers: { 'User-Auth': user.token } });
  assert.is(reply.status, 204);
};

const markup = '<img src=x onerror=alert(1)>';

for (const [place, width, colorScheme] of [
  [1, 1_280, 'light'],
  [2, 360, 'dark'],
] as const) {
  test(`${width} px, ${colorScheme}: boards are shown, a vote appears at once, markup is text`, async () => {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
    page.setDefaultTimeout(browserPatienceMs);
    const problems: string[] = [];
    page.on('console', (message) => problems.push(message.text()));
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(node.url)) problems.push(request.url());
    });
    await page.route('**/leaderboards/bots/votes', async (route) => {
      const response = await route.fetch();
      const text = (await response.text()).replace(/"display_name":"[^"]*"/, `"display_name":"${markup}"`);
      await route.fulfill({ response, body: text });
    });
    const connected = page.waitForResponse((response) => response.url().includes('/feed?'));
    await page.goto(node.url);
    await page.getByText(markup, { exact: true }).waitFor();
    const cell = page.locator('#board-bots tbody tr').nth(place).locator('.number');
    const before = Number(await cell.innerText());
    await connected;
    await voteFor(place);

    // At a weekend a vote counts twice.
    await cell.filter({ hasText: new RegExp(`^(${before + 1}|${before + 2})$`) }).waitFor();
    assert.match(await page.locator('#bots').innerText(), /^\d+$/);
    assert.not.ok(await page.evaluate('document.documentElement.scrollWidth > innerWidth'));
    assert.equal(problems, []);
    await page.close();
  });
}

test.run();
