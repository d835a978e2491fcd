/**
 * Long descriptions that cost a parser of Markdown as much as they can: known ones, and a generator of others
 * (fragments × repetition × nesting), whose worst ten are among the known ones.
 */
import type { Random } from '../../../bench/shared/random.ts';

export const textLengthMax = 65_536;

/** Repeats the fragment up to the longest text. */
const fill = (fragment: string): string =>
  fragment.repeat(Math.ceil(textLengthMax / fragment.length)).slice(0, textLengthMax);

/** Ordinary prose of the same length: what others are compared with. */
export const prose = fill(
  'The bot plays music, answers questions and keeps order. It was made for small servers, but it works in ' +
    'large ones, too: try it.\n\nAnother paragraph follows here with **bold** words and a ' +
    '[link](https://example.org/a).\n',
);

const row = (cell: string): string => `${cell}|`.repeat(10);

/** The ten that take the most CPU within the bounds, the worst first: from 2.8 down to 2.1 times prose. */
const worst: Readonly<Record<string, string>> = {
  'words before code that does not end': fill('…b\n\n```\nmailto:a@b.c'),
  'paragraphs of quotation marks': fill('"\n\n'),
  'code marks and addresses in brackets': fill('``<a@b.c>__\n\n'),
  'addresses before a tag and a wave': fill('<a@b.c><a~~\n\n'),
  'addresses before headings': fill('éhttps://a.b/\n## a\n'),
  'paragraphs of a code mark': fill('`\n\n'),
  'letters before schemes': fill('あhttp://'),
  'paragraphs of an apostrophe': fill("\r\n'\n\n"),
  'tags, addresses and empty lines': fill('</a><a@b.c>[\n\n\n\n\n\n..   \n'),
  'paragraphs of an open bracket': fill('[\n\n'),
};

/** Each is at least as dear, without bounds, as several texts of prose, or prints megabytes. */
export const hostileTexts: Readonly<Record<string, string>> = {
  ...worst,
  'addresses without a scheme': fill('//a.b/'),
  'schemes without an address': fill('http://'),
  'open brackets in addresses': fill('https://a.b/('),
  'addresses in addresses': fill('https://a.b/'),
  'open brackets': fill('['),
  'brackets in brackets': '['.repeat(textLengthMax / 2) + ']'.repeat(textLengthMax / 2),
  'emphasis of two kinds': fill('*_'),
  'open HTML': fill('<![CDATA['),
  'lists of one line': fill('1. a\n'),
  'lists in lists': fill(`${'- '.repeat(40)}a\n`),
  'quotations in quotations': fill('>'),
  'a table of short rows': `${row('a')}\n${row('-')}\n${'b\n'.repeat(32_000)}`,
  'a reference used again and again': `[a]: https://b.c/${'d'.repeat(2_000)}\n\n${fill('[a]').slice(2_100)}`,
  'references that fail': `[a]: https://b.c\n\n${fill('[a][b').slice(20)}`,
  links: fill('[a](https://b.c)'),
  'links in angle brackets': fill('<a@b.c>'),
  'addresses of many bytes': fill('https://a.b/あ '),
  'one address': `https://a.b/${fill('あ').slice(12)}`,
  'quotation marks': fill('"'),
  'code in one line': fill('`a` '),
  'headings of one line': fill('# a\n'),
  'lines of tables': fill('a|b\n-|-\n[a](https://b.c)b c'),
  'tables, lists and code': fill('=$<a|b\n-|-\n- `ftp://a- 😀>'),
  'lists of invisible items': fill('- \u0001'),
  'titles that do not end': fill('\n[a]: b "\n~~~\n'),
  'HTML, code and links': fill('``<![CDATA[<https://a.b>[a](https://b.c)'),
  lines: fill('***\n'),
  'headings and quotation marks': fill('\n## a\n"t"'),
  'lines and code': fill(' ---\n`(~~~\n'),
  'links in tables': fill('a|b\n-|-\na@b.chttps://a.b/[a](https://b.c)'),
  'links in lists': fill('<?[a](b)\n1. a{'),
};

const fragments: readonly string[] = [
  ...['a', 'b c', '\n', '\n\n', ' ', '    ', '\t', '*', '**', '_', '__', '~~', '~', '`', '``', '```'],
  ...['\n```\n', '~~~\n', '[', '](', ']', '][', '[a]', '[a](b)', '[a](https://b.c)', '(', ')', '<', '>'],
  ...['<a', '</a>', '<!--', '<![CDATA[', '<?', 'https://a.b/', 'http://', '//a.b/', 'mailto:a@b.c'],
  ...['mailto:', 'ftp://a', '<https://a.b>', '<a@b.c>', '|', '\n|-|-|\n', 'a|b\n-|-\n', 'b\n', '\n- '],
  ...['- ', '* ', '+ ', '1. ', '\n1. a', '> ', '\n> ', '#', '# ', '\n## a\n', '---\n', '===\n', '***\n'],
  ...['&', '&amp;', '&#x41;', '&copy', '\\', '\\\n', '  \n', '!', '![a](b)', '"', "'", 'é', 'あ', '😀'],
  ...['[a]: https://b.c\n', '\n[a]: b "\n', '"t"', ':', '://', 'www.a.b', 'a@b.c', '.', '..', '-'],
  ...['\r\n', '\u00a0', '\u0001', '…', '[^1]', '{', '}', '$', '%', '=', '+'],
];

const repeats = [3, 30, 300, 3_000] as const;

const combine = (random: Random, depth: number): string => {
  const part = (): string => combine(random, depth - 1);
  /** A longer result would be cut off. */
  const repeat = (text: string, count: number): string =>
    text.repeat(Math.min(count, Math.ceil(textLengthMax / text.length)));
  const times = (): number => 1 + random.below(random.pick(repeats));
  const shape = depth === 0 ? 0 : random.below(4);
  if (shape === 1) return repeat(part(), times());
  if (shape === 2) return part() + part();
  if (shape === 3) {
    const count = Math.min(300, times());
    return repeat(part(), count) + part() + repeat(part(), count);
  }
  return Array.from({ length: 1 + random.below(4) }, () => random.pick(fragments)).join('');
};

/** Draws a text: fragments, repeated, side by side and around each other, mostly to the greatest length. */
export const drawText = (random: Random): string => {
  const text = combine(random, 3);
  return random.below(10) < 7 ? fill(text) : text.slice(0, textLengthMax);
};
