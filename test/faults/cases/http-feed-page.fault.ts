/**
 * The feed in a real browser (headless Chromium): the page of docs/client-guide.md as it stands there, opened
 * from a file, follows a bot; its EventSource comes back when the server restarts and misses no vote; and a
 * WebSocket of the browser gets the same messages.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { findFreePort } from '../../../bench/shared/free-port.ts';
import { browserPatienceMs, createBrowserSuite, openBrowser } from '../../support/browser.ts';
import { makeFolder } from '../../support/folder.ts';
import { type StartedNode, startNode } from '../../support/node-process.ts';

const test = createBrowserSuite('feed in a browser');
const folder = makeFolder('rollcall-feed-');

interface Demo {
  readonly bot: { readonly id: string; readonly token: string };
  readonly user: { readonly id: string; readonly token: string };
  readonly second_user: { readonly id: string; readonly token: string };
}

let node: StartedNode;
let browser: Browser;
let demo: Demo;
let settings: Record<string, string>;
test.before(async () => {
  settings = { DEMO: 'on', PORT: String(await findFreePort()) };
  node = await startNode({ dataDir: folder, settings });
  demo = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8'));
  browser = await openBrowser();
});
test.after(async () => {
  await browser?.close();
  await node?.stop();
});

const readExample = (): string => {
  const guide = readFileSync(new URL('../../../docs/client-guide.md', import.meta.url), 'utf8');
  const [, html = ''] = /^```html\n([\s\S]*?)^```$/m.exec(guide) ?? [];
  return html.replaceAll('$URL', node.url).replaceAll('$BOT_ID', demo.bot.id);
};

const openPage = async (): Promise<Page> => {
  const file = join(folder, 'live.html');
  writeFileSync(file, readExample());
  const page = await browser.newPage();
  page.setDefaultTimeout(browserPatienceMs);
  await page.goto(`file://${file}`);
  return page;
};

const post = async (servers: number): Promise<void> => {
  const { status } = await fetch(`${node.url}/bots/stats`, {
    method: 'POST',
    headers: { authorization: `Bot ${demo.bot.token}` },
    body: JSON.stringify({ servers }),
  });
  assert.is(status, 200);
};
const vote = async ({ id, token }: Demo['user']): Promise<void> => {
  const { status } = await fetch(`${node.url}/users/${id}/bots/${demo.bot.id}/votes?upvote=true`, {
    method: 'PUT',
    headers: { authorization: `User ${token}` },
  });
  assert.is(status, 204);
};

test('the page of the guide shows each change, and every vote once over a restart', async () => {
  const page = await openPage();
  await post(4_321);
  await page.getByText('4321 servers').waitFor();
  await vote(demo.user);
  await page.locator('li').first().waitFor();
  const { code } = await node.stop();
  node = await startNode({ dataDir: folder, settings });
  await vote(demo.second_user);
  await post(4_322);
  await page.getByText('4322 servers').waitFor();
  await page.locator('li').nth(1).waitFor();
  const lines = await page.locator('li').allInnerTexts();
  const numbers = lines.map((line) => Number(line.replace('vote ', '')));

  assert.is(code, 0);
  const [first = 0] = numbers;
  assert.equal(numbers, [first, first + 1]);
  await page.close();
});

test('a WebSocket of the browser subscribes, and its protocol is confirmed', async () => {
  const page = await openPage();
  const got = await page.evaluate(
    ([url, target]) =>
      new Promise((resolve) => {
        const socket = new WebSocket(`${url?.replace('http', 'ws')}/feed`, 'rollcall.v1');
        const events: string[] = [];
        socket.addEventListener('open', () =>
          socket.send(JSON.stringify({ op: 'subscribe', targets: [target], channels: ['totals'] })),
        );
        socket.addEventListener('message', (message) => {
          events.push(JSON.parse(message.data).event);
          if (events.length === 3) resolve([socket.protocol, ...events]);
        });
      }),
    [node.url, `bot/${demo.bot.id}`],
  );

  assert.equal(got, ['rollcall.v1', 'hello', 'subscribed', 'totals']);
  await page.close();
});

test.run();
