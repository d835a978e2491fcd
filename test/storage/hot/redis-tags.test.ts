/**
 * The hash tags of shards: equal shares for a Cluster's primaries, and a tag of its own for each shard.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { shardsTotal } from '../../../engine/ids.ts';
import { tags } from '../../../storage/hot/redis/tags.ts';

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
  const slots = tags.map((tag) => computeSlot(`s${tag}`));
  for (const primaries of [3, 6, 8, 12, 16]) {
    const shares = new Array<number>(primaries).fill(0);
    for (const slot of slots) {
      const owner = Math.floor((slot * primaries) / slotCount);
      shares[owner] = (shares[owner] ?? 0) + 1;
    }
    const part = shardsTotal / primaries;
    assert.ok(
      shares.every((share) => share === Math.floor(part) || share === Math.ceil(part)),
      `${primaries} primaries: ${shares}`,
    );
  }
});

test('each shard has a tag of its own', () => {
  assert.is(new Set(tags).size, shardsTotal);
});

test.run();
