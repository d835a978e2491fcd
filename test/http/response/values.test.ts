/**
 * Rows as replies show them.
 */
import { Type } from 'typebox';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { showRow } from '../../../http/response/reply.ts';

const test = suite('values');

const Listing = Type.Object({
  id: Type.String(),
  created_at: Type.String(),
  tags: Type.Array(Type.String()),
  votes: Type.Integer(),
  ended_at: Type.Union([Type.String(), Type.Null()]),
});

test('a row shows the fields of its schema, and times as text', () => {
  const row = { id: '1', secret: 'x', created_at: new Date(0), tags: ['fun'], upvotes: 3, ended_at: null };
  assert.equal(showRow(Listing, row, { votes: 2 }), {
    id: '1',
    created_at: '1970-01-01T00:00:00.000Z',
    tags: ['fun'],
    votes: 2,
    ended_at: null,
  });
});

test('a computed value replaces that of the row', () => {
  const row = { id: '1', created_at: new Date(0), tags: [], votes: 1, ended_at: new Date(1) };
  assert.is(showRow(Listing, row, { id: '2' }).id, '2');
});

test.run();
