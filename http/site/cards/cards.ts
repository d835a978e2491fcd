/**
 * The cards of listings and of the site as PNG pictures, drawn by an add-on that may be missing. Each is
 * drawn once per edition (the same texts and colours), one at a time, in a thread of its own: a card takes
 * 6 MB, and collecting those would hold the event loop. At most 64 MiB of cards are kept; when more than 32
 * wait, a request gets `overloaded`. A thread that ends is started again for the next card.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { DomainError } from '../../../engine/errors.ts';
import { createSemaphore } from '../../../engine/tools/semaphore.ts';
import { createSingleFlight } from '../../../engine/tools/single-flight.ts';
import { buildPageHeaders } from '../../response/document.ts';
import type { Reply } from '../../response/reply.ts';
import { type Card, fontFile, renderCard } from './draw.ts';
import { readCharacters } from './font.ts';

/** Draws one SVG at a time. */
export type DrawPicture = (svg: string) => Promise<Uint8Array>;

const keptBytesMax = 64 * 1024 * 1024;
const entryBytes = 1_024;
const waitingMax = 32;
const headers = {
  ...buildPageHeaders("default-src 'none'", 'image/png'),
  'Cache-Control': 'public, max-age=86400',
};

const isInstalled = (): boolean => {
  try {
    createRequire(import.meta.url)('@resvg/resvg-js');
    return true;
  } catch {
    return false;
  }
};

/** Opens the thread that draws, at its first picture; `null` where the add-on is not installed. */
export const openDrawThread = (): DrawPicture | null => {
  if (!isInstalled()) return null;
  let thread: Worker | null = null;
  const start = (): Worker => {
    const started = new Worker(new URL('./draw-thread.ts', import.meta.url), { name: 'cards' });
    // What follows an error is the end.
    started.on('error', () => {});
    started.once('exit', () => {
      thread = null;
    });
    return started;
  };
  return (svg) =>
    new Promise((resolve, reject) => {
      thread ??= start();
      const current = thread;
      const finish = (png: Uint8Array | number): void => {
        current.off('message', finish).off('exit', finish);
        // An idle thread keeps no process alive.
        current.unref();
        if (png instanceof Uint8Array) resolve(png);
        else reject(new Error('a card could not be drawn'));
      };
      current.on('message', finish).on('exit', finish);
      current.ref();
      current.postMessage(svg);
    });
};

export const createCards = (
  draw: DrawPicture,
  look: { readonly siteName: string; readonly accent: string },
) => {
  const style = { ...look, characters: readCharacters(readFileSync(fontFile)) };
  const kept = new LRUCache<string, Reply>({
    maxSize: keptBytesMax,
    sizeCalculation: ({ bytes }) => entryBytes + (bytes?.length ?? 0),
  });
  const [flights, runAlone] = [createSingleFlight<Reply>(), createSemaphore(1)];
  const render = async (svg: string, edition: string): Promise<Reply> => {
    const reply = { status: 200, bytes: await runAlone(() => draw(svg)), tag: { etag: '' }, headers };
    kept.set(edition, reply);
    return reply;
  };
  return {
    /** A text that changes with the picture: for its address, so that no cache shows an old one. */
    findEdition: (card: Card): string => hash('sha1', renderCard(card, style), 'base64url').slice(0, 10),
    /** The picture. Rejects with `overloaded` when too many wait. */
    show: async (card: Card): Promise<Reply> => {
      // The texts, not the picture: a request that is refused costs next to nothing.
      const edition = [card.kind, card.name, card.short].join('\n');
      const found = kept.get(edition) ?? flights.get(edition);
      if (found === undefined && flights.count() > waitingMax)
        throw new DomainError('overloaded', 'Too many cards wait to be drawn.');
      return found ?? flights.share(edition, () => render(renderCard(card, style), edition));
    },
  };
};
export type Cards = ReturnType<typeof createCards>;
