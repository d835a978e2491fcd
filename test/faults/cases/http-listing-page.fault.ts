/**
 * The pages of listings in a real browser (headless Chromium): names of 64 letters, right to left, emoji and
 * five-digit votes fit on small and large screens, in light and dark; a vote shows at once and the second
 * click is the second user's; the keyboard alone is enough; nothing breaks the policy of the pages.
 */
import * as assert from 'uvu/assert';
import { createPageSuite, listViolations } from '../../support/browser.ts';
import { until } from '../../support/until.ts';

const { test, world } = createPageSuite('listing pages');

const rename = async (id: string, name: string): Promise<void> => {
  const reply = await fetch(`${world.node.adminUrl}/users/${id}`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${world.demo.admin_token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ display_name: name }),
  });
  assert.ok(reply.ok, await reply.text());
  const read = async () =>
    (await fetch(`${world.node.url}/@${id}`, { headers: { accept: 'text/html' } })).text();
  await until('the name', async () => (await read()).includes(name));
};

const names = ['w'.repeat(64), 'مساعد الخادم الذي يجيب عن كل سؤال', '🦊👩‍👩‍👧‍👦 fox family'];

for (const [width, colorScheme] of [
  [1_280, 'light'],
  [360, 'dark'],
] as const) {
  test(`${width} px, ${colorScheme}: every kind of page fits, whatever the name`, async () => {
    const { page, problems } = await world.openPage({ viewport: { width, height: 900 }, colorScheme });
    page.on('console', (message) => problems.push(message.text()));
    await page.route('**/@*', async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace(/(data-live="votes">)\d+/, '$112,345');
      await route.fulfill({ response, body });
    });
    const { bot, server, team, pack } = world.demo;
    for (const name of names) {
      await rename(bot.id, name);
      for (const path of [`@${bot.id}`, `@${server.id}`, `@${team.id}`, `@packs/${pack.url}`]) {
        await page.goto(`${world.node.url}/${path}`);
        await page.locator('#chart .readout').waitFor();
        assert.not.ok(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), path);
        assert.equal(await listViolations(page), [], path);
      }
    }
    assert.equal(problems, []);
    await page.close();
  });
}

test('the second click is the vote of the second user, and then the wait is said in words', async () => {
  const { page, problems } = await world.openPage();
  const connected = page.waitForResponse((response) => response.url().includes('/feed?'));
  await page.goto(`${world.node.url}/@${world.demo.bot.id}`);
  await connected;
  const votes = page.locator('[data-live="votes"]');
  const before = Number(await votes.innerText());
  const button = page.getByRole('button', { name: 'Vote', exact: true });
  await button.click();
  await page.getByText('Thank you for your vote.').waitFor();
  await button.click();
  await page.getByText(/You can vote again in \d+ hours?/).waitFor();

  assert.ok(await button.isDisabled());
  // At a weekend a vote counts twice.
  await votes.filter({ hasText: new RegExp(`^(${before + 2}|${before + 4})$`) }).waitFor();
  assert.equal(problems, []);
  await page.close();
});

test('the keyboard alone reaches and uses everything', async () => {
  const { page } = await world.openPage();
  await page.goto(`${world.node.url}/@${world.demo.server.id}`);
  await page.getByRole('button', { name: 'Vote', exact: true }).waitFor();
  const reached: string[] = [];
  for (let step = 0; step < 60 && !reached.includes('FOOTER'); step++) {
    await page.keyboard.press('Tab');
    reached.push(
      await page.evaluate(`(() => {
        const { activeElement: at } = document;
        return at.closest('footer') ? 'FOOTER' : at.id || at.textContent.trim();
      })()`),
    );
  }
  for (const name of ['Skip to the content', 'vote', 'Join', '7 days', 'Copy', 'FOOTER'])
    assert.ok(reached.includes(name), `${name} of ${reached}`);
  await page.getByRole('button', { name: '7 days' }).focus();
  await page.keyboard.press('Enter');
  assert.is(await page.getByRole('button', { name: '7 days' }).getAttribute('aria-pressed'), 'true');
  await page.close();
});

test.run();
