/**
 * Bodies in chunks: they are joined unchanged, take about twice the memory that was sent, and release it.
 */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { OpenBody, openBodiesBytesMax } from '../../http/open-body.ts';

const test = suite('open body');
const pieceOf = (bytes: number): ArrayBuffer => new Uint8Array(bytes).buffer;

test('any chunks are joined unchanged, and take at most twice their size and 4 KiB', () => {
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

test('a chunk is copied: the sender can change it later without effect', () => {
  const body = new OpenBody({ bytes: 0 });
  const piece = Buffer.alloc(3, 'a');
  const sent = piece.buffer.slice(piece.byteOffset, piece.byteOffset + 3);
  body.add(sent);

  new Uint8Array(sent).fill(0);

  assert.is(body.whole().toString(), 'aaa');
});

test('bodies beyond the common limit are refused until the memory of others is released', () => {
  const open = { bytes: 0 };
  const large = new OpenBody(open);
  const other = new OpenBody(open);
  assert.ok(large.add(pieceOf(openBodiesBytesMax - 4_096)));
  assert.ok(other.add(pieceOf(4_096)));
  assert.not(other.add(pieceOf(1)));
  assert.is(open.bytes, openBodiesBytesMax);

  large.drop();

  assert.ok(other.add(pieceOf(1)));
  other.drop();
  assert.is(open.bytes, 0);
});

test.run();
