/**
 * The front page in a real browser (headless Chromium): it shows the directory and its boards, a vote appears
 * without a reload, a name with markup stays text, the demo's requests can be sent, and nothing breaks its
 * policy or contacts another server.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as assert from 'uvu/assert';
import { createPageSuite, listViolations } from '../../support/browser.ts';
import { until } from '../../support/until.ts';

const { test, world } = createPageSuite('front page');
const html = { accept: 'text/html' };
const run = promisify(execFile);

interface Board {
  readonly results: readonly { readonly entity: { readonly bot_id: string } }[];
}

/** The demo's user votes for the bot with this place on the board. */
const voteFor = async (place: number): Promise<void> => {
  const { results } = (await (await fetch(`${world.node.url}/leaderboards/bots/votes`)).json()) as Board;
  const { user } = world.demo;
  const path = `/users/${user.id}/bots/${results[place]?.entity.bot_id}/votes?upvote=true`;
  const reply = await fetch(world.node.url + path, { method: 'PUT', headers: { 'User-Auth': user.token } });
  assert.is(reply.status, 204);
};

const markup = '<img src=x onerror=alert(1)>';
const long = 'w'.repeat(64);

/** The user behind a bot gets another name; it must show at once. */
const rename = async (place: number, name: string): Promise<void> => {
  const { results } = (await (await fetch(`${world.node.url}/leaderboards/bots/votes`)).json()) as Board;
  const reply = await fetch(`${world.node.adminUrl}/users/${results[place]?.entity.bot_id}`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${world.demo.admin_token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ username: 'renamed', display_name: name, bot: true }),
  });
  assert.ok(reply.ok, await reply.text());
};

for (const [place, width, colorScheme] of [
  [1, 1_280, 'light'],
  [2, 360, 'dark'],
] as const) {
  test(`${width} px, ${colorScheme}: boards are shown, a vote appears at once, markup is text`, async () => {
    await rename(3, markup);
    await rename(4, long);
    const { page, problems } = await world.openPage({ viewport: { width, height: 900 }, colorScheme });
    page.on('console', (message) => problems.push(message.text()));
    const connected = page.waitForResponse((response) => response.url().includes('/feed?'));
    await until('the names', async () =>
      (await (await fetch(world.node.url, { headers: html })).text()).includes(long),
    );
    await page.goto(world.node.url);
    await page.locator('#board-bots').getByText(markup, { exact: true }).waitFor();
    const cell = page.locator('#board-bots tbody tr').nth(place).locator('.number');
    const before = Number(await cell.innerText());
    await connected;
    await voteFor(place);

    // At a weekend a vote counts twice.
    await cell.filter({ hasText: new RegExp(`^(${before + 1}|${before + 2})$`) }).waitFor();
    assert.match(await page.locator('#bots').innerText(), /^\d+$/);
    assert.not.ok(await page.evaluate('document.documentElement.scrollWidth > innerWidth'));
    assert.not.ok(
      await page.evaluate(
        "[...document.querySelectorAll('section')].some((s) => s.scrollWidth > s.clientWidth)",
      ),
      'a long name breaks its board',
    );
    assert.equal(await listViolations(page), []);
    assert.equal(problems, []);
    await page.close();
  });
}

const behindProxy = { 'x-forwarded-for': '203.0.113.7' };

test('on the machine of the server the three requests are ready with the tokens of the demo', async () => {
  const { page, problems } = await world.openPage();
  await page.goto(world.node.url);
  const requests = page.locator('.request');
  await requests.first().waitFor();
  const answers: string[] = [];
  for (let at = 0; at < 3; at++) {
    await requests.nth(at).getByRole('button', { name: 'Send' }).click();
    await requests.nth(at).locator('pre[aria-live]', { hasText: /^\d/ }).waitFor();
    answers.push(await requests.nth(at).locator('pre[aria-live]').innerText());
  }
  const commands = await page.locator('.request h3 + pre').allInnerTexts();

  assert.match(answers[0] ?? '', /^200\n[\s\S]*Stats recorded\./);
  assert.is(answers[1]?.trim(), '204');
  assert.match(answers[2] ?? '', /^200\n[\s\S]*"servers": 1234,/);
  for (const command of commands) {
    const { stdout } = await run('sh', ['-c', `${command} -sS -o /dev/null -w '%{http_code}'`]);
    assert.match(stdout, /^(200|429)$/, 'the vote must wait by now');
  }
  assert.equal(problems, []);
  await page.close();
});

test('other visitors get no requests and no tokens', async () => {
  const { page } = await world.openPage({ extraHTTPHeaders: behindProxy });
  const demo = page.waitForResponse((response) => response.url().endsWith('/docs/demo.json'));
  await page.goto(world.node.url);
  await page.locator('#board-bots table').waitFor();

  assert.is(await (await demo).json(), null);
  assert.not.ok(await page.locator('#try').isVisible());
  await page.close();
});

test.run();
