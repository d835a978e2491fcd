/**
 * Imports records into SQL: idempotent, resumable, in bounded memory (docs/operators/import-format.md).
 *
 * Each batch and its progress are one transaction, so a kill at any moment leaves whole batches and the next
 * run continues after them. Never writes to the hot store: the engine activates an entity from SQL on first
 * use. Without `skipBad` the first batch with a bad line stops the run, and nothing of that batch is written.
 */
import { writeWhileReading } from '../../engine/tools/write-while-reading.ts';
import { recountLists } from '../catalogue/lists/list-segments.ts';
import { createPartitions, type Partitions } from '../ledger/partitions.ts';
import type { Sql, Transaction } from '../sql/client.ts';
import { toStorageError } from '../sql/errors.ts';
import { readNumber } from '../sql/rows.ts';
import { kindNames, recordKinds } from './kinds.ts';
import {
  type BadLine,
  type LineBatch,
  type LineGroups,
  listRequestedCodes,
  measureFile,
  readFileLines,
  type SourceLine,
  splitBatches,
} from './lines.ts';
import { openRejects, type Rejects } from './rejects.ts';
import { createZeroCounts, type WriteContext, writeBatch } from './write.ts';

export interface ImportOptions {
  /** Writes bad lines to `rejectedPath` (drops them if the lines come from a program) and continues. */
  readonly skipBad?: boolean;
  /** `<file>.rejected` if absent. */
  readonly rejectedPath?: string;
  /** ISO time for times that records leave out. Default: now. */
  readonly now?: string;
  readonly batchLines?: number;
  /** Folded codes that only listings that request them get. Default: those that the lines request. */
  readonly requestedCodes?: ReadonlySet<string>;
  /** Of an import in several calls. Default: its own. */
  readonly partitions?: Partitions;
  /** Adds to the reason of a bad line where it came from. */
  readonly explain?: ((bad: BadLine) => BadLine) | undefined;
  /** Called with the time that each transaction held its connection. */
  readonly onTransaction?: (milliseconds: number) => void;
  /** `linesTotal` is 0 when the number of lines is unknown. */
  readonly onProgress?: (linesDone: number, linesTotal: number) => void;
  /** Stops after the current batch; a later run continues from there. */
  readonly signal?: AbortSignal;
}

/** Creates the report of a run that has not read a line yet. */
export const createReport = (resumedAfter: number) => ({
  added: createZeroCounts(),
  /** Records whose id or key was already in the store. */
  skipped: 0,
  /** Fields of the added listings that an edit will have to mend, as `bot.short`, with their numbers. */
  toMend: {} as Record<string, number>,
  rejected: 0,
  /** `''` when nothing was rejected. */
  rejectedFile: '',
  /** Lines that an earlier, interrupted run completed. */
  resumedAfter,
  linesDone: resumedAfter,
  interrupted: false,
  milliseconds: 0,
});
export type ImportReport = ReturnType<typeof createReport>;

/** Bad lines stopped the import. Earlier batches are in the store, and nothing of this batch is. */
export class ImportStopped extends Error {
  readonly badLines: readonly BadLine[];
  readonly linesDone: number;

  constructor(badLines: readonly BadLine[], linesDone: number) {
    const first = badLines[0];
    const more = badLines.length > 1 ? ` (and ${badLines.length - 1} more)` : '';
    super(`line ${first?.line}: ${first?.reason}${more}`);
    this.name = 'ImportStopped';
    this.badLines = badLines;
    this.linesDone = linesDone;
  }
}

/** One run over one source. */
interface Run {
  readonly sql: Pick<Sql, 'begin'>;
  readonly options: ImportOptions;
  /** Key of the import's progress in SQL, `null` when it cannot be resumed. */
  readonly digest: string | null;
  readonly rejects: Pick<Rejects, 'path' | 'add'> | null;
  /** `null`: the run is a trial, see `runTrial`. */
  readonly partitions: Partitions | null;
  readonly linesTotal: number;
  readonly context: WriteContext;
  readonly report: ImportReport;
}

