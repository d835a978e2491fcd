/**
 * `npm run ops -- import FILE`: imports a file of JSON lines into SQL, with progress and a summary.
 */
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { type ImportReport, ImportStopped, importFile } from '../../storage/import/import.ts';
import { kindNames } from '../../storage/import/kinds.ts';
import type { Sql } from '../../storage/sql/client.ts';
import { CommandError, formatCount, formatCounted, interruptedExitCode, type Terminal } from './command.ts';
import { createProgress } from './progress.ts';

export interface ImportArgs {
  readonly path: string;
  readonly skipBad: boolean;
}

const linesShownMax = 10;

/** Resolves to the exit code. Throws `CommandError` with the bad lines when the import stops. */
export const runImport = async (sql: Sql, terminal: Terminal, args: ImportArgs): Promise<number> => {
  const { path, skipBad } = args;
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
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new CommandError(`There is no file ${path}. Check the path.`);
  if (!stats.isFile()) throw new CommandError(`${path} is not a file.`);
};

const describeReport = (report: ImportReport): string => {
  const added = kindNames.filter((kind) => report.added[kind] > 0);
  const seconds = report.milliseconds / 1000;
  const lines = report.linesDone - report.resumedAfter;
  const rate = seconds > 0 ? `, ${formatCount(Math.round(lines / seconds))} a second` : '';
  const parts = [
    `${formatCounted(lines, 'line')} in ${seconds.toFixed(1)} s${rate}`,
    ...(report.resumedAfter > 0 ? [`resumed after line ${formatCount(report.resumedAfter)}`] : []),
    `added: ${added.map((kind) => formatCounted(report.added[kind], kind)).join(', ') || 'nothing'}`,
    ...(report.skipped > 0 ? [`already there: ${formatCount(report.skipped)}`] : []),
    ...(report.rejected > 0 ? [`rejected: ${formatCount(report.rejected)}, see ${report.rejectedFile}`] : []),
    ...(report.interrupted ? ['interrupted: run the same command again to continue from here'] : []),
  ];
  return `${parts.join('\n')}\n`;
};

const describeStop = ({ badLines, linesDone }: ImportStopped, path: string): string => {
  const shown = badLines.slice(0, linesShownMax).map(({ line, reason }) => `  line ${line}: ${reason}`);
  const count = badLines.length;
  const more = count - shown.length;
  return [
    `${path}: ${count === 1 ? 'a bad line' : `${count} bad lines`}; the import has stopped.`,
    ...shown,
    ...(more > 0 ? [`  and ${more} more`] : []),
    `Lines up to ${formatCount(linesDone)} are in the store, later ones are not. Correct the file and`,
    'import it again: records that are already there do not change. Or use --skip-bad to skip bad lines.',
  ].join('\n');
};
