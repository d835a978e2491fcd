/**
 * Reads each primary's memory settings, which say whether Redis may evict counters to make room.
 *
 * Reads `INFO memory` first, which servers allow that forbid `CONFIG`; falls back to `CONFIG GET` where
 * `INFO` is refused. Never changes a setting. ops/watch/eviction-watch.ts judges the result.
 */
import type { Redis } from 'ioredis';
import { readUnlessRefused } from './errors.ts';
import type { Link } from './link.ts';

export interface MemorySettings {
  /** `host:port`. */
  readonly server: string;
  /** 0 means no limit. */
  readonly maxmemoryBytes: number;
  /** `maxmemory-policy`, such as `noeviction`; `''` where the server does not show it. */
  readonly policy: string;
}

const readSetting = async (redis: Redis, name: string): Promise<string> => {
  const pair = (await readUnlessRefused(redis.config('GET', name), [])) as readonly string[];
  return pair[1] ?? '';
};

const readSettings = async (redis: Redis): Promise<Omit<MemorySettings, 'server'>> => {
  const info = await readUnlessRefused(redis.info('memory'), '');
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  const bytes = /^maxmemory:(\d+)/m.exec(info)?.[1];
  if (policy !== undefined && bytes !== undefined) return { policy, maxmemoryBytes: Number(bytes) };
  return {
    policy: await readSetting(redis, 'maxmemory-policy'),
    maxmemoryBytes: Number(await readSetting(redis, 'maxmemory')),
  };
};

/** Reads the settings of every connected primary. Rejects when one of them does not answer. */
export const readMemorySettings = async (link: Link): Promise<readonly MemorySettings[]> => {
  const all = await Promise.all(
    link
      .listSlotOwners()
      .map(async ({ name, redis }) =>
        redis === null ? [] : [{ server: name, ...(await readSettings(redis)) }],
      ),
  );
  return all.flat();
};
