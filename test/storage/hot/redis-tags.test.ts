/**
 * The hash tags of shards: equal shares for a Cluster's primaries, and tags that no later version changes.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newShardCount, oldShardCount, toShard } from '../../../engine/ids.ts';
import { listTags, toTag } from '../../../storage/hot/redis/tags.ts';

const test = suite('hash tags');

const slotCount = 16_384;

/** CRC16 (XMODEM), by which Redis Cluster finds the slot of a hash tag. */
const computeSlot = (text: string): number => {
  let crc = 0;
  for (const byte of Buffer.from(text)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc % slotCount;
};

test('primaries that divide the slots evenly have as equal a number of shards as possible', () => {
  assert.is(computeSlot('foo'), 12_182, 'as CLUSTER KEYSLOT says');
  const slots = listTags(newShardCount).map((tag) => computeSlot(`s${tag}`));
  for (const primaries of [3, 6, 8, 12, 16]) {
    const shares = new Array<number>(primaries).fill(0);
    for (const slot of slots) {
      const owner = Math.floor((slot * primaries) / slotCount);
      shares[owner] = (shares[owner] ?? 0) + 1;
    }
    const part = newShardCount / primaries;
    assert.ok(
      shares.every((share) => share === Math.floor(part) || share === Math.ceil(part)),
      `${primaries} primaries: ${shares}`,
    );
  }
});

test('a shard of an old store is its own tag, and no new store has such a tag', () => {
  const tagsOf = (count: number) => [toTag(toShard(0), count), toTag(toShard(count - 1), count)];
  assert.equal(
    [tagsOf(oldShardCount), tagsOf(newShardCount)],
    [
      [0, 127],
      [185, 738],
    ],
  );
  assert.ok(listTags(newShardCount).every((tag) => tag >= oldShardCount));
  assert.is(new Set(listTags(newShardCount)).size, newShardCount);
});

test.run();
