/**
 * Keeps badges: one reply for equal bytes, and the last reply of each URL.
 *
 * Both caches are bounded by number and bytes. A URL gets its reply again for a second; after that it is the
 * last known one, for times when a store is away.
 */
import { LRUCache } from 'lru-cache';

export interface BadgeCache<Reply> {
  /** Seconds for which clients and proxies may keep a badge. */
  readonly maxAgeSeconds: number;
  /** The reply under this key, created at the first call. */
  reply(key: string, create: () => Reply): Reply;
  keep(url: string, reply: Reply, nowMs: number): void;
  /** The reply of this URL if it was kept within the last second. */
  findFresh(url: string, nowMs: number): Reply | null;
  /** The last reply of this URL, however old. */
  findLast(url: string): Reply | null;
}

/** Monotonic ms. */
interface KeptReply<Reply> {
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

export const createBadgeCache = <Reply extends { readonly text?: string }>(
  maxAgeSeconds: number,
): BadgeCache<Reply> => {
  const measure = ({ text = '' }: Reply): number => entryBytes + text.length;
  const bound = { max: repliesMax, maxSize: bytesMax };
  const replies = new LRUCache<string, Reply>({ ...bound, sizeCalculation: measure });
  const urls = new LRUCache<string, KeptReply<Reply>>({
    ...bound,
    sizeCalculation: ({ reply }) => measure(reply),
  });
  return {
    maxAgeSeconds,
    reply: (key, create) => {
      const known = replies.get(key);
      if (known !== undefined) return known;
      const created = create();
      replies.set(key, created);
      return created;
    },
    keep: (url, reply, nowMs) => {
      if (url.length <= urlCharactersMax) urls.set(url, { reply, freshUntilMs: nowMs + freshMs });
    },
    findFresh: (url, nowMs) => {
      const kept = urls.get(url);
      return kept !== undefined && nowMs < kept.freshUntilMs ? kept.reply : null;
    },
    findLast: (url) => urls.get(url)?.reply ?? null,
  };
};
