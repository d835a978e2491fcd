/**
 * The accent of the pages in light and dark: the operator's colour, made darker or lighter until text in it
 * can be read (a contrast of 4.5, WCAG 2.2). Pure.
 */

type Rgb = readonly [number, number, number];

const parseHex = (hex: string): Rgb => {
  const digits = hex.length === 4 ? [...hex.slice(1)].map((digit) => digit + digit).join('') : hex.slice(1);
  const read = (at: number): number => Number.parseInt(digits.slice(at, at + 2), 16);
  return [read(0), read(2), read(4)];
};

const formatHex = (color: Rgb): string =>
  `#${color.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;

const toLinear = (part: number): number => {
  const share = part / 255;
  return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
};

const computeLuminance = ([red, green, blue]: Rgb): number =>
  0.212_6 * toLinear(red) + 0.715_2 * toLinear(green) + 0.072_2 * toLinear(blue);

/** Computes the contrast ratio of two colours (WCAG): from 1, the same colour, to 21, black on white. */
export const computeContrast = (one: string, other: string): number => {
  const [low = 0, high = 0] = [one, other]
    .map((hex) => computeLuminance(parseHex(hex)))
    .sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};

const contrastMin = 4.5;

/** Moves a colour towards black or white in small steps until it can be read on the background. */
const makeReadable = (hex: string, background: string, towards: 0 | 255): string => {
  for (let share = 0; share < 1; share += 0.05) {
    const mixed = formatHex(parseHex(hex).map((part) => part + (towards - part) * share) as unknown as Rgb);
    if (computeContrast(mixed, background) >= contrastMin) return mixed;
  }
  return towards === 0 ? '#000000' : '#ffffff';
};

/** Derives the accent for light and for dark pages, readable on their backgrounds. */
export const deriveAccents = (
  accent: string,
  backgrounds: { readonly light: string; readonly dark: string },
): { readonly light: string; readonly dark: string } => ({
  light: makeReadable(accent, backgrounds.light, 0),
  dark: makeReadable(accent, backgrounds.dark, 255),
});
