/**
 * The lines of an import: read from a file in bounded memory, or provided by a program.
 *
 * Numbers the lines (from 1), limits their length and computes the file's digest. A line that is too long or
 * not UTF-8 is returned with a fault instead of an exception: the import decides what to do. Groups the lines
 * into batches of checked records; comments and empty lines are counted as lines and skipped.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { foldVanityCode } from '../../engine/rules/vanity.ts';
import { checkLine } from './check.ts';
import { findFormatFault } from './kinds.ts';
import type { NumberedRecord } from './plan.ts';

/** One line; `fault` says why it cannot be read, `''` if it can. */
export interface SourceLine {
  readonly number: number;
  readonly text: string;
  readonly fault: string;
}

export type LineGroups = AsyncIterable<readonly SourceLine[]> | Iterable<readonly SourceLine[]>;

/** Enough for a long text of 65,536 characters and a shard list, both fully escaped. */
const lineBytesMax = 2 * 1024 * 1024;
const readBytes = 256 * 1024;
const newline = 0x0a;
const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads the file once: its digest, the SHA-256 in hexadecimal, identifies the import, and its number of lines
 * is for the progress bar.
 */
export const measureFile = async (path: string): Promise<{ digest: string; lines: number }> => {
  const hash = createHash('sha256');
  let lines = 0;
  let last = newline;
  for await (const chunk of createReadStream(path, { highWaterMark: readBytes })) {
    const data = chunk as Buffer;
    hash.update(data);
    for (let at = data.indexOf(newline); at >= 0; at = data.indexOf(newline, at + 1)) lines++;
    last = data[data.length - 1] ?? last;
  }
  return { digest: hash.digest('hex'), lines: last === newline ? lines : lines + 1 };
};

/**
 * Yields the lines of a file after the first `skip`, one group per chunk that is read. Buffers at most one
 * unfinished line, and nothing of a line that is too long.
 */
export async function* readFileLines(path: string, skip: number): AsyncGenerator<SourceLine[]> {
  let number = 0;
  let pieces: Buffer[] = [];
  let bytes = 0;
  const keep = (piece: Buffer): void => {
    bytes += piece.length;
    if (bytes <= lineBytesMax) pieces.push(piece);
    else pieces = [];
  };
  const finish = (): SourceLine[] => {
    number++;
    const line = number > skip ? [readLine(number, pieces, bytes)] : [];
    pieces = [];
    bytes = 0;
    return line;
  };
  for await (const chunk of createReadStream(path, { highWaterMark: readBytes })) {
    const data = chunk as Buffer;
    const lines: SourceLine[] = [];
    let start = 0;
    for (let end = data.indexOf(newline); end >= 0; end = data.indexOf(newline, start)) {
      keep(data.subarray(start, end));
      lines.push(...finish());
      start = end + 1;
    }
    keep(data.subarray(start));
    yield lines;
  }
  if (bytes > 0) yield finish();
}

/** The file is an export of another form: nothing of it is imported. */
export class UnknownFormat extends Error {}

/** Returns the folded code that a line requests, `null` for none. Throws `UnknownFormat`. */
const readRequestedCode = ({ number, text }: SourceLine): string | null => {
  if (!mayAsk.test(text)) return null;
  try {
    const value = JSON.parse(text) ?? {};
    const fault = value.kind === 'export' ? findFormatFault(value) : '';
    if (fault !== '') throw new UnknownFormat(`line ${number}: ${fault}. Nothing was imported.`);
    return typeof value.vanity === 'string' ? foldVanityCode(value.vanity) : null;
  } catch (error) {
    if (error instanceof UnknownFormat) throw error;
    return null;
  }
};
const mayAsk = /"vanity"|"export"|\\u/;

/**
 * Lists the vanity codes that lines request. Reads all of them: a listing without a code must not take the
 * one that a later line requests. Holds some 100 bytes for each. Rejects with `UnknownFormat`.
 */
export const listRequestedCodes = async (groups: LineGroups): Promise<ReadonlySet<string>> => {
  const codes = new Set<string>();
  for await (const lines of groups) {
    for (const line of lines) {
      const code = readRequestedCode(line);
      if (code !== null) codes.add(code);
    }
  }
  return codes;
};

const readLine = (number: number, pieces: readonly Buffer[], bytes: number): SourceLine => {
  if (bytes > lineBytesMax) return { number, text: '', fault: `longer than ${lineBytesMax} bytes` };
  const line = Buffer.concat(pieces);
  try {
    return { number, text: decoder.decode(line), fault: '' };
  } catch {
    return { number, text: line.toString('latin1'), fault: 'not valid UTF-8' };
  }
};

/**
 * Groups lines again, up to these limits, which may change from group to group. A single longer line is a
 * group of its own.
 */
export async function* packLines(
  groups: LineGroups,
  limits: { readonly linesMax: number; readonly charactersMax: number },
): AsyncGenerator<SourceLine[]> {
  let lines: SourceLine[] = [];
  let characters = 0;
  for await (const group of groups) {
    for (const line of group) {
      const isLong = characters + line.text.length > limits.charactersMax;
      const isFull = isLong || lines.length >= limits.linesMax;
      if (isFull && lines.length > 0) {
        yield lines;
        lines = [];
        characters = 0;
      }
      lines.push(line);
      characters += line.text.length;
    }
  }
  if (lines.length > 0) yield lines;
}

export interface BadLine {
  readonly line: number;
  /** The line as read; `''` if it exceeds the length limit. */
  readonly text: string;
  readonly reason: string;
}
export interface LineBatch {
  readonly records: (NumberedRecord & { readonly text: string })[];
  readonly badLines: BadLine[];
  /** Number of the last line in the batch. */
  lastLine: number;
}

const batchLinesMax = 2_000;
const batchCharactersMax = 4_000_000;

/** Yields batches in the order of the lines. */
export async function* splitBatches(groups: LineGroups, linesMax = batchLinesMax): AsyncGenerator<LineBatch> {
  for await (const lines of packLines(groups, { linesMax, charactersMax: batchCharactersMax })) {
    const batch: LineBatch = { records: [], badLines: [], lastLine: 0 };
    for (const line of lines) addLine(batch, line);
    yield batch;
  }
}

const addLine = (batch: LineBatch, { number, text, fault }: SourceLine): void => {
  batch.lastLine = number;
  if (fault !== '') {
    batch.badLines.push({ line: number, text, reason: fault });
    return;
  }
  if (text === '' || text.startsWith('#') || text.trim() === '') return;
  const checked = checkLine(text);
  if (checked.fault !== '') batch.badLines.push({ line: number, text, reason: checked.fault });
  else if (checked.record !== null) batch.records.push({ line: number, text, record: checked.record });
};
