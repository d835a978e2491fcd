/**
 * Bodies in pieces: they come together unchanged, hold about twice what was sent, and give it back.
 */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { OpenBody, openBodiesBytesMax } from '../../../http/server/open-body.ts';

const test = suite('open body');
const pieceOf = (bytes: number): ArrayBuffer => new Uint8Array(bytes).buffer;

test('any pieces come together as they came, and hold at most twice as much and 4 KiB', () => {
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

test('a piece is copied: what the sender does with it later changes nothing', () => {
  const body = new OpenBody({ bytes: 0 });
  const piece = Buffer.alloc(3, 'a');
  const sent = piece.buffer.slice(piece.byteOffset, piece.byteOffset + 3);
  body.add(sent);

  new Uint8Array(sent).fill(0);

  assert.is(body.whole().toString(), 'aaa');
});

test('bodies that would hold more than the bound together are refused until others are given back', () => {
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
