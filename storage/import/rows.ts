/**
 * The rows of a file that is no export: CSV with a line of names, or objects of JSON (one array of them, or
 * one after another, as in JSON lines).
 *
 * Reads in bounded memory: a row may have at most 2 MiB. Encodings are never guessed: text that is not in the
 * one that the mapping names ends the reading with a `MappingError`.
 */
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { parse } from 'csv-parse';
import { type Mapping, MappingError, type Row } from './mapping.ts';

/** A row; `fault` says why it cannot be read, `''` if it can. */
export interface NumberedRow {
  /** From 1; of CSV the line of names is the first. */
  readonly number: number;
  readonly row: Row;
  readonly fault: string;
}

const rowCharactersMax = 2 * 1024 * 1024;
const createLongError = (number: number): MappingError =>
  new MappingError(`Row ${number} has more than ${rowCharactersMax} characters: is a quote not closed?`);

const nameEncoding = (head: Buffer): string => {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  if (head.includes(0)) return head[0] === 0 ? 'utf-16be' : 'utf-16le';
  return 'latin1';
};

async function* decode(path: string, encoding: string): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding === 'latin1' ? 'windows-1252' : encoding, { fatal: true });
  let head: Buffer | null = null;
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
      head ??= (chunk as Buffer).subarray(0, 1_024);
      if (encoding === 'utf-8' && head.includes(0)) throw new TypeError('NUL');
      yield decoder.decode(chunk as Buffer, { stream: true });
    }
    yield decoder.decode();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const likely = nameEncoding(head ?? Buffer.alloc(0));
    const advice =
      likely === encoding ? '' : ` It looks like ${likely}: write "encoding": "${likely}" into the mapping.`;
    throw new MappingError(`The file is not ${encoding}.${advice}`);
  }
}

/* --------------------------------------------------------------------- CSV */

const csvFaults: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: 'has a quote that is not closed',
  CSV_INVALID_CLOSING_QUOTE: 'has text after a closing quote (in a quoted cell a quote is written twice)',
  INVALID_OPENING_QUOTE: 'has a quote in a cell that does not begin with one (quote the cell)',
};
const toCsvError = (error: unknown): unknown => {
  const { code = '', records = 0 } = error as { readonly code?: string; readonly records?: number };
  const number = records + 1;
  if (code === 'CSV_MAX_RECORD_SIZE') return createLongError(number);
  const fault = csvFaults[code];
  return fault === undefined ? error : new MappingError(`Row ${number} ${fault}. Correct the file.`);
};

const checkNames = (names: readonly string[]): readonly string[] => {
  const twice = names.find((name, index) => name !== '' && names.indexOf(name) < index);
  if (twice !== undefined) throw new MappingError(`The file has two columns of the name "${twice}".`);
  return names;
};

async function* readCsv(text: AsyncIterable<string>, delimiter: string): AsyncGenerator<NumberedRow> {
  const limits = { relax_column_count: true, skip_empty_lines: true, max_record_size: rowCharactersMax };
  const parser = parse({ delimiter, ...limits });
  const source = Readable.from(text, { objectMode: false }).once('error', (error) => parser.destroy(error));
  let names: readonly string[] | null = null;
  let number = 0;
  try {
    for await (const record of source.pipe(parser)) {
      const cells = record as string[];
      number++;
      if (names === null) {
        names = checkNames(cells.map((name) => name.trim()));
        continue;
      }
      const row = Object.fromEntries(names.map((name, index) => [name, cells[index]]));
      const isLonger = cells.slice(names.length).some((cell) => cell !== '');
      const fault = isLonger ? `has ${cells.length} cells, and the first row names ${names.length}` : '';
      yield { number, row, fault };
    }
  } catch (error) {
    throw toCsvError(error);
  }
}

/* -------------------------------------------------------------------- JSON */

const [quote, backslash, open, close] = ['"', '\\', '{', '}'].map((sign) => sign.charCodeAt(0));
const [openList, closeList] = ['[', ']'].map((sign) => sign.charCodeAt(0));
const isBetween = (sign: string): boolean => /[\s,[\]\uFEFF]/.test(sign);

/** Yields the texts of the outermost objects, also of those in one array. */
async function* splitObjects(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let [number, depth, text] = [1, 0, ''];
  let [isQuoted, isEscaped] = [false, false];
  for await (const chunk of chunks) {
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const sign = chunk.charCodeAt(at);
      if (isEscaped) isEscaped = false;
      else if (isQuoted) {
        isEscaped = sign === backslash;
        isQuoted = sign !== quote;
      } else if (depth === 0) {
        start = at;
        if (sign === open) depth = 1;
        else if (!isBetween(chunk[at] as string)) throw new MappingError(describeJunk(number, chunk, at));
      } else if (sign === quote) isQuoted = true;
      else if (sign === open || sign === openList) depth++;
      else if ((sign === close || sign === closeList) && --depth === 0) {
        text += chunk.slice(start, at + 1);
        if (text.length > rowCharactersMax) throw createLongError(number);
        yield text;
        text = '';
        number++;
      }
    }
    if (depth > 0) text += chunk.slice(start);
    if (text.length > rowCharactersMax) throw createLongError(number);
  }
  if (depth > 0) throw new MappingError(`Row ${number} does not end: the file was cut off.`);
}
const describeJunk = (number: number, chunk: string, at: number): string =>
  `Before row ${number} stands ${JSON.stringify(chunk.slice(at, at + 20))}: objects are expected, in one ` +
  'array or one after another. For a table write "format": "csv" into the mapping.';

/** Integers beyond 2^53 become their digits. */
const keepDigits = (_key: string, value: unknown, context?: { source?: string }): unknown => {
  const isExact = typeof value !== 'number' || Number.isSafeInteger(value);
  return isExact || !/^-?\d+$/.test(context?.source ?? '') ? value : context?.source;
};

async function* readJson(text: AsyncIterable<string>): AsyncGenerator<NumberedRow> {
  let number = 0;
  for await (const object of splitObjects(text)) {
    number++;
    try {
      yield { number, row: JSON.parse(object, keepDigits), fault: '' };
    } catch {
      yield { number, row: {}, fault: 'is not valid JSON' };
    }
  }
}

/* --------------------------------------------------------------------- both */

/** Which format a file has by its name, where the mapping does not say it. */
export const chooseFormat = ({ format }: Mapping, title: string): 'csv' | 'json' =>
  format ?? (/\.(csv|tsv|txt)(\.gz)?$/i.test(title) ? 'csv' : 'json');

/** Yields the rows of a file. Throws a `MappingError` at what ends the reading. */
export const readRows = (path: string, title: string, mapping: Mapping): AsyncGenerator<NumberedRow> => {
  const text = decode(path, mapping.encoding ?? 'utf-8');
  if (chooseFormat(mapping, title) === 'json') return readJson(text);
  return readCsv(text, mapping.separator ?? (/\.tsv(\.gz)?$/i.test(title) ? '\t' : ','));
};
