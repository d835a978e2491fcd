/**
 * Draws badges and cards as SVG text. `badge-maker` draws badges; it is loaded when the first one is drawn.
 *
 * Every text is escaped and free of characters that XML does not allow, so user text cannot become markup or
 * break a picture. Pure but for loading.
 */
import { createRequire } from 'node:module';
import type { Format } from 'badge-maker';
import { escapeMarkup } from '../../response/document.ts';
import type { CardValue } from './badge-values.ts';

const require = createRequire(import.meta.url);

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this replaces.
const notInXml = /[\u0000-\u001f\u007f-\u009f\ufffe\uffff]/g;

const toPlainText = (text: string): string => text.toWellFormed().replace(notInXml, ' ');

const escapeText = (text: string): string => escapeMarkup(toPlainText(text));

export type BadgePicture = Required<Pick<Format, 'style' | 'label' | 'message' | 'color'>> & {
  readonly labelColor?: string;
};

/** Draws a badge, 20 or 28 pixels high. */
export const renderBadgeSvg = (picture: BadgePicture): string => {
  const { makeBadge }: typeof import('badge-maker') = require('badge-maker');
  return makeBadge({
    ...picture,
    label: toPlainText(picture.label),
    message: toPlainText(picture.message),
  });
};

export interface CardPicture {
  readonly name: string;
  readonly values: readonly CardValue[];
  /** A word and its colour, `null` for none. */
  readonly status: { readonly text: string; readonly color: string } | null;
}

const width = 320;
const height = 96;
const margin = 16;
const fonts = 'Verdana,Geneva,DejaVu Sans,sans-serif';

/** Width of a character, in font sizes: a generous estimate, since no font is known. */
const estimateWidth = (character: string): number => {
  if (/[iljtfrI .,:;!|'()[\]-]/.test(character)) return 0.46;
  if (/[mwMW@%—…]/.test(character)) return 1.12;
  return (character.codePointAt(0) ?? 0) > 0x2e7f ? 1.05 : 0.73;
};

/** Cuts a text that would be wider than `widthMax`, in font sizes, and ends it with an ellipsis. */
const fit = (text: string, widthMax: number): string => {
  let total = 0;
  let kept = '';
  for (const character of text) {
    total += estimateWidth(character);
    if (total > widthMax - 1) return `${kept.trimEnd()}…`;
    kept += character;
  }
  return text;
};

const startsRightToLeft = /^[^\p{L}]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;
const nameSize = 17;

/** The name is read from its own side, and is clipped where a font is wider than expected. */
const renderName = (name: string, room: number): string => {
  const text = escapeText(fit(name, room / nameSize));
  const isRightToLeft = startsRightToLeft.test(name);
  const x = isRightToLeft ? room : 0;
  const direction = isRightToLeft ? ' direction="rtl"' : '';
  return (
    `<svg x="${margin}" y="10" width="${room}" height="28">` +
    `<text class="n" x="${x}" y="21" font-size="${nameSize}" font-weight="bold"${direction}>${text}</text>` +
    '</svg>'
  );
};

const renderValue = ({ label, value }: CardValue, x: number): string =>
  `<text class="v" x="${x}" y="66" font-size="15">${escapeText(value)}</text>` +
  `<text class="l" x="${x}" y="82" font-size="11">${escapeText(label)}</text>`;

const statusRoom = 78;

const renderStatus = (status: CardPicture['status']): string =>
  status === null
    ? ''
    : `<circle cx="${width - margin - statusRoom + 18}" cy="24" r="5" fill="${status.color}"/>` +
      `<text class="l" x="${width - margin - statusRoom + 28}" y="28" font-size="11">` +
      `${escapeText(status.text)}</text>`;

const cardStyle =
  '.b{fill:#fff;stroke:#d0d7de}.n,.v{fill:#1f2328}.l{fill:#59636e}' +
  '@media(prefers-color-scheme:dark){.b{fill:#0d1117;stroke:#3d444d}.n,.v{fill:#f0f6fc}.l{fill:#9198a1}}';

/** Draws a card of 320 × 96 pixels, light or dark as the viewer prefers. */
export const renderCardSvg = ({ name, values, status }: CardPicture): string => {
  const words = [name, ...values.map(({ label, value }) => `${value} ${label}`), status?.text ?? ''];
  const title = escapeText(words.filter((word) => word !== '').join(', '));
  const step = (width - 2 * margin) / 3;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" role="img" ` +
    `aria-label="${title}" font-family="${fonts}"><title>${title}</title><style>${cardStyle}</style>` +
    `<rect class="b" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="6"/>` +
    renderName(name, width - 2 * margin - (status === null ? 0 : statusRoom)) +
    renderStatus(status) +
    values.map((value, index) => renderValue(value, Math.round(margin + index * step))).join('') +
    '</svg>'
  );
};
