/**
 * Keeps the bodies of histories by what they depend on, bounded by number and bytes. Created by ops/app.ts,
 * used by history.ts.
 */
import { LRUCache } from 'lru-cache';

export interface HistoryBody {
  readonly text: string;
  readonly tag: { etag: string };
}
export type HistoryCache = LRUCache<string, HistoryBody>;

const bodiesMax = 5_000;
const bytesMax = 16 * 1024 * 1024;
/** A body with its key and tag, besides the text. */
const bodyBytes = 512;

export const createHistoryCache = (): HistoryCache =>
  new LRUCache({
    max: bodiesMax,
    maxSize: bytesMax,
    sizeCalculation: ({ text }) => bodyBytes + text.length,
  });
