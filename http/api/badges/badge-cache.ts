/**
 * Keeps badges: one reply for equal bytes, and the last reply of each URL.
 *
 * Both caches are bounded by number and bytes. A URL gets its reply again for a second; after that it is the
 * last known one, for times when a store is away.
 */
import { LRUCache } from 'lru-cache';
import type { Reply } from '../../response/reply.ts';

/** Monotonic ms. */
interface KeptReply {
  readonly reply: Reply;
  readonly freshUntilMs: number;
}

const freshMs = 1_000;
const repliesMax = 10_000;
const bytesMax = 16 * 1024 * 1024;

/** Replies of longer URLs are not kept: nearly all have less than half of this. */
const urlCharactersMax = 512;

/** An entry with its key, headers and tag, besides the text. */
const entryBytes = 1_024;

export const createBadgeCache = (maxAgeSeconds: number) => {
  const measure = ({ text = '' }: Reply): number => entryBytes + text.length;
  const bound = { max: repliesMax, maxSize: bytesMax };
  const replies = new LRUCache<string, Reply>({ ...bound, sizeCalculation: measure });
  const urls = new LRUCache<string, KeptReply>({
    ...bound,
    sizeCalculation: ({ reply }) => measure(reply),
  });
  return {
    /** Seconds for which clients and proxies may keep a badge. */
    maxAgeSeconds,
    /** The reply under this key, created at the first call. */
    reply: (key: string, create: () => Reply): Reply => {
      const known = replies.get(key);
      if (known !== undefined) return known;
      const created = create();
      replies.set(key, created);
      return created;
    },
    keep: (url: string, reply: Reply, nowMs: number): void => {
      if (url.length <= urlCharactersMax) urls.set(url, { reply, freshUntilMs: nowMs + freshMs });
    },
    /** The reply of this URL if it was kept within the last second. */
    findFresh: (url: string, nowMs: number): Reply | null => {
      const kept = urls.get(url);
      return kept !== undefined && nowMs < kept.freshUntilMs ? kept.reply : null;
    },
    /** The last reply of this URL, however old. */
    findLast: (url: string): Reply | null => urls.get(url)?.reply ?? null,
  };
};
export type BadgeCache = ReturnType<typeof createBadgeCache>;
