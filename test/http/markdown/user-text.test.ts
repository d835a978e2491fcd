/**
 * Markdown of users: what it becomes, and that no text takes more than the counted steps and bytes. How long
 * that takes is measured in faults/cases/http-texts.fault.ts.
 */
import { globSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import { renderUserText, textLimits } from '../../../http/markdown/user-text.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { drawText, hostileTexts, prose, textLengthMax } from './hostile-texts.ts';

const test = suite('Markdown of users');
const link = (url: string, text: string): string =>
  `<a href="${url}" rel="nofollow ugc noopener">${text}</a>`;

test('addresses of https, http and mailto become links, in each notation; others do not', () => {
  const { html, isCut } = renderUserText(
    'https://a.b/c mailto:d@e.fr <https://g.h> <i@j.k> [l](http://m.n) ![o](https://p.q)\n\n' +
      'http://r.st/u. [v] //w.xy/z ftp://a.bc javascript:d()\n\n[v]: https://e.f',
  );

  assert.is(isCut, false);
  assert.is(
    html,
    `<p>${link('https://a.b/c', 'https://a.b/c')} ${link('mailto:d@e.fr', 'mailto:d@e.fr')} ` +
      `${link('https://g.h', 'https://g.h')} ${link('mailto:i@j.k', 'i@j.k')} ${link('http://m.n', 'l')} ` +
      `!${link('https://p.q', 'o')}</p>\n<p>${link('http://r.st/u', 'http://r.st/u')}. ` +
      `${link('https://e.f', 'v')} //w.xy/z ftp://a.bc javascript:d()</p>\n`,
  );
});

test('prose and the guides, which are long and rich, are shown as a whole', () => {
  assert.is(renderUserText(prose).isCut, false);
  const guides = globSync(new URL('../../../docs/**/*.md', import.meta.url).pathname);
  assert.ok(guides.length > 3);
  for (const guide of guides) {
    const { isCut, steps } = renderUserText(readFileSync(guide, 'utf8').slice(0, textLengthMax));
    assert.is(isCut, false, `${guide}: ${steps}`);
  }
});

const assertBounded = (name: string, text: string): void => {
  const { html, steps, isCut } = renderUserText(text);
  assert.ok(steps <= textLimits.steps, `${name}: ${steps} steps`);
  assert.ok(Buffer.byteLength(html) <= textLimits.bytes, `${name}: ${Buffer.byteLength(html)} bytes`);
  if (steps === textLimits.steps) assert.ok(isCut, name);
};

test('no known text takes more steps or prints more than the bounds', () => {
  assert.is(textLimits.steps, 12_000);
  assert.is(textLimits.bytes, 450_000);
  for (const [name, text] of Object.entries(hostileTexts)) assertBounded(name, text);
});

test('nor does a text that is drawn', () => {
  const random = createRandom(51);
  for (let index = 0; index < 40; index++) {
    const text = drawText(random);
    assertBounded(JSON.stringify(text.slice(0, 80)), text);
  }
});

const count = (text: string, part: string | RegExp): number => text.split(part).length - 1;

test('a text that needs more is Markdown up to there, and then plain text with its lines', () => {
  const table = hostileTexts['a table of short rows'] ?? '';

  const { html, isCut } = renderUserText(`# Title\n\n**bold**\n\n${table}`);

  assert.ok(isCut);
  assertIncludes(html, '<h3>Title</h3>\n<p><strong>bold</strong></p>\n<p>a|a|');
  assert.is(count(html, /\bb<br>/), count(table, /\bb\n/));
});

test('blocks that lie too deep are plain lines, and what follows them is Markdown', () => {
  const { html, isCut } = renderUserText(`${'- '.repeat(30)}deep\n\n**after**\n`);

  assert.ok(isCut);
  assert.match(html, /<p>(- ){10,}- deep<\/p>/);
  assertIncludes(html, '<p><strong>after</strong></p>');
  assert.is(renderUserText(`${'- '.repeat(8)}deep\n`).isCut, false);
});

test('links are bounded in number, length and in what references repeat; their words stay', () => {
  const many = renderUserText('<https://word>\n'.repeat(1_200));
  const long = renderUserText(`[word](https://a.b/${'c'.repeat(2_100)}) [other](https://a.b)`);
  const again = renderUserText(hostileTexts['a reference used again and again'] ?? '');

  assert.is(count(many.html, '<a '), textLimits.links);
  assert.is(count(many.html, /[>;]https:..word[<&]/), 1_200);
  assert.ok(many.isCut);
  assert.is(count(long.html, '<a '), 1);
  assertIncludes(long.html, '[word](https://a.b/ccc');
  assert.ok(Buffer.byteLength(again.html) < 130_000);
  assert.ok(again.isCut);
});

test('a paragraph that needs more is plain, and so are those after it', () => {
  const { html, isCut } = renderUserText(`*a* ok\n\n${'*_'.repeat(20_000)}\n\n*b*\n`);

  assert.ok(isCut);
  assertIncludes(html, '<p><em>a</em> ok</p>\n<p>*_*_');
  assertIncludes(html, '<p>*b*</p>');
});

test('markup in what is plain stays text', () => {
  const { html } = renderUserText(`${'*_'.repeat(20_000)}<script>"x"&\n`);

  assertIncludes(html, '&lt;script&gt;&quot;x&quot;&amp;');
});

test.run();
