/**
 * Texts are rendered in a thread: each once, in a queue with a bound, and a thread that ends loses none.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findRenderedText } from '../../../http/markdown/rendered-texts.ts';

const test = suite('rendered texts');

test('a text is rendered once, however many wait, and is kept', async () => {
  const first = findRenderedText('**a**');
  const second = findRenderedText('**a**');

  assert.instance(first, Promise);
  assert.is(first, second);
  const rendered = await first;
  assert.equal(rendered, { html: '<p><strong>a</strong></p>\n', isCut: false });
  assert.is(findRenderedText('**a**'), rendered);
});

test('at most 64 wait: above that, a request is refused, and later ones are served again', async () => {
  const waiting = Array.from({ length: 64 }, (_, index) => findRenderedText(`text ${index}`));
  assert.throws(
    () => findRenderedText('one more'),
    (error: { code?: string }) => error.code === 'overloaded',
  );
  const all = await Promise.all(waiting);

  assert.is(all[63]?.html, '<p>text 63</p>\n');
  assert.is((await findRenderedText('one more')).html, '<p>one more</p>\n');
});

test.run();
