/**
 * Shows answers of the node: lists as tables with pages, objects as names and values. Every value is text.
 */
import { describeAnswer, type Json, type PageSession } from './api.ts';
import { type Child, fill, make, makeCopyButton, makeEntityLink, makeFacts, makeScroller } from './dom.ts';
import { formatTotal } from './format.ts';

const timestamp = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z$/;

const formatValue = (value: unknown): string => {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return value.replace(timestamp, '$1 $2');
  const isTexts = Array.isArray(value) && value.every((item) => typeof item === 'string');
  return isTexts ? value.join(', ') || '–' : JSON.stringify(value);
};

const isRows = (value: unknown): value is readonly Json[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((item) => typeof item === 'object' && item !== null);

/** Shorter texts do not wrap. */
const shortCharactersMax = 36;

/** Longer texts are folded. */
const foldedCharactersMin = 100;

const foldedCharacters = 60;

/** Links from ids to the screen of the entity. */
const screensOfIds: Readonly<Record<string, string>> = {
  bot_id: 'bot',
  server_id: 'server',
  user_id: 'user',
  owner: 'user',
  author: 'user',
};

/** Fields that are shown once, and are needed elsewhere. */
const copied: ReadonlySet<string> = new Set(['token', 'secret']);

const makeCell = (name: string, value: unknown): Child => {
  const text = formatValue(value);
  if (copied.has(name) && typeof value === 'string')
    return make('span', { class: 'copied' }, make('code', {}, text), makeCopyButton(text));
  const screen = screensOfIds[name];
  const isId = screen !== undefined && /^[\w-]+$/.test(text);
  if (isId) return makeEntityLink(screen, text, text);
  if (text.length < foldedCharactersMin) return text;
  return make('details', {}, make('summary', {}, `${text.slice(0, foldedCharacters)}…`), text);
};

export interface TableOptions {
  readonly caption: string;
  /** Where a row leads; `null` for nowhere. Its first cell becomes the link. */
  readonly linkRow?: (row: Json) => string | null;
  /** What a row ends with: a button that changes it. */
  readonly makeAction?: (row: Json) => Child;
}

/** A table with a column for each field that any row has a value in. */
export const makeTable = (
  rows: readonly Json[],
  { caption, linkRow, makeAction }: TableOptions,
): HTMLElement => {
  const names = Object.keys(rows[0] ?? {}).filter((name) =>
    rows.some((row) => formatValue(row[name]) !== '–'),
  );
  const makeRow = (row: Json): HTMLElement => {
    const link = linkRow?.(row) ?? null;
    const cells = names.map((name, at) => {
      const text = formatValue(row[name]);
      const cell = link !== null && at === 0 ? make('a', { href: link }, text) : makeCell(name, row[name]);
      const kind =
        typeof row[name] === 'number' ? 'number' : text.length <= shortCharactersMax ? 'short' : '';
      return make('td', { class: kind }, cell);
    });
    return make('tr', {}, ...cells, makeAction ? make('td', { class: 'short' }, makeAction(row)) : null);
  };
  const isNumber = (name: string): boolean => rows.some((row) => typeof row[name] === 'number');
  const titles = names.map((name) =>
    make('th', { scope: 'col', class: isNumber(name) ? 'number' : '' }, name.replaceAll('_', ' ')),
  );
  return makeScroller(
    caption,
    make(
      'table',
      {},
      make('caption', {}, caption),
      make('thead', {}, make('tr', {}, ...titles, makeAction ? make('td', {}) : null)),
      make('tbody', {}, ...rows.map(makeRow)),
    ),
  );
};

/** Names and values; lists of objects follow as tables. */
export const makeObject = (object: Json): HTMLElement => {
  const entries = Object.entries(object);
  const plain = entries.filter(([, value]) => !isRows(value));
  return make(
    'div',
    {},
    makeFacts(plain.map(([name, value]) => [name.replaceAll('_', ' '), makeCell(name, value)])),
    ...entries.flatMap(([name, value]) =>
      isRows(value) ? [makeTable(value, { caption: name.replaceAll('_', ' ') })] : [],
    ),
  );
};

const findRows = (json: Json): readonly [string, readonly Json[]] | null => {
  const found = Object.entries(json).find(([, value]) => Array.isArray(value));
  return found === undefined || !('total' in json) ? null : [found[0], found[1] as readonly Json[]];
};

/** Any answer: a list as a table, else an object. */
export const makeAnswer = (json: Json): HTMLElement => {
  const list = findRows(json);
  if (list === null) return makeObject(json);
  const [name, rows] = list;
  return rows.length === 0 || !isRows(rows)
    ? make('p', { class: 'none' }, rows.length === 0 ? `No ${name.replaceAll('_', ' ')}.` : rows.join(', '))
    : makeTable(rows, { caption: name.replaceAll('_', ' ') });
};

export interface ListOptions extends TableOptions {
  /** With its query, without the page. */
  readonly path: string;
  readonly none: string;
  /** Changes rows before they are shown. */
  readonly toRow?: (row: Json) => Json;
}

/** A list of the node, page by page. `load` reads the first page again. */
export const makeList = (
  session: PageSession,
  options: ListOptions,
): { element: HTMLElement; load(): Promise<void> } => {
  const element = make('section', { 'aria-label': options.caption });
  let latest = 0;
  const show = async (page: number): Promise<void> => {
    const mine = ++latest;
    const glue = options.path.includes('?') ? '&' : '?';
    const answer = await session.call('GET', `${options.path}${glue}page=${page}`);
    if (mine !== latest) return;
    const list = findRows(answer.json);
    if (answer.status !== 200 || list === null)
      return fill(element, make('p', { class: 'none' }, describeAnswer(answer)));
    const rows = list[1].map(options.toRow ?? ((row) => row));
    if (rows.length === 0) return fill(element, make('p', { class: 'none' }, options.none));
    const { next_page } = answer.json as { next_page: number | null };
    const isWhole = page === 1 && next_page === null;
    const to = (number: number) => () => void show(number);
    const pager = make(
      'nav',
      { class: 'pager', 'aria-label': `Pages of ${options.caption}` },
      make('button', { disabled: page === 1, onclick: to(page - 1) }, 'Previous'),
      make('span', {}, `Page ${page} · ${formatTotal(answer.json)} in all`),
      make('button', { disabled: next_page === null, onclick: to(next_page ?? page) }, 'Next'),
    );
    fill(element, makeTable(rows, options), isWhole ? null : pager);
  };
  return { element, load: () => show(1) };
};
