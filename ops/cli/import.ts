/**
 * `npm run ops -- import FILE`: brings a file of JSON lines into SQL, with progress and a summary.
 */
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { type ImportReport, ImportStopped, importFile } from '../../storage/import/import.ts';
import { recordKinds } from '../../storage/import/schema.ts';
import type { Sql } from '../../storage/sql/client.ts';
import { CommandError, formatCount, formatCounted, interruptedExitCode, type Terminal } from './command.ts';
import { createProgress } from './progress.ts';

export interface ImportArgs {
  readonly path: string;
  readonly skipBad: boolean;
}

const linesShownMax = 10;

/** Resolves to the exit code. */
export const runImport = async (sql: Sql, terminal: Terminal, words: ImportArgs): Promise<number> => {
  const { path, skipBad } = words;
  assertFile(path);
  const progress = createProgress(terminal.err, `Importing ${basename(path)}`);
  try {
    const report = await importFile(sql, path, {
      skipBad,
      signal: terminal.signal,
      onProgress: ({ linesDone, linesTotal }) => progress.update(linesDone, linesTotal),
    });
    progress.stop();
    terminal.out.write(describeReport(report));
    return report.interrupted ? interruptedExitCode : 0;
  } catch (error) {
    progress.stop();
    throw error instanceof ImportStopped ? new CommandError(describeStop(error, path)) : error;
  }
};

const assertFile = (path: string): void => {
  const about = statSync(path, { throwIfNoEntry: false });
  if (about === undefined) throw new CommandError(`There is no file ${path}.`);
  if (!about.isFile()) throw new CommandError(`${path} is not a file.`);
};

const describeReport = (report: ImportReport): string => {
  const added = recordKinds.filter((kind) => report.added[kind] > 0);
  const seconds = report.milliseconds / 1000;
  const lines = report.linesDone - report.resumedAfter;
  const rate = seconds > 0 ? `, ${formatCount(Math.round(lines / seconds))} a second` : '';
  const parts = [
    `${formatCounted(lines, 'line')} in ${seconds.toFixed(1)} s${rate}`,
    ...(report.resumedAfter > 0 ? [`went on after line ${formatCount(report.resumedAfter)}`] : []),
    `added: ${added.map((kind) => formatCounted(report.added[kind], kind)).join(', ') || 'nothing'}`,
    ...(report.skipped > 0 ? [`there already: ${formatCount(report.skipped)}`] : []),
    ...(report.rejected > 0 ? [`rejected: ${formatCount(report.rejected)}, see ${report.rejectedFile}`] : []),
    ...(report.interrupted ? ['interrupted: run the same command again to go on from here'] : []),
  ];
  return `${parts.join('\n')}\n`;
};

const describeStop = ({ badLines, linesDone }: ImportStopped, path: string): string => {
  const shown = badLines.slice(0, linesShownMax).map(({ line, reason }) => `  line ${line}: ${reason}`);
  const number = badLines.length;
  const more = number - shown.length;
  return [
    `${path}: ${number === 1 ? 'a bad line' : `${number} bad lines`}; the import has stopped.`,
    ...shown,
    ...(more > 0 ? [`  and ${more} more`] : []),
    `Lines up to ${formatCount(linesDone)} are in the store, none after. Correct the file, import it again:`,
    'what is there already is left alone. Or use --skip-bad to put bad lines aside and go on.',
  ].join('\n');
};