/**
 * Imports a file. Ledger when it resolves. Rejects with `ImportStopped`, `StorageError`, or the error of
 * reading the file. A run after a complete run of the same file reads it again and adds nothing.
 */
export const importFile = async (
  sql: Sql,
  path: string,
  options: ImportOptions = {},
): Promise<ImportReport> => {
  const { digest, lines } = await measureFile(path);
  const linesDone = await openProgress(sql, digest, lines);
  const { skipBad, rejectedPath = `${path}.rejected` } = options;
  const requestedCodes = await listRequestedCodes(readFileLines(path, 0));
  const rejects = skipBad ? openRejects(rejectedPath, linesDone) : null;
  const partitions = createPartitions(sql);
  const parts = { sql, options, digest, rejects, linesTotal: lines, partitions };
  const report = await runImport(
    makeRun(parts, { requestedCodes, linesDone }),
    readFileLines(path, linesDone),
  );
  await settleDown(sql, report);
  return report;
};

/** Imports lines that a program creates: idempotent, not resumable. Ledger when it resolves. */
export const importLines = async (
  sql: Sql,
  lines: readonly string[],
  options: ImportOptions = {},
): Promise<ImportReport> => {
  const numbered = lines.map((text, index): SourceLine => ({ number: index + 1, text, fault: '' }));
  const requestedCodes = options.requestedCodes ?? (await listRequestedCodes([numbered]));
  const parts = {
    sql,
    options,
    digest: null,
    rejects: null,
    linesTotal: 0,
    partitions: options.partitions ?? createPartitions(sql),
  };
  const report = await runImport(makeRun(parts, { requestedCodes, linesDone: 0 }), [numbered]);
  await settleDown(sql, report);
  return report;
};

/** What a trial found: the report of the run that would follow, and all lines that it would refuse. */
export interface Trial {
  readonly report: ImportReport;
  readonly badLines: readonly BadLine[];
}

/**
 * Imports the whole file in one transaction and rolls it back, so it finds what a run with `skipBad` finds.
 * Nothing is written when it resolves.
 */
export const runTrial = async (
  sql: Sql,
  path: string,
  options: Pick<ImportOptions, 'onProgress' | 'signal' | 'now' | 'explain'> = {},
): Promise<Trial> => {
  const { lines: linesTotal } = await measureFile(path);
  const requestedCodes = await listRequestedCodes(readFileLines(path, 0));
  const badLines: BadLine[] = [];
  const rejects = { path: '', add: (lines: readonly BadLine[]) => void badLines.push(...lines) };
  const rolledBack = new Error('A trial is rolled back.');
  let report = createReport(0);
  await sql
    .begin(async (outer) => {
      const inner = { begin: outer.savepoint } as unknown as Run['sql'];
      const parts = { sql: inner, options: { ...options, skipBad: true }, digest: null, rejects, linesTotal };
      const run = makeRun({ ...parts, partitions: null }, { requestedCodes, linesDone: 0 });
      report = await runImport(run, readFileLines(path, 0));
      throw rolledBack;
    })
    .catch((error: unknown) => {
      if (error !== rolledBack) throw toStorageError('import.try', error);
    });
  return { report, badLines };
};

const makeRun = (
  parts: Omit<Run, 'context' | 'report'>,
  { requestedCodes, linesDone }: Pick<WriteContext, 'requestedCodes'> & { readonly linesDone: number },
): Run => ({
  ...parts,
  context: {
    now: parts.options.now ?? new Date().toISOString(),
    requestedCodes,
    isTrial: parts.partitions === null,
  },
  report: createReport(linesDone),
});

const runImport = async (run: Run, lines: LineGroups): Promise<ImportReport> => {
  const startedMs = performance.now();
  const { report, options } = run;
  await writeWhileReading(splitBatches(lines, options.batchLines), async (batch) => {
    report.interrupted = options.signal?.aborted === true;
    if (report.interrupted) return false;
    await runBatch(run, batch);
    options.onProgress?.(report.linesDone, run.linesTotal);
    return true;
  });
  report.milliseconds = performance.now() - startedMs;
  return report;
};

