/**
 * The thread that draws cards: takes an SVG, answers with its PNG.
 */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { parentPort } from 'node:worker_threads';
import { fontFamily, fontFile } from './draw.ts';

const { Resvg } = createRequire(import.meta.url)('@resvg/resvg-js');
const options = {
  font: { loadSystemFonts: false, fontFiles: [fileURLToPath(fontFile)], defaultFontFamily: fontFamily },
  logLevel: 'off',
};

// What cannot be drawn ends the thread; the next card starts another.
parentPort?.on('message', (svg: string) => {
  const png = Uint8Array.from(new Resvg(svg, options).render().asPng());
  parentPort?.postMessage(png, [png.buffer]);
});
