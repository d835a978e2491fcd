/**
 * The feed in a real browser (headless Chromium): the page of docs/bots/live.md as it stands there, opened
 * from a file, follows a bot; its EventSource comes back when the server restarts and misses no vote; and a
 * WebSocket of the browser gets the same messages.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { findFreePort } from '../../../bench/shared/free-port.ts';
import { createPageSuite } from '../../support/browser.ts';
import { postServers, startNode } from '../../support/node-process.ts';

/** The port stays the same when the server restarts. */
const { test, world } = createPageSuite('feed in a browser', async () => ({
  PORT: String(await findFreePort()),
}));

const readExample = (): string => {
  const guide = readFileSync(new URL('../../../docs/bots/live.md', import.meta.url), 'utf8');
  const [, html = ''] = /^```html\n([\s\S]*?)^```$/m.exec(guide) ?? [];
  return html.replaceAll('$URL', world.node.url).replaceAll('$BOT_ID', world.demo.bot.id);
};

const openExample = async (): Promise<Page> => {
  const file = join(world.folder, 'live.html');
  writeFileSync(file, readExample());
  const { page } = await world.openPage();
  await page.goto(`file://${file}`);
  return page;
};

const post = async (servers: number): Promise<void> =>
  assert.is(await postServers(world.node.url, world.folder, servers), 200);
const vote = async ({ id, token }: { readonly id: string; readonly token: string }): Promise<void> => {
  const path = `/users/${id}/bots/${world.demo.bot.id}/votes?upvote=true`;
  const headers = { authorization: `User ${token}` };
  assert.is((await fetch(world.node.url + path, { method: 'PUT', headers })).status, 204);
};

test('the page of the guide shows each change, and every vote once over a restart', async () => {
  const page = await openExample();
  await post(4_321);
  await page.getByText('4321 servers').waitFor();
  await vote(world.demo.user);
  await page.locator('li').first().waitFor();
  const { code } = await world.node.stop();
  world.node = await startNode({ dataDir: world.folder, settings: world.settings });
  await vote(world.demo.second_user);
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
  const page = await openExample();
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
    [world.node.url, `bot/${world.demo.bot.id}`],
  );

  assert.equal(got, ['rollcall.v1', 'hello', 'subscribed', 'totals']);
  await page.close();
});

test.run();