/**
 * Replaces the pool's statement timeout, which is for requests and could abort an import on a busy server.
 */
const statementMsMax = 600_000;
/**
 * After so many new rows the planner's statistics are wrong and readers of lists would wait for a recount.
 */
const analyseRowsMin = 10_000;

const tables = Object.values(recordKinds).map(({ table }) => table);

const settleDown = async (sql: Sql, report: ImportReport): Promise<void> => {
  const startedMs = performance.now();
  if (kindNames.reduce((sum, kind) => sum + report.added[kind], 0) < analyseRowsMin) return;
  try {
    await sql.begin(async (transaction) => {
      await transaction`select set_config('statement_timeout', ${String(statementMsMax)}, true)`;
      await transaction.unsafe(`analyze totals, vanity, team_members, ${tables.join(', ')}`);
    });
    await recountLists(sql);
  } catch (error) {
    throw toStorageError('import.settleDown', error);
  }
  report.milliseconds += performance.now() - startedMs;
};

const runBatch = async (run: Run, batch: LineBatch): Promise<void> => {
  const { sql, report, options } = run;
  try {
    await run.partitions?.prepare(voteTimes(batch));
    let beganMs = 0;
    const done = await sql.begin(async (transaction) => {
      beganMs = performance.now();
      await transaction`select set_config('statement_timeout', ${String(statementMsMax)}, true)`;
      const written = await writeBatch(transaction, batch.records, run.context);
      const found = [...batch.badLines, ...written.faults.map((fault) => withText(batch, fault))];
      const badLines = found.map((bad) => options.explain?.(bad) ?? bad);
      badLines.sort((a, b) => a.line - b.line);
      if (badLines.length > 0 && !options.skipBad) throw new ImportStopped(badLines, report.linesDone);
      run.rejects?.add(badLines);
      if (run.digest !== null) await moveProgress(transaction, run, batch.lastLine);
      return { written, rejected: badLines.length };
    });
    options.onTransaction?.(performance.now() - beganMs);
    for (const kind of kindNames) report.added[kind] += done.written.added[kind];
    report.skipped += done.written.skipped;
    addCounts(report.toMend, done.written.toMend);
    report.rejected += done.rejected;
    if (done.rejected > 0 && run.rejects) report.rejectedFile = run.rejects.path;
    report.linesDone = batch.lastLine;
  } catch (error) {
    throw error instanceof ImportStopped ? error : toStorageError('import', error);
  }
};

/** Adds numbers to those of the same names. */
export const addCounts = (sums: Record<string, number>, counts: Readonly<Record<string, number>>): void => {
  for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count;
};

/** Lists the times of votes: the partition of a month is created outside of the transaction that fills it. */
const voteTimes = (batch: LineBatch): { atMs: number }[] =>
  batch.records.flatMap(({ record }) =>
    record.kind === 'vote' ? [{ atMs: Date.parse(record.created_at) }] : [],
  );

const withText = (batch: LineBatch, fault: { line: number; reason: string }): BadLine => ({
  ...fault,
  text: batch.records.find((entry) => entry.line === fault.line)?.text ?? '',
});

/* ---------------------------------------------------------------- progress */

/** Reads how many lines an interrupted run of the same bytes completed; 0 after a complete run. */
const openProgress = (sql: Sql, digest: string, lines: number): Promise<number> =>
  readNumber(sql`
    insert into imports as i (digest, lines_done) values (${digest}, 0)
    on conflict (digest) do update set updated_at = now(),
      lines_done = case when i.lines_done >= ${lines}::bigint then 0 else i.lines_done end
    returning lines_done`);

/** Records progress in the batch's transaction. Fails if another run of the same file has changed it. */
const moveProgress = async (transaction: Transaction, run: Run, lastLine: number): Promise<void> => {
  const moved = await transaction`
    update imports set lines_done = ${lastLine}, updated_at = now()
    where digest = ${run.digest} and lines_done = ${run.report.linesDone}`;
  if (moved.count !== 1) throw new Error('another import of the same file is running');
};
