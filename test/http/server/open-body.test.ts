/**
 * Bodies in chunks: they are joined unchanged, take about twice the memory of what was sent, and release it.
 */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { OpenBody, openBodiesBytesMax } from '../../../http/server/open-body.ts';

const test = suite('open body');
const createChunk = (bytes: number): ArrayBuffer => new Uint8Array(bytes).buffer;

test('any chunks are joined unchanged, and take at most twice their size plus 4 KiB', () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 9_000 }), { maxLength: 30 });
  fc.assert(
    fc.property(pieces, (all) => {
      const open = { bytes: 0 };
      const body = new OpenBody(open);
      let sent = 0;
      for (const piece of all) {
        assert.ok(body.add(piece.slice().buffer));
        sent += piece.byteLength;
        assert.ok(open.bytes <= 2 * sent + 4_096, `${open.bytes} for ${sent}`);
      }

      assert.ok(body.whole().equals(Buffer.concat(all)));
      body.drop();
      body.drop();
      assert.is(open.bytes, 0);
    }),
  );
});

test('a chunk is copied: later changes of its buffer have no effect', () => {
  const body = new OpenBody({ bytes: 0 });
  const piece = Buffer.alloc(3, 'a');
  const sent = piece.buffer.slice(piece.byteOffset, piece.byteOffset + 3);
  body.add(sent);

  new Uint8Array(sent).fill(0);

  assert.is(body.whole().toString(), 'aaa');
});

test('bodies above the bound together are rejected until others are released', () => {
  const open = { bytes: 0 };
  const large = new OpenBody(open);
  const other = new OpenBody(open);
  assert.ok(large.add(createChunk(openBodiesBytesMax - 4_096)));
  assert.ok(other.add(createChunk(4_096)));
  assert.not(other.add(createChunk(1)));
  assert.is(open.bytes, openBodiesBytesMax);

  large.drop();

  assert.ok(other.add(createChunk(1)));
  other.drop();
  assert.is(open.bytes, 0);
});

test.run();
