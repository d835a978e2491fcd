/**
 * The operator's page in a real browser (headless Chromium): what operators do there, clients see; what users
 * wrote stays text; a stream that is cut comes back; every screen is usable on a phone, by keys and in the
 * dark. A report of the content security policy fails any test.
 */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { assertIncludes } from '../../support/assert-includes.ts';
import { listViolations } from '../../support/browser.ts';
import { until } from '../../support/until.ts';
import {
  listPending,
  openPage,
  operate,
  readCommandStart,
  reader,
  readPublic,
  robin,
  test,
  world,
  wren,
} from './http-operator-page.ts';
import { listFlaws } from './page-flaws.ts';

const hostile = '<img src=x onerror=alert(1)>';
/** Screens, and what shows that one has its data. */
const screens = {
  now: '.group',
  'find/a': 'table',
  queue: '.detail h2, .none',
  votes: 'table',
  'people/': 'table',
  troubles: 'table',
  audit: 'table',
  all: '.forms',
} as const;

test('without a token there is no data; the tab keeps a right one, and a wrong one is refused', async () => {
  const { page, end } = await openPage('');
  assert.not.match((await page.locator('body').textContent()) ?? '', /ready|queue/i);
  await page.getByLabel("The operator's token").fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByText('This is not the token of an operator.').waitFor();
  await page.getByLabel("The operator's token").fill(robin);
  await page.keyboard.press('Enter');
  await page.locator('.operator', { hasText: 'robin' }).waitFor();
  await page.reload();
  await page.locator('.operator', { hasText: 'robin' }).waitFor();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel("The operator's token").waitFor();
  assert.is(await page.evaluate('sessionStorage.length'), 0);
  await end();
});

