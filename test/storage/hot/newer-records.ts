/**
 * Records of a newer program in Redis: a first array with one value more than this one knows.
 */
import type { Cluster, Redis } from 'ioredis';
import { Packr } from 'msgpackr';
import type { EntityRef } from '../../../engine/ids.ts';
import { firstLength } from '../../../storage/hot/redis/slot-layout.ts';
import { toTag } from '../../../storage/hot/redis/tags.ts';
import type { OpenedStore } from './examples.ts';

const record = new Packr().pack(Array(firstLength + 1).fill(7));

export const createNewerRecords = (
  connect: () => Redis | Cluster,
  prefix: string,
): OpenedStore['newerRecords'] => {
  const use = async <Result>(
    { shard }: EntityRef,
    task: (redis: Redis | Cluster, key: string) => Promise<Result>,
  ): Promise<Result> => {
    const redis = connect();
    const result = await task(redis, `${prefix}{s${toTag(shard)}}:e`);
    redis.disconnect();
    return result;
  };
  return {
    write: (ref) => use(ref, async (redis, key) => void (await redis.hset(key, ref.address, record))),
    isUnchanged: (ref) =>
      use(ref, async (redis, key) => (await redis.hgetBuffer(key, ref.address))?.equals(record) ?? false),
  };
};
