/**
 * The pages of listings in a real browser (headless Chromium): names of 64 letters, right to left, emoji
 * and five-digit votes fit on small and large screens, in light and dark; a vote shows at once and the
 * second click is the second user's; without the demo a vote goes through the login of the contract; times
 * without samples are gaps of the chart; who may edit a listing sees that its text is cut; the keyboard
 * alone is enough; nothing breaks the policy of the pages.
 */
import * as assert from 'uvu/assert';
import { findFreePort } from '../../../bench/shared/free-port.ts';
import { hostileTexts } from '../../http/markdown/hostile-texts.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { createPageSuite, listViolations } from '../../support/browser.ts';
import { clientId, clientSecret, says, startPlainProvider } from '../../support/login-provider.ts';
import { until } from '../../support/until.ts';

/** A login on loopback: it accepts every login, and sends the browser back. */
const provider = await startPlainProvider();
provider.profile = (request, body, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', provider.url);
  if (pathname !== '/authorize')
    return says(200, { id: '728871946456137770', username: 'wren' })(request, body, response);
  const back = new URL(searchParams.get('redirect_uri') ?? '');
  back.search = String(new URLSearchParams({ code: 'a code', state: searchParams.get('state') ?? '' }));
  response.writeHead(302, { location: back.href }).end();
};

const { test, world } = createPageSuite('listing pages', async () => {
  const PORT = String(await findFreePort());
  return {
    PORT,
    LOGIN_CLIENT_ID: clientId,
    LOGIN_CLIENT_SECRET: clientSecret,
    LOGIN_AUTHORIZE_URL: `${provider.url}/authorize`,
    LOGIN_TOKEN_URL: `${provider.url}/token`,
    LOGIN_PROFILE_URL: `${provider.url}/profile`,
    LOGIN_REDIRECT_URIS: `http://127.0.0.1:${PORT}/login`,
  };
});
test.after(() => provider.close());

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

/** Of the team that owns the demo's bot, with the permission to edit bots. */
const editor = '1212920554554654843';

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

test('a vote leads through the login and is cast at once; logging out revokes the token', async () => {
  const { page } = await world.openPage();
  await page.route('**/docs/demo.json', (route) => route.fulfill({ json: null }));
  await page.goto(`${world.node.url}/@${world.demo.server.id}`);
  await page.getByRole('button', { name: 'Vote', exact: true }).click();
  await page.getByText('Thank you for your vote.').waitFor();

  assert.is(new URL(page.url()).pathname, `/@${world.demo.server.id}`);
  const readToken = `JSON.parse(sessionStorage.getItem('rollcall-account')).token`;
  const headers = { 'User-Auth': String(await page.evaluate(readToken)) };
  const own = `${world.node.url}/users/728871946456137770/notifications`;
  assert.is((await fetch(own, { headers })).status, 200);
  await page.reload();
  await page.getByText(/You can vote again in \d+ hours?/).waitFor();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('button', { name: 'Log out' }).waitFor({ state: 'detached' });
  await until('the token is revoked', async () => (await fetch(own, { headers })).status === 401);
  await page.close();
});

test('that a text is cut is shown to the owner and to members who may edit, and to nobody else', async () => {
  const { bot, user } = world.demo;
  const long = hostileTexts['open brackets'];
  const reply = await fetch(`${world.node.url}/bots/${bot.id}/settings`, {
    method: 'PATCH',
    headers: { 'User-Auth': user.token, 'Content-Type': 'application/json' },
    body: JSON.stringify({ long }),
  });
  assert.equal([reply.status, reply.headers.get('x-listing-hints')], [204, 'long_cut']);

  /** Whether the page shows the note to a user who has logged in, `null` without a user. */
  const seesNote = async (id: string | null): Promise<boolean> => {
    const { page, problems } = await world.openPage();
    const account = JSON.stringify(id && { id, token: 'a token', session: '' });
    await page.addInitScript(`sessionStorage.setItem('rollcall-account', ${JSON.stringify(account)})`);
    const answered = id && page.waitForResponse((response) => response.url().endsWith('/perms'));
    await page.goto(`${world.node.url}/@${bot.id}`);
    await page.locator('#long-cut').waitFor({ state: 'attached' });
    if (answered) await (await answered).finished();
    // The chart comes after the script has begun everything.
    await page.locator('#chart .readout').waitFor();
    const isShown = await page.getByText('Only you see this').isVisible();
    assert.equal([await listViolations(page), problems], [[], []]);
    await page.close();
    return isShown;
  };
  assert.is(await seesNote(user.id), true, 'the owner');
  assert.is(await seesNote(editor), true, 'a member who may edit bots');
  assert.is(await seesNote('1207816303125987410'), false, 'another user');
  assert.is(await seesNote(null), false, 'nobody');
});

test('times without samples are gaps of the chart, and keys say so', async () => {
  const { page, problems } = await world.openPage();
  const values = [5, null, 6, 7, null, null, 8, 9];
  await page.route('**/history?metrics=*', async (route) => {
    const times = values.map((_, day) => new Date(Date.UTC(2026, 2, 1 + day)).toISOString());
    const metric = new URL(route.request().url()).searchParams.get('metrics') ?? '';
    await route.fulfill({ json: { times, series: { [metric]: values } } });
  });
  await page.goto(`${world.node.url}/@${world.demo.bot.id}`);
  const chart = page.locator('svg.chart');
  await chart.waitFor();
  const lines = await chart
    .locator('.line')
    .evaluateAll((all) => all.map((line) => line.getAttribute('d')?.split('L').length));
  assert.equal(
    [lines, await chart.locator('.area').count(), await chart.locator('.dot').count()],
    [[2, 2], 2, 1],
  );

  await chart.focus();
  await page.keyboard.press('End');
  await page.locator('.readout', { hasText: /: 9 votes$/ }).waitFor();
  for (const _ of [1, 2]) await page.keyboard.press('ArrowLeft');
  await page.locator('.readout', { hasText: /: no sample$/ }).waitFor();
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
    assertIncludes(reached, name, `${name} of ${reached}`);
  const blocks = await page.locator('pre:has(> code)').count();
  assert.is(reached.filter((name) => name === 'Copy').length, blocks, 'each block of code has one button');
  const hidden = await page.evaluate(`[...document.querySelectorAll('.code-box')].filter((box) => {
    const [button, block] = box.children;
    return button.getBoundingClientRect().bottom > block.getBoundingClientRect().top;
  }).length`);
  assert.is(hidden, 0, 'no button lies over its code');
  await page.getByRole('button', { name: '7 days' }).focus();
  await page.keyboard.press('Enter');
  assert.is(await page.getByRole('button', { name: '7 days' }).getAttribute('aria-pressed'), 'true');
  await page.close();
});

test.run();