test('the page paints without a token', async () => {
  const times: number[] = [];
  for (let count = 0; count < 5; count++) {
    const { page, end } = await openPage('');
    await page.getByLabel("The operator's token").waitFor();
    const paint = await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`);
    times.push(Math.round(Number(paint)));
    await end();
  }
  // A time that a busy machine makes longer is a figure, not a claim.
  console.log(
    `figures: first paint, five times: ${times.toSorted((one, other) => one - other).join(' ')} ms`,
  );
});

test('Now follows what clients do, and the stream comes back when it was cut', async () => {
  const { page, end } = await openPage(robin);
  await page.getByText('· ready').waitFor();
  await until('the page shows a request', async () => {
    await readPublic(`/bots/${world.demo.bot.id}`);
    return page.getByRole('cell', { name: 'getBot', exact: true }).isVisible();
  });

  world.node.signal('SIGSTOP');
  await page.getByText('no connection').waitFor();
  world.node.signal('SIGCONT');
  await page.getByText('· ready').waitFor();
  await page.getByText('The figures below are old').waitFor({ state: 'detached' });
  await end();
});

test('a bot that is approved by a key is listed at the public port; undo takes it back before', async () => {
  const [bot] = await listPending();
  const { page, end } = await openPage(robin, 'queue');
  const heading = page.getByRole('heading', { name: bot?.name ?? '', exact: true });
  await heading.waitFor();

  await page.keyboard.press('d');
  await page.getByText('A denial needs a reason').waitFor();
  await page.keyboard.type('Its invite leads nowhere.');
  await page.keyboard.press('Tab');
  await page.keyboard.press('d');
  await page.getByText(/^denied in/).waitFor();
  await page.keyboard.press('u');
  await page.getByText(/^denied in/).waitFor({ state: 'detached' });
  await heading.waitFor();
  assert.is(await page.getByLabel('Note to the owner').inputValue(), 'Its invite leads nowhere.');
  await page.getByLabel('Note to the owner').fill('Works as described.');
  await page.keyboard.press('Tab');
  await page.keyboard.press('a');
  await page.getByText(`${bot?.name}: bot ${bot?.bot_id} is approved.`).waitFor();

  const { type, approval_note } = (await readPublic(`/bots/${bot?.bot_id}`)).json;
  assert.equal([type, approval_note], ['approved', 'Works as described.']);
  const entries = (await operate('GET', '/audit')).entries as { operation: string; operator: string }[];
  assert.equal([entries[0]?.operation, entries[0]?.operator], ['bots approve', 'robin']);
  assert.not.ok(entries.some(({ operation }) => operation === 'bots deny'));
  await end();
});

test('two operators decide on one bot: the second one learns it, and changes nothing', async () => {
  const [bot] = await listPending();
  const first = await openPage(robin, 'queue');
  const second = await openPage(wren, 'queue');
  for (const { page } of [first, second])
    await page.getByRole('heading', { name: bot?.name ?? '', exact: true }).waitFor();

  await first.page.keyboard.press('a');
  await until('a second between the two', async () =>
    first.page.getByText(/^approved in [1-9] s/).isVisible(),
  );
  await second.page.getByLabel('Note to the owner').fill('No.');
  await second.page.keyboard.press('Tab');
  await second.page.keyboard.press('d');
  await first.page.getByText(`${bot?.name}: bot ${bot?.bot_id} is approved.`).waitFor();
  await second.page.getByText('another operator was faster').waitFor();

  assert.is((await readPublic(`/bots/${bot?.bot_id}`)).json.type, 'approved');
  await first.end();
  await second.end();
});

test('the queue shows all that is reviewed, and its links tell nothing about the page', async () => {
  const { id } = world.demo.bot;
  await operate('POST', `/bots/${id}/pend`, {});
  const bot = await operate('GET', `/bots/${id}`);
  const { page, end } = await openPage(robin, 'queue');
  const detail = page.locator('.detail');
  await detail.getByRole('heading', { name: String(bot.name), exact: true }).waitFor();
  const shown = await detail.innerText();
  for (const field of ['owner_name', 'short', 'long', 'invite', 'library', 'prefix'])
    assertIncludes(shown.replaceAll(/\s+/g, ' '), String(bot[field]).trim().replaceAll(/\s+/g, ' '), field);

  const invite = detail.getByRole('link', { name: String(bot.invite) });
  assert.equal(
    [await invite.getAttribute('rel'), await invite.getAttribute('target')],
    ['noopener noreferrer nofollow', '_blank'],
  );
  await end();
  await operate('POST', `/bots/${id}/approve`, {});
});

test('names of users stay text on every screen that shows them', async () => {
  const id = '100000000000000001'; // The list begins with it.
  await operate('PUT', `/users/${id}`, { username: hostile, display_name: `"'>${hostile}` });
  for (const place of [`find/${id}`, `user/${id}`, 'people/']) {
    const { page, end } = await openPage(robin, place);
    await page.getByText(hostile).first().waitFor();
    assert.is(await page.locator('img').count(), 0, place);
    await end();
  }
});

test('an itag leads to its listing', async () => {
  const { id } = world.demo.bot;
  const { itag } = (await readPublic(`/bots/${id}`)).json;
  const { page, end } = await openPage(robin, `find/${itag}`);

  await page.getByText('has this itag').waitFor();
  await page.getByRole('link', { name: `bot ${id}` }).click();
  await page.locator('.facts').getByText(id, { exact: true }).first().waitFor();
  await end();
});

test('votes by user and listing say why they are void, and one is voided from its row', async () => {
  const { user, bot } = world.demo;
  const voted = await fetch(`${world.node.url}/users/${user.id}/bots/${bot.id}/votes?upvote=true`, {
    method: 'PUT',
    headers: { 'user-auth': user.token },
  });
  assertIncludes([204, 429], voted.status, String(voted.status));
  const filter = new URLSearchParams({ target_type: 'bot', target_id: bot.id, user: user.id });
  await until('the vote is in SQL', async () =>
    ((await operate('GET', `/votes?${filter}`)).votes as readonly { void: boolean }[]).some(
      (vote) => !vote.void,
    ),
  );
  const { page, end } = await openPage(robin, `user/${user.id}`);
  await page.getByRole('link', { name: 'Votes', exact: true }).last().click();
  await page.getByLabel('Listing: its kind').selectOption('bot');
  await page.getByLabel('Listing: its id').fill(bot.id);
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByRole('button', { name: 'Void', exact: true }).first().waitFor();
  const before = await page.getByRole('button', { name: 'Void', exact: true }).count();
  await page.getByRole('button', { name: 'Void', exact: true }).first().click();
  await page.getByRole('dialog').getByText(`of user ${user.id} on bot ${bot.id}`).waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Go on' }).click();
  await page.getByRole('cell', { name: 'operator', exact: true }).first().waitFor();

  assert.is(await page.getByRole('button', { name: 'Void', exact: true }).count(), before - 1);
  await end();
});

test('a token is revoked from its row; a token that may only read cannot', async () => {
  const bot = world.demo.bot.id;
  const issued = await operate('POST', `/bot/${bot}/tokens`, { name: 'leaked' });
  const headers = { 'bot-auth': String(issued.token) };
  const readIt = async () => (await readPublic(`/bots/${bot}/sessions`, headers)).status;
  assert.is(await readIt(), 200);
  const reading = await openPage(reader, `bot/${bot}`);
  const row = (page: Page) => page.getByRole('row').filter({ hasText: 'leaked' });
  assert.ok(await row(reading.page).getByRole('button', { name: 'Revoke' }).isDisabled());
  await reading.end();

  const { page, end } = await openPage(robin, `bot/${bot}`);
  await row(page).getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByText('"leaked"').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Go on' }).click();
  await row(page).waitFor({ state: 'detached' });

  await until('the token is refused', async () => (await readIt()) === 401);
  await end();
});

test('a ban says what it ends, asks, and the token is dead', async () => {
  const headers = { 'user-auth': world.demo.user.token };
  const path = `/users/${world.demo.user.id}/notifications`;
  assert.is((await readPublic(path, headers)).status, 200);
  const { page, end } = await openPage(robin, `user/${world.demo.user.id}`);

  await page.locator('summary', { hasText: /^users ban/ }).click();
  await page.getByText(`${await readCommandStart()} users ban ${world.demo.user.id}`).waitFor();
  await page.getByRole('button', { name: 'users ban', exact: true }).click();
  await page
    .getByRole('dialog')
    .getByText(/1 token of theirs stop/)
    .waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  assert.is((await readPublic(path, headers)).status, 200);
  await page.getByRole('button', { name: 'users ban', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Go on' }).click();
  await page.getByText(`User ${world.demo.user.id} is banned.`).waitFor();

  assert.is((await readPublic(path, headers)).status, 403);
  await end();
});

test('Enter changes nothing, `?` lists the keys, and the tab under the pointer is readable', async () => {
  const countBans = async () => (await operate('GET', '/audit?operation=users%20ban')).total;
  const bans = await countBans();
  const { page, end } = await openPage(robin, `user/${world.demo.user.id}`);
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).getByText('take the newest decision back').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('summary', { hasText: /^users ban/ }).click();
  await page.getByRole('button', { name: 'users ban', exact: true }).click();
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.is(await countBans(), bans);

  const before = await page.locator('header nav').boundingBox();
  await page.getByRole('link', { name: 'Now' }).click();
  await page.getByText('· ready').waitFor();
  assert.equal(await page.evaluate(listFlaws), []);
  const after = await page.locator('header nav').boundingBox();
  assert.equal([after?.x, after?.y], [before?.x, before?.y]);
  await end();
});

test('a token that is shown once can be copied, and a field can say no', async () => {
  const { page, end } = await openPage(robin, `bot/${world.demo.bot.id}`);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.locator('summary', { hasText: /^tokens issue/ }).waitFor();
  await page.evaluate(`location.hash = '#all'`);
  await page.locator('summary', { hasText: /^tokens issue/ }).click();
  const form = page.locator('form:visible');
  await form.getByLabel('target type').selectOption('bot');
  await form.getByLabel('target id').fill(world.demo.bot.id);
  await form.getByRole('button', { name: 'tokens issue' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Go on' }).click();
  await page.getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  assert.match(String(await page.evaluate('navigator.clipboard.readText()')), /^rc_bot_/);

  await page.locator('summary', { hasText: /^servers put/ }).click();
  const edit = page.locator('details', { has: page.locator('summary', { hasText: /^servers put/ }) });
  await edit.locator('select').filter({ hasText: 'yes' }).first().selectOption('no');
  await edit.locator('.command', { hasText: / --no-/ }).waitFor();
  await end();
});

test('long names fit', async () => {
  const { id } = world.demo.user;
  const before = await operate('GET', `/users/${id}`);
  await operate('PUT', `/users/${id}`, { username: 'w'.repeat(64), display_name: 'w'.repeat(64) });
  const { page, end } = await openPage(robin, `user/${id}`, 360);
  await page.getByRole('heading', { name: 'w'.repeat(64) }).waitFor();
  assert.equal(await page.evaluate(listFlaws), []);
  await operate('PUT', `/users/${id}`, { username: before.username, display_name: before.display_name });
  await end();
});

test('the audit log is filtered, and saved whole as JSON lines', async () => {
  for (let count = 0; count < 60; count++) await operate('PUT', `/users/${world.demo.user.id}/vote-ban`);
  await operate('DELETE', `/users/${world.demo.user.id}/vote-ban`);
  const { page, end } = await openPage(robin, 'audit');
  await page.getByLabel('Command, or its first word').fill('users vote-ban');
  await page.keyboard.press('Enter');
  await page.getByText('60 in all').waitFor();
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export' }).click();
  const lines = readFileSync(await (await saved).path(), 'utf8')
    .trim()
    .split('\n');

  assert.is(lines.length, 60);
  assert.equal(
    lines.filter((line) => JSON.parse(line).operation !== 'users vote-ban'),
    [],
  );
  await end();
});

test('a token that may only read sees everything and can press nothing that changes', async () => {
  const { page, end } = await openPage(reader, `user/${world.demo.user.id}`);
  await page.getByText('may only read').first().waitFor();
  const summaries = page.locator('.forms summary');
  for (let at = 0; at < (await summaries.count()); at++) await summaries.nth(at).click();
  const buttons = page.locator('.forms button');

  assert.ok((await buttons.count()) > 3);
  for (let at = 0; at < (await buttons.count()); at++) assert.ok(await buttons.nth(at).isDisabled());
  await end();
});

test('a form of every operation is drawn and shows its command', async () => {
  const { page, end } = await openPage(robin, 'all');
  const summaries = page.locator('.forms summary');
  await summaries.first().waitFor();
  for (let at = 0; at < (await summaries.count()); at++) await summaries.nth(at).click();
  const { operations } = (await operate('GET', '/page/operations')) as { operations: { command: string }[] };
  const shown = await page.locator('.command').allInnerTexts();

  const start = await readCommandStart();
  for (const { command } of operations) {
    assert.ok(
      shown.some((text) => text.startsWith(`${start} ${command}`)),
      command,
    );
  }
  await end();
});

for (const [width, dark] of [
  [360, true],
  [360, false],
  [1_280, true],
  [1_280, false],
] as const) {
  const scheme = dark ? 'dark' : 'light';
  test(`every screen at ${width} px, ${scheme}: no overflow, contrast, labels`, async () => {
    const { page, end } = await openPage(robin, '', width, dark);
    const entities = { [`bot/${world.demo.bot.id}`]: '.facts', [`user/${world.demo.user.id}`]: '.facts' };
    for (const [screen, sign] of Object.entries({ ...screens, ...entities })) {
      await page.evaluate(`location.hash = '#${screen}'`);
      await page.locator(sign).first().waitFor();
      const first = page.locator('.forms summary').first();
      if (await first.isVisible()) await first.click();
      assert.equal(await page.evaluate(listFlaws), [], screen);
      assert.equal(await listViolations(page), [], screen);
    }
    await end();
  });
}

test.run();
