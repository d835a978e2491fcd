/**
 * The bytes of a text with two counters, compared with the text joined again.
 */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CounterText } from '../../../http/api/bots/bot-json.ts';

const test = suite('a text with counters');

/** Counters of all lengths, and both sides of each power of ten. */
const counters = fc.oneof(
  fc.nat(12),
  fc.nat({ max: Number.MAX_SAFE_INTEGER }),
  fc.tuple(fc.nat(15), fc.constantFrom(-1, 0)).map(([length, off]) => 10 ** length + off),
);

test('whatever was written before, the bytes are the text with its counters', () => {
  const texts = fc.tuple(fc.string({ unit: 'grapheme' }), fc.string(), fc.string({ unit: 'grapheme' }));
  fc.assert(
    fc.property(texts, fc.array(fc.tuple(counters, counters)), ([before, between, after], pairs) => {
      const text = new CounterText(before, between, after);
      for (const [first, second] of [[0, 0] as const, ...pairs])
        assert.is(String(text.write(first, second)), before + first + between + second + after);
    }),
  );
});

test('bytes of another length are a new buffer: a reply that waits keeps its end', () => {
  const text = new CounterText('{"clicks":', ',"unique_clicks":', '}');
  const waiting = text.write(9, 9);

  text.write(10, 9);

  assert.is(String(waiting), '{"clicks":9,"unique_clicks":9}');
});

test.run();
