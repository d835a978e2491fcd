/**
 * Groups a stream of lines into batches of checked records, bounded in lines and in characters.
 *
 * Comments and empty lines are counted as lines and skipped.
 */
import { checkLine } from './check.ts';
import { type LineGroups, packLines, type SourceLine } from './lines.ts';
import type { NumberedRecord } from './plan.ts';

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
  if (checked.record === null) batch.badLines.push({ line: number, text, reason: checked.fault });
  else batch.records.push({ line: number, text, record: checked.record });
};
