/**
 * Badges and cards in a real browser (headless Chromium): the text lies inside its field, also long names and
 * text from right to left; text of users is no markup; an `<img>` shows every picture.
 */
import type { Browser, Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { openWorld, type World } from '../../http/api/world.ts';
import { addBot, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { browserPatienceMs, createBrowserSuite, openBrowser } from '../../support/browser.ts';

const test = createBrowserSuite('badges in a browser');
const names: Readonly<Record<string, string>> = {
  plain: 'Lighthouse',
  wide: 'W'.repeat(64),
  long: 'A bot whose name does not come to an end before the card does',
  hebrew: 'הבוט שסופר את כל מה שקורה בשרת שלך ביום ובלילה בלי הפסקה',
  arabic: 'روبوت يعد كل شيء',
  chinese: '数一数服务器里发生的一切并把结果告诉每一位管理员和访客的机器人',
  emoji: '👩‍👩‍👧‍👦🏳️‍🌈'.repeat(12),
  markup: '</text></svg><script>alert(1)</script><img src=x onerror=alert(2)>',
  controls: 'a\u0001b\ufffec\u202ed',
};

let world: World;
let browser: Browser;
let page: Page;
test.before(async () => {
  world = await openWorld();
  const { sql } = world;
  await addUser(sql, 'robin');
  await addTeam(sql, 'team1');
  for (const [id, username] of Object.entries(names)) {
    await addUser(sql, id, { username });
    await sql`update users set display_name = ${username} where id = ${id}`;
    const counted = { clicks: 2 ** 53 - 1, servers: '18446744073709552000', downvotes: 5, status: 'online' };
    await addBot(sql, id, { counted });
  }
  await addServer(sql, 'server1', { team_id: 'team1' });
  browser = await openBrowser();
  page = await browser.newPage();
  page.setDefaultTimeout(browserPatienceMs);
  page.on('dialog', (dialog) => problems.push(`dialog ${dialog.message()}`));
  page.on('console', (line) => problems.push(line.text()));
  page.on('request', (request) => {
    if (!request.url().includes('/badges/')) problems.push(`request of ${request.url()}`);
  });
});
test.after(async () => {
  await browser?.close();
  await world?.close();
});

/** Dialogs, violations of the content security policy and unexpected requests. */
const problems: string[] = [];

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}
interface Shown {
  readonly root: string;
  readonly scripts: number;
  readonly fields: readonly Box[];
  readonly texts: readonly (Box & {
    readonly text: string;
    readonly natural: number;
    readonly given: number;
  })[];
}

/** Runs in the browser; a text, because the project's types have no `document`. */
const readShown = `(() => {
  const toBox = (element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    return { left, right, top, bottom };
  };
  const texts = [...document.querySelectorAll('text')].filter((text) => !text.closest('[aria-hidden]'));
  return {
    root: document.documentElement.nodeName,
    scripts: document.querySelectorAll('script, img, foreignObject').length,
    fields: [...document.querySelectorAll('svg > g > rect, svg > rect')].map(toBox),
    texts: texts.map((text) => {
      const box = toBox(text);
      const given = Number(text.getAttribute('textLength') ?? 0);
      text.removeAttribute('textLength');
      return { ...box, text: text.textContent, natural: text.getComputedTextLength(), given };
    }),
  };
})()`;

/** Opens a picture as a document and reads where everything is; shadows of texts are left out. */
const look = async (path: string): Promise<Shown> => {
  await page.goto(`http://127.0.0.1:${world.port}/badges${path}`);
  return page.evaluate<Shown>(readShown);
};

const isInside = (inner: Box, outer: Box): boolean =>
  inner.left >= outer.left - 0.5 &&
  inner.right <= outer.right + 0.5 &&
  inner.top >= outer.top - 1 &&
  inner.bottom <= outer.bottom + 1;

const labels = ['votes', 'x'.repeat(32), 'W'.repeat(32), ...Object.values(names)].map((text) =>
  [...text].slice(0, 32).join(''),
);

for (const style of ['flat', 'flat-square', 'for-the-badge']) {
  test(`${style}: every text lies in its field, with room`, async () => {
    for (const label of labels) {
      const query = `style=${style}&label=${encodeURIComponent(label)}`;
      const { root, scripts, fields, texts } = await look(`/bots/plain/servers.svg?${query}`);

      assert.equal([root, scripts, texts.length], ['svg', 0, 2], label);
      for (const [index, text] of texts.entries()) {
        assert.ok(isInside(text, fields[index] as Box), `${label}: ${JSON.stringify([text, fields])}`);
        // The width is known for Verdana; other fonts are squeezed a little, not crushed.
        const isLatin = /^[\x20-\x7e]*$/.test(text.text);
        if (isLatin) assert.ok(text.natural <= text.given * 1.2, `${text.text}: ${JSON.stringify(text)}`);
      }
    }
    assert.equal(problems, []);
  });
}

test('every text of a card lies on the card and covers no other, also long names', async () => {
  for (const path of [...Object.keys(names).map((id) => `/bots/${id}`), '/servers/server1', '/teams/team1']) {
    const { root, scripts, fields, texts } = await look(`${path}/card.svg`);
    const [card] = fields as [Box];

    assert.equal([root, scripts, fields.length], ['svg', 0, 1], path);
    for (const text of texts) assert.ok(isInside(text, card), `${path}: ${JSON.stringify(text)}`);
    for (const one of texts) {
      for (const other of texts) {
        const apart = one.right <= other.left || other.right <= one.left;
        const above = one.bottom <= other.top + 5 || other.bottom <= one.top + 5;
        assert.ok(one === other || apart || above, `${path}: ${one.text} covers ${other.text}`);
      }
    }
  }
  assert.equal(problems, []);
});

test('an img of another page shows every picture', async () => {
  const paths = Object.keys(names).flatMap((id) => [`bots/${id}/card.svg`, `bots/${id}/status.svg`]);
  const urls = paths.map((path) => `http://127.0.0.1:${world.port}/badges/${path}`);
  const body = `<!doctype html>${urls.map((url) => `<img src="${url}" alt="">`).join('\n')}`;
  await page.route('http://localhost/badges/', (route) => route.fulfill({ contentType: 'text/html', body }));
  await page.goto('http://localhost/badges/');
  await page.waitForFunction('[...document.images].every((image) => image.complete)');
  const widths = await page.evaluate<number[]>('[...document.images].map((image) => image.naturalWidth)');

  assert.ok(
    widths.every((width) => width > 50),
    JSON.stringify(widths),
  );
  assert.equal(problems, []);
});

test.run();
