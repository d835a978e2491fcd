/**
 * `rollcall ops import FILE`: imports JSON lines into SQL or through a running node, with progress and a
 * summary, or tries them without writing.
 */
import { basename } from 'node:path';
import { formatCount, formatCounted } from '../../http/operator/page/format.ts';
import {
  type ImportReport,
  ImportStopped,
  importFile,
  runTrial,
  type Trial,
} from '../../storage/import/import.ts';
import { kindNames } from '../../storage/import/kinds.ts';
import type { BadLine } from '../../storage/import/lines.ts';
import { CommandError, interruptedExitCode, type Terminal } from './command.ts';
import { type ImportSource, runOnSource } from './import-source.ts';
import { importThroughNode } from './import-steps.ts';
import { createProgress, type Progress } from './progress.ts';
import { runOnCopy, type Workplace } from './running-node.ts';

export interface ImportArgs {
  /** A file of JSON lines, a compressed one (`.gz`), or `-` for standard input. */
  readonly path: string;
  /** The mapping of a file that has other lines, `''` for none. */
  readonly map?: string;
  readonly skipBad: boolean;
  readonly json: boolean;
}
const linesShownMax = 10;

const importInto = (
  target: Workplace,
  source: ImportSource,
  { progress, terminal, skipBad }: { progress: Progress; terminal: Terminal; skipBad: boolean },
): Promise<ImportReport> => {
  const { signal } = terminal;
  if ('node' in target) return importThroughNode(target.node, { ...source, skipBad }, { progress, signal });
  const { path, rejectedPath, mapped } = source;
  const options = { skipBad, rejectedPath, signal, onProgress: progress.update };
  return importFile(target.stores.sql, path, { ...options, explain: mapped?.explain });
};

/** Resolves to the exit code. Throws `CommandError` with the bad lines when the import stops. */
export const runImport = (target: Workplace, terminal: Terminal, args: ImportArgs): Promise<number> =>
  runOnSource(args, terminal, async (source) => {
    const progress = createProgress(terminal.err, `Importing ${basename(source.title)}`);
    const report = await importInto(target, source, { progress, terminal, skipBad: args.skipBad })
      .finally(progress.stop)
      .catch((error: unknown) => {
        throw error instanceof ImportStopped ? new CommandError(describeStop(error, source.title)) : error;
      });
    const isResumable = 'stores' in target;
    terminal.out.write(args.json ? `${JSON.stringify(report)}\n` : describeReport(report, isResumable));
    return report.interrupted ? interruptedExitCode : 0;
  });

/** Imports and takes it back; for a running node, on a copy of its SQL. */
const tryOn = (target: Workplace, path: string, options: Parameters<typeof runTrial>[2]): Promise<Trial> =>
  'node' in target
    ? runOnCopy(
        target.node,
        () => {},
        (sql) => runTrial(sql, path, options),
      )
    : runTrial(target.stores.sql, path, options);

/** Reports what the import would do, and writes nothing. Resolves to the exit code: 1 when a line is bad. */
export const runDryImport = (target: Workplace, terminal: Terminal, args: ImportArgs): Promise<number> =>
  runOnSource(args, terminal, async ({ path, title, mapped }) => {
    const progress = createProgress(terminal.err, `Checking ${basename(title)}`);
    const options = { signal: terminal.signal, onProgress: progress.update, explain: mapped?.explain };
    const trial = await tryOn(target, path, options).finally(progress.stop);
    const { report, badLines } = trial;
    const { linesDone: lines, added, skipped, toMend } = report;
    const result = { lines, added, skipped, toMend, badLines };
    const text = (mapped?.sample ?? '') + describeTrial(trial);
    terminal.out.write(args.json ? `${JSON.stringify(result)}\n` : text);
    if (report.interrupted) return interruptedExitCode;
    return badLines.length === 0 ? 0 : 1;
  });

const describeAdded = ({ added }: ImportReport): string =>
  kindNames
    .filter((kind) => added[kind] > 0)
    .map((kind) => formatCounted(added[kind], kind))
    .join(', ') || 'nothing';

const describeToMend = ({ toMend }: ImportReport): string[] => {
  const fields = Object.entries(toMend).sort(([, a], [, b]) => b - a);
  if (fields.length === 0) return [];
  const counted = fields.map(([field, count]) => `${field} ${formatCount(count)}`).join(', ');
  return [`kept, but outside of the limits of requests, for an edit to mend: ${counted}`];
};

const describeTrial = ({ report, badLines }: Trial): string =>
  [
    `${formatCounted(report.linesDone, 'line')}, to add: ${describeAdded(report)}`,
    ...(report.skipped > 0 ? [`already there: ${formatCount(report.skipped)}`] : []),
    ...describeToMend(report),
    `bad lines: ${formatCount(badLines.length)}`,
    ...describeBadLines(badLines),
    report.interrupted ? 'Interrupted. Nothing was written.' : 'Nothing was written.',
    '',
  ].join('\n');

const describeBadLines = (badLines: readonly BadLine[]): string[] => {
  const shown = badLines.slice(0, linesShownMax).map(({ line, reason }) => `  line ${line}: ${reason}`);
  const more = badLines.length - shown.length;
  return [...shown, ...(more > 0 ? [`  and ${more} more`] : [])];
};

const describeReport = (report: ImportReport, isResumable: boolean): string => {
  const seconds = report.milliseconds / 1000;
  const lines = report.linesDone - report.resumedAfter;
  const rate = seconds > 0 ? `, ${formatCount(Math.round(lines / seconds))} a second` : '';
  const advice = isResumable
    ? 'run the same command again to continue from here'
    : 'run the same command again; what is there already stays';
  const parts = [
    `${formatCounted(lines, 'line')} in ${seconds.toFixed(1)} s${rate}`,
    ...(report.resumedAfter > 0 ? [`resumed after line ${formatCount(report.resumedAfter)}`] : []),
    `added: ${describeAdded(report)}`,
    ...(report.skipped > 0 ? [`already there: ${formatCount(report.skipped)}`] : []),
    ...describeToMend(report),
    ...(report.rejected > 0 ? [`rejected: ${formatCount(report.rejected)}, see ${report.rejectedFile}`] : []),
    ...(report.interrupted ? [`interrupted: ${advice}`] : []),
  ];
  return `${parts.join('\n')}\n`;
};

const describeStop = ({ badLines, linesDone }: ImportStopped, path: string): string => {
  const count = badLines.length;
  return [
    `${path}: ${count === 1 ? 'a bad line' : `${count} bad lines`}; the import has stopped.`,
    ...describeBadLines(badLines),
    `Lines up to ${formatCount(linesDone)} are in the store, later ones are not. Correct the file and`,
    'import it again: records that are already there do not change. Or use --skip-bad to skip bad lines.',
  ].join('\n');
};
