/**
 * Shard assignment: each shard has one flusher among nodes that agree on the list of active nodes, and only
 * the shards of a node that joins or leaves move.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assignShards } from '../../../engine/flush/shard-assignment.ts';
import { newShardCount, oldShardCount } from '../../../engine/ids.ts';

const test = suite('shard assignment');

const nodes = ['host-a.0c1f', 'host-a.77de', 'host-b.1234', 'host-c.9f00'];
const ownersOf = (active: readonly string[], shardCount = newShardCount): string[] => {
  const owners: string[] = [];
  for (const node of active) {
    for (const shard of assignShards(node, active, shardCount) ?? []) {
      assert.is(owners[shard], undefined, `shard ${shard} has one owner`);
      owners[shard] = node;
    }
  }
  return owners;
};

test('a node alone flushes everything', () => {
  assert.is(assignShards('one', [], newShardCount), null);
  assert.is(assignShards('one', ['one'], newShardCount), null);
});

test('every shard has exactly one flusher, and of many shards no node has much more than its part', () => {
  for (const count of [2, 3, 4]) {
    assert.is(ownersOf(nodes.slice(0, count)).filter(Boolean).length, newShardCount);
  }
  const shardCount = oldShardCount;
  for (const count of [2, 3, 4]) {
    const owners = ownersOf(nodes.slice(0, count), shardCount);
    assert.is(owners.filter((owner) => owner !== undefined).length, shardCount);
    for (const node of nodes.slice(0, count)) {
      const part = owners.filter((owner) => owner === node).length;
      assert.ok(part > shardCount / count / 2 && part < (shardCount / count) * 1.6, `${node} has ${part}`);
    }
  }
});

test('when a node goes only its shards move', () => {
  const before = ownersOf(nodes);
  const after = ownersOf(nodes.slice(1));
  for (let shard = 0; shard < newShardCount; shard++) {
    if (before[shard] !== nodes[0]) assert.is(after[shard], before[shard]);
  }
});

test('a node that is not on the list yet counts itself in', () => {
  assert.equal(
    assignShards('host-b.1234', ['host-a.0c1f'], newShardCount),
    assignShards('host-b.1234', ['host-a.0c1f', 'host-b.1234'], newShardCount),
  );
});

test.run();
