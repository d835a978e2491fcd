/**
 * The ids of votes: UUIDs of version 7, all different over many draws of random bytes.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createVoteIds } from '../../ops/vote-ids.ts';

const test = suite('vote ids');

test('ids are UUIDs of version 7, all different over several draws and sources', () => {
  const sources = [createVoteIds(), createVoteIds()];
  const ids = Array.from({ length: 2_000 }, (_, index) => (sources[index % 2] as () => string)());

  assert.is(new Set(ids).size, ids.length);
  for (const id of ids) {
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
});

test('consecutive ids share no random part', () => {
  const newId = createVoteIds();

  const random = Array.from({ length: 600 }, () => newId().slice(-12));

  assert.is(new Set(random).size, random.length);
});

test.run();
