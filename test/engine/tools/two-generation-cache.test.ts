/**
 * The two-generation cache: what stays, what goes, and that an old value never comes back.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createTwoGenerationCache } from '../../../engine/tools/two-generation-cache.ts';

const test = suite('two-generation cache');

test('an entry stays until as many others are used as promised, and is gone after twice as many', () => {
  const recent = createTwoGenerationCache<number>(3);
  recent.set('a', 1);

  recent.set('b', 2);
  recent.set('c', 3);
  recent.set('d', 4);
  assert.is(recent.get('b'), 2);
  for (const key of ['e', 'f', 'g', 'h', 'i', 'j']) recent.set(key, 0);

  assert.is(recent.get('a'), undefined);
  assert.is(recent.get('b'), undefined);
  assert.is(recent.get('j'), 0);
});

test('a used entry stays, however many others come', () => {
  const recent = createTwoGenerationCache<number>(3);
  recent.set('used', 1);

  for (let other = 0; other < 50; other++) {
    recent.set(`other ${other}`, other);
    assert.is(recent.get('used'), 1);
  }
});

test('a value that is set again hides the old one, also after many others', () => {
  const recent = createTwoGenerationCache<number>(2);
  recent.set('a', 1);
  recent.set('b', 1);
  recent.set('c', 1);
  recent.set('a', 2);

  recent.set('d', 1);

  assert.is(recent.get('a'), 2);
});

test('a deleted or cleared entry is gone from both maps', () => {
  const recent = createTwoGenerationCache<number>(2);
  for (const key of ['a', 'b', 'c']) recent.set(key, 1);

  recent.delete('a');
  recent.delete('c');
  assert.equal(['a', 'b', 'c'].map(recent.get), [undefined, 1, undefined]);

  recent.clear();
  assert.is(recent.get('b'), undefined);
});

test.run();
