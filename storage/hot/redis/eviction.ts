/**
 * Whether Redis may throw counters away to make room: what each primary says of its memory settings.
 *
 * Asked of `INFO memory`, which servers allow that forbid `CONFIG`; `CONFIG GET` is asked where they forbid
 * that one instead. Reads and never changes them. Called by the adapter; ops/eviction-watch.ts judges.
 */
import type { Redis } from 'ioredis';
import type { Link } from './link.ts';

export interface MemorySettings {
  /** `host:port`. */
  readonly server: string;
  /** 0: no limit. */
  readonly maxmemoryBytes: number;
  /** `maxmemory-policy`, such as `noeviction`; `''` where the server does not tell. */
  readonly policy: string;
}

/** Refused is an answer, too; without a connection there is none. */
const unlessRefused = async <Answer>(asked: Promise<Answer>, none: Answer): Promise<Answer> => {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Error && error.name === 'ReplyError') return none;
    throw error;
  }
};

const settingOf = async (redis: Redis, name: string): Promise<string> => {
  const row = (await unlessRefused(redis.config('GET', name), [])) as readonly string[];
  return row[1] ?? '';
};

const settingsOf = async (redis: Redis): Promise<Omit<MemorySettings, 'server'>> => {
  const info = await unlessRefused(redis.info('memory'), '');
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  const bytes = /^maxmemory:(\d+)/m.exec(info)?.[1];
  if (policy !== undefined && bytes !== undefined) return { policy, maxmemoryBytes: Number(bytes) };
  return {
    policy: await settingOf(redis, 'maxmemory-policy'),
    maxmemoryBytes: Number(await settingOf(redis, 'maxmemory')),
  };
};

/** Of every primary that has a connection now. Rejects when one of them does not answer. */
export const readMemorySettings = async (link: Link): Promise<readonly MemorySettings[]> => {
  const all = await Promise.all(
    link
      .named()
      .map(async ({ name, redis }) =>
        redis === null ? [] : [{ server: name, ...(await settingsOf(redis)) }],
      ),
  );
  return all.flat();
};
