/**
 * `rollcall ops export FILE|-`: writes the whole directory as JSON lines. `export history` writes the history
 * of all listings, also as CSV.
 *
 * The file gets its name only when it is complete and synced. Only its owner can read it.
 */
import { statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { formatCounted } from '../../http/operator/page/format.ts';
import { countLines, exportDirectory, type Sink } from '../../storage/export/export.ts';
import { countHistoryRows, exportHistory } from '../../storage/export/history.ts';
import type { Sql } from '../../storage/sql/client.ts';
import { CommandError, interruptedExitCode, type Terminal } from './command.ts';
import { confirm } from './confirm.ts';
import { createProgress, type ProgressStream } from './progress.ts';

/** What is exported, and in which form. */
export interface Exporter {
  count(sql: Sql): Promise<number>;
  write(sql: Sql, sink: Sink, onProgress: (linesDone: number) => void): Promise<number>;
}

export const directoryExporter: Exporter = {
  count: countLines,
  write: (sql, sink, onProgress) => exportDirectory(sql, sink, { onProgress }),
};

export const createHistoryExporter = (csv: boolean): Exporter => ({
  count: countHistoryRows,
  write: (sql, sink, onProgress) => exportHistory(sql, sink, { csv, onProgress }),
});

export interface ExportArgs {
  readonly exporter: Exporter;
  readonly path: string;
  /** Prints the number of lines as JSON; only for a file. */
  readonly json: boolean;
  /** The operator has confirmed that an existing file is replaced. */
  readonly isConfirmed: boolean;
}

/** Asks before an existing file is replaced. Throws `CommandError` unless the operator confirms it. */
export const confirmTarget = async (terminal: Terminal, { path, isConfirmed }: ExportArgs): Promise<void> => {
  const stats = path === '-' ? undefined : statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  // A folder cannot be replaced, and a device must not be.
  if (!stats.isFile())
    throw new CommandError(`${path} is not a file. Name a file, or - for standard output.`);
  if (!isConfirmed) await confirm(terminal, `${path} exists already: the export would replace it.`);
};

/** Writes to the file at `path`, or to standard output for `-`. Resolves to the exit code. */
export const runExport = async (
  sql: Sql,
  terminal: Terminal,
  { exporter, path, json }: Omit<ExportArgs, 'isConfirmed'>,
): Promise<number> => {
  const total = await exporter.count(sql);
  const progress = createProgress(terminal.err, 'Exporting');
  const write = (sink: Sink) =>
    exporter.write(sql, stopOnSignal(sink, terminal.signal), (done) => progress.update(done, total));
  const run = () => (path === '-' ? write(createStreamSink(terminal.out)) : writeFile(path, write));
  try {
    const lines = await run().finally(progress.stop);
    if (json) terminal.out.write(`${JSON.stringify({ file: path, lines })}\n`);
    terminal.err.write(`${formatCounted(lines, 'line')} exported\n`);
    return 0;
  } catch (error) {
    // The reader of the pipe has closed it, as in `export - | head`.
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return 0;
    if (error !== interrupted) throw error;
    terminal.err.write('Interrupted; the export is not complete.\n');
    return interruptedExitCode;
  }
};

const interrupted = new Error('interrupted');

const stopOnSignal =
  (sink: Sink, signal: AbortSignal): Sink =>
  async (text) => {
    if (signal.aborted) throw interrupted;
    await sink(text);
  };

const createStreamSink =
  (stream: ProgressStream): Sink =>
  (text) =>
    new Promise((resolve, reject) => {
      stream.write(text, (error) => (error ? reject(error) : resolve()));
    });

const writeFile = async (path: string, write: (sink: Sink) => Promise<number>): Promise<number> => {
  const unfinished = `${path}.unfinished`;
  const file = await open(unfinished, 'w', 0o600).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'there is no such folder' : error.message;
    throw new CommandError(`Cannot write ${path}: ${reason}.`);
  });
  try {
    const lines = await write((text) => file.writeFile(text));
    await file.sync();
    await file.close();
    await rename(unfinished, path);
    return lines;
  } catch (error) {
    await file.close();
    await rm(unfinished, { force: true });
    throw error;
  }
};
