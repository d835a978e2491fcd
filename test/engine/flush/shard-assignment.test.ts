/**
 * Shard assignment: each shard has one flusher among nodes that agree on the list of active nodes, and only
 * the shards of a node that joins or leaves move.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assignShards } from '../../../engine/flush/shard-assignment.ts';
import { shardsTotal } from '../../../engine/ids.ts';

const test = suite('shard assignment');

const nodes = ['host-a.0c1f', 'host-a.77de', 'host-b.1234', 'host-c.9f00'];
const ownersOf = (active: readonly string[]): string[] => {
  const owners: string[] = [];
  for (const node of active) {
    for (const shard of assignShards(node, active) ?? []) {
      assert.is(owners[shard], undefined, `shard ${shard} has one owner`);
      owners[shard] = node;
    }
  }
  return owners;
};

test('a node alone flushes everything', () => {
  assert.is(assignShards('one', []), null);
  assert.is(assignShards('one', ['one']), null);
});

test('every shard has exactly one flusher', () => {
  for (const count of [2, 3, 4]) {
    assert.is(ownersOf(nodes.slice(0, count)).filter(Boolean).length, shardsTotal);
  }
});

test('when a node goes only its shards move', () => {
  const before = ownersOf(nodes);
  const after = ownersOf(nodes.slice(1));
  for (let shard = 0; shard < shardsTotal; shard++) {
    if (before[shard] !== nodes[0]) assert.is(after[shard], before[shard]);
  }
});

test('a node that is not on the list yet counts itself in', () => {
  assert.equal(
    assignShards('host-b.1234', ['host-a.0c1f']),
    assignShards('host-b.1234', ['host-a.0c1f', 'host-b.1234']),
  );
});

test.run();
