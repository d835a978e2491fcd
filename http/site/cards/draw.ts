/**
 * The picture that a preview shows beside a link, as SVG: a tile with a letter, the name and what it is. A
 * text with a letter that the font lacks is left out, and so are signs it lacks, such as emoji; the tile
 * stays. Pure.
 */
import { escapeMarkup, removeControls } from '../../response/document.ts';

export interface Card {
  /** `Bot`, `Server` …, or `''`. */
  readonly kind: string;
  readonly name: string;
  readonly short: string;
}
export interface CardStyle {
  readonly siteName: string;
  readonly accent: string;
  readonly characters: ReadonlySet<number>;
}

/** The shipped font, and its name in it. */
export const fontFile = new URL('./open-sans-semibold.ttf', import.meta.url);
export const fontFamily = 'Open Sans SemiBold';

export const cardSize = { width: 1_200, height: 630 } as const;
const lineWidth = 1_040;
/** Of the font's height; wide enough for nearly all texts. */
const characterWidth = 0.6;
const shortSize = 36;
const lineLength = Math.floor(lineWidth / (shortSize * characterWidth));
const linesMax = 3;
const nameSizes = { most: 76, least: 40 } as const;

/** Marks without a letter, and those above the second of one: a card has no room for towers of them. */
const strayMarks = /(?<=^|\s)\p{M}+|(?<=\p{M}{2})\p{M}+/gu;
const isUnseen = (character: string): boolean => /[\p{M}\p{Cf}]/u.test(character);
const isWord = (character: string): boolean => /[\p{L}\p{N}]/u.test(character);

/** What the font can draw of a text; `''` if a letter or digit is missing. */
const keepDrawable = (text: string, { characters }: CardStyle): string => {
  const signs = [...text.normalize('NFC').replace(strayMarks, '')];
  const has = (sign: string): boolean => characters.has(sign.codePointAt(0) ?? 0);
  if (signs.some((sign) => isWord(sign) && !has(sign))) return '';
  return signs
    .map((sign) => (has(sign) ? sign : isUnseen(sign) ? '' : ' '))
    .join('')
    .replace(/\s+/g, ' ')
    .trim();
};

const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1).trimEnd()}…`;

const wrap = (text: string): readonly string[] => {
  const lines: string[] = [''];
  for (const word of text.split(' ').map((each) => cut(each, lineLength))) {
    const line = lines.at(-1) ?? '';
    if (line === '') lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= lineLength) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  const last = lines.slice(linesMax - 1).join(' ');
  return lines.length <= linesMax ? lines : [...lines.slice(0, linesMax - 1), cut(last, lineLength)];
};

const renderText = (text: string, [x, y, size]: readonly [number, number, number], fill: string): string =>
  `<text x="${x}" y="${y}" font-size="${size}" fill="${fill}">${escapeMarkup(removeControls(text))}</text>`;

/** Draws a card. */
export const renderCard = (card: Card, style: CardStyle): string => {
  const name = keepDrawable(card.name, style);
  const first = [...name].find(isWord) ?? ((card.kind || style.siteName)[0] as string);
  const fitting = Math.floor(lineWidth / (characterWidth * Math.max(1, name.length)));
  const size = Math.max(nameSizes.least, Math.min(nameSizes.most, fitting));
  const shown = cut(name, Math.floor(lineWidth / (size * characterWidth)));
  const { width, height } = cardSize;
  const foot = [card.kind, keepDrawable(style.siteName, style)].filter((part) => part !== '').join(' · ');
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"`,
    ` font-family="${fontFamily}">`,
    `<rect width="${width}" height="${height}" fill="#14171c"/>`,
    `<rect width="${width}" height="12" fill="${style.accent}"/>`,
    `<rect x="80" y="80" width="144" height="144" rx="32" fill="${style.accent}"/>`,
    `<g text-anchor="middle">${renderText(first.toUpperCase(), [152, 183, 88], '#ffffff')}</g>`,
    renderText(shown, [80, 330, size], '#ffffff'),
    ...wrap(keepDrawable(card.short, style)).map((line, at) =>
      renderText(line, [80, 396 + 50 * at, shortSize], '#b9c0cb'),
    ),
    renderText(foot, [80, 578, 30], '#8b94a3'),
    '</svg>',
  ].join('');
};
