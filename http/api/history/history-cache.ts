/**
 * Builds the bodies of histories and keeps them by what they depend on, bounded by number and bytes.
 *
 * A body takes milliseconds. Few are read at once, one is built per iteration of the event loop, and requests
 * for the same body share it: so others are served between the bodies of a crowd.
 */
import { LRUCache } from 'lru-cache';
import { createSemaphore } from '../../../engine/tools/semaphore.ts';
import { createSingleFlight } from '../../../engine/tools/single-flight.ts';
import { createUnavailableError } from '../../response/errors.ts';

export interface HistoryBody {
  readonly text: string;
  readonly tag: { etag: string };
}

/** Reads what a body needs; resolves to a function that builds its text. */
export type BodySource = () => Promise<() => string>;

const bodiesMax = 5_000;
const bytesMax = 16 * 1024 * 1024;

/** A body with its key and tag, besides the text. */
const bodyBytes = 512;

/** Bodies whose rows are read or wait to be built: a thousand rows are half a megabyte. */
const readsAtOnceMax = 4;

/** Bodies that wait for that. */
const waitingMax = 1_000;

export const createHistoryCache = () => {
  const bodies = new LRUCache<string, HistoryBody>({
    max: bodiesMax,
    maxSize: bytesMax,
    sizeCalculation: ({ text }) => bodyBytes + text.length,
  });
  const flights = createSingleFlight<HistoryBody>();
  const limitReads = createSemaphore(readsAtOnceMax);
  const takeTurn = createSemaphore(1);
  const build = (key: string, read: BodySource): Promise<HistoryBody> =>
    limitReads(async () => {
      const render = await read();
      return takeTurn(async () => {
        await new Promise((resolve) => setImmediate(resolve));
        const body = { text: render(), tag: { etag: '' } };
        bodies.set(key, body);
        return body;
      });
    });
  return {
    /** The body under this key. Rejects as `read` does, then nothing is kept; throws `overloaded`. */
    get: (key: string, read: BodySource) => {
      const known = bodies.get(key) ?? flights.get(key);
      if (known === undefined && flights.count() >= waitingMax)
        throw createUnavailableError('overloaded', 'Too many histories are being read. Try again.', 2);
      return known ?? flights.share(key, () => build(key, read));
    },
  };
};
export type HistoryCache = ReturnType<typeof createHistoryCache>;
