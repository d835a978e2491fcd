/**
 * The cards of listings and of the site as PNG pictures, drawn by an add-on that may be missing. Each is
 * drawn once per edition (the same texts and colours), outside the event loop, at most two at a time. At most
 * 64 MiB of them are kept; when more than 32 wait, a request gets `overloaded`.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { LRUCache } from 'lru-cache';
import { DomainError } from '../../../engine/errors.ts';
import { createSemaphore } from '../../../engine/tools/semaphore.ts';
import { createSingleFlight } from '../../../engine/tools/single-flight.ts';
import { buildPageHeaders } from '../../response/document.ts';
import type { Reply } from '../../response/reply.ts';
import { type Card, renderCard } from './draw.ts';
import { readCharacters } from './font.ts';
import { encodePng, type Pixels } from './png.ts';

/** What we use of `@resvg/resvg-js`. */
interface Renderer {
  renderAsync(svg: string, options: object): Promise<Pixels>;
}

const keptBytesMax = 64 * 1024 * 1024;
const entryBytes = 1_024;
const atOnceMax = 2;
const waitingMax = 32;
const fontFile = fileURLToPath(new URL('./open-sans-semibold.ttf', import.meta.url));
const font = 'Open Sans SemiBold';
const options = {
  font: { loadSystemFonts: false, fontFiles: [fontFile], defaultFontFamily: font },
  logLevel: 'off',
};
const headers = {
  ...buildPageHeaders("default-src 'none'", 'image/png'),
  'Cache-Control': 'public, max-age=86400',
};

/** Loads the add-on; `null` where it is not installed. */
export const loadRenderer = (): Renderer | null => {
  try {
    return createRequire(import.meta.url)('@resvg/resvg-js');
  } catch {
    return null;
  }
};

export const createCards = (
  renderer: Renderer,
  look: { readonly siteName: string; readonly accent: string },
) => {
  const style = { ...look, font, characters: readCharacters(readFileSync(fontFile)) };
  const kept = new LRUCache<string, Reply>({
    maxSize: keptBytesMax,
    sizeCalculation: ({ bytes }) => entryBytes + (bytes?.length ?? 0),
  });
  const [flights, runLimited] = [createSingleFlight<Reply>(), createSemaphore(atOnceMax)];
  const render = async (svg: string, edition: string): Promise<Reply> => {
    const bytes = await runLimited(async () => encodePng(await renderer.renderAsync(svg, options)));
    const reply = { status: 200, bytes, tag: { etag: '' }, headers };
    kept.set(edition, reply);
    return reply;
  };
  const toEdition = (svg: string): string => hash('sha1', svg, 'base64url');
  return {
    /** A text that changes with the picture: for its address, so that nobody shows an old one. */
    findEdition: (card: Card): string => toEdition(renderCard(card, style)).slice(0, 10),
    /** The picture. Rejects with `overloaded` when too many wait. */
    show: async (card: Card): Promise<Reply> => {
      const svg = renderCard(card, style);
      const edition = toEdition(svg);
      const found = kept.get(edition) ?? flights.get(edition);
      if (found === undefined && flights.count() >= atOnceMax + waitingMax)
        throw new DomainError('overloaded', 'Too many cards wait to be drawn.');
      return found ?? flights.share(edition, () => render(svg, edition));
    },
  };
};
export type Cards = ReturnType<typeof createCards>;
