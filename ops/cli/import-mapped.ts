/**
 * `import --map FILE`: turns the rows of another directory's file into lines of the import format, in a file
 * of its own, and finds for each of those lines the row and the columns it came from.
 *
 * Each row becomes as many lines as the mapping has records (comments where there is none), so the number of
 * a line says its row. The same rows and mapping make the same lines, so an interrupted import can go on.
 */
import { createWriteStream, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { recordKinds } from '../../storage/import/kinds.ts';
import type { BadLine } from '../../storage/import/lines.ts';
import {
  findConversion,
  listColumns,
  type Mapping,
  MappingError,
  makeRecords,
  readMapping,
} from '../../storage/import/mapping.ts';
import { chooseFormat, type NumberedRow, readRows } from '../../storage/import/rows.ts';
import { CommandError } from './command.ts';

/** Rows that a dry run shows, and rows whose columns it compares with the mapping. */
const rowsShown = 3;
const rowsCompared = 1_000;
const shownCharacters = 300;
/** Reasons that are kept of rows that cannot be read; the lines of others have no reason of their own. */
const faultsMax = 1_000;

export interface MappedSource {
  /** Says in the reason of a bad line which row and columns it came from. */
  readonly explain: (bad: BadLine) => BadLine;
  /** The first rows as they are read, and what of them nothing reads. */
  readonly sample: string;
}

const readMappingFile = (path: string): Mapping => {
  try {
    return readMapping(readFileSync(path, 'utf8'), path);
  } catch (error) {
    if (error instanceof MappingError) throw new CommandError(error.message);
    throw new CommandError(`The mapping ${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
};

/** What is found out about a file while its rows are turned into lines. */
const createFindings = () => ({
  columns: new Set<string>(),
  shown: [] as string[],
  faults: new Map<number, string>(),
});
type Findings = ReturnType<typeof createFindings>;

/** The table has all columns that the mapping reads, or the mapping is for another file. */
const assertColumns = (mapping: Mapping, { row }: NumberedRow): void => {
  const missing = listColumns(mapping).filter((name) => !Object.hasOwn(row, name));
  if (missing.length === 0) return;
  const names = Object.keys(row).join(', ').slice(0, 1_000);
  throw new CommandError(`The file has no column ${missing.join(', ')}. It has ${names}.`);
};

const toLines = (mapping: Mapping, { number, row, fault }: NumberedRow, findings: Findings): string[] => {
  if (number <= rowsCompared) for (const name of Object.keys(row)) findings.columns.add(name);
  const none = mapping.records.map(() => '#');
  if (fault !== '') {
    const line = none.length * (number - 1) + 1;
    if (findings.faults.size < faultsMax) findings.faults.set(line, fault);
    return ['null', ...none.slice(1)];
  }
  const lines = makeRecords(mapping, row).map((record) => (record === null ? '#' : JSON.stringify(record)));
  if (findings.shown.length < rowsShown) findings.shown.push(describeRow(number, lines));
  return lines;
};

const describeRow = (number: number, lines: readonly string[]): string => {
  const cut = lines.map((line) =>
    line.length > shownCharacters ? `${line.slice(0, shownCharacters)} …` : line,
  );
  return [`row ${number} reads as`, ...cut.filter((line) => line !== '#').map((line) => `  ${line}`)].join(
    '\n',
  );
};

/** The columns of a reason's fields: `tags must …` becomes `tags must … (column "labels", read as list)`. */
const addColumns = ({ kind, fields }: Mapping['records'][number], reason: string): string =>
  reason
    .split('; ')
    .map((part) => {
      const path = part.split(' ')[0]?.replaceAll('/', '.') ?? '';
      const rule = Object.hasOwn(fields, path) ? fields[path] : undefined;
      if (rule?.column === undefined) return part;
      return `${part} (column "${rule.column}", read as ${findConversion(kind, path, rule)})`;
    })
    .join('; ');

const createExplain =
  (mapping: Mapping, { faults }: Findings) =>
  (bad: BadLine): BadLine => {
    const { length } = mapping.records;
    const record = mapping.records[(bad.line - 1) % length];
    const row = Math.ceil(bad.line / length);
    const reason = faults.get(bad.line) ?? (record ? addColumns(record, bad.reason) : bad.reason);
    return { ...bad, reason: `row ${row}: ${reason}` };
  };

const describeSample = (mapping: Mapping, { columns, shown }: Findings): string => {
  const read = new Set(listColumns(mapping).flatMap((name) => [name, name.split('.')[0] ?? '']));
  const unread = [...columns].filter((name) => !read.has(name));
  const missing = mapping.records.map(({ kind, fields }) => {
    const given = new Set(Object.keys(fields).map((path) => path.split('.')[0]));
    return `fields of ${kind} that nothing gives: ${
      Object.keys(recordKinds[kind].fields)
        .filter((name) => !given.has(name))
        .join(', ') || 'none'
    }`;
  });
  return [...shown, `columns that nothing reads: ${unread.join(', ') || 'none'}`, ...missing, ''].join('\n');
};

/** Writes the lines of a file's rows into `target`. Rejects with `CommandError` at what ends the reading. */
export const readMappedFile = async (
  { path, title }: { readonly path: string; readonly title: string },
  mapPath: string,
  { target, signal }: { readonly target: string; readonly signal: AbortSignal },
): Promise<MappedSource> => {
  const mapping = readMappingFile(mapPath);
  const findings = createFindings();
  const isTable = chooseFormat(mapping, title) === 'csv';
  const makeText = async function* (): AsyncGenerator<string> {
    let isFirst = true;
    // Of a table the names are the first row: its line is a comment.
    if (isTable) yield `${mapping.records.map(() => '#').join('\n')}\n`;
    for await (const row of readRows(path, title, mapping)) {
      if (isFirst && isTable) assertColumns(mapping, row);
      isFirst = false;
      yield `${toLines(mapping, row, findings).join('\n')}\n`;
    }
  };
  const output = createWriteStream(target, { mode: 0o600 });
  await pipeline(Readable.from(makeText()), output, { signal }).catch((error: unknown) => {
    throw error instanceof MappingError ? new CommandError(`${title}: ${error.message}`) : error;
  });
  return { explain: createExplain(mapping, findings), sample: describeSample(mapping, findings) };
};
