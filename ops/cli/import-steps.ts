/**
 * An import through a running node.
 */
import { importCodesMax, importLinesMax } from '../../http/operator/stores.ts';
import { addCounts, createReport, type ImportReport, ImportStopped } from '../../storage/import/import.ts';
import { kindNames } from '../../storage/import/kinds.ts';
import {
  type BadLine,
  listRequestedCodes,
  measureFile,
  packLines,
  readFileLines,
  type SourceLine,
} from '../../storage/import/lines.ts';
import { openRejects, type Rejects } from '../../storage/import/rejects.ts';
import type { ImportSource } from './import-source.ts';
import type { Progress } from './progress.ts';
import type { RunningNode } from './running-node.ts';

/** One request takes the node a few milliseconds. */
const requestLimits = { linesMax: importLinesMax, charactersMax: 1_000_000 };

interface NodeImport {
  readonly node: RunningNode;
  readonly report: ImportReport;
  /** `null`: the import stops at the first bad line. */
  readonly rejects: Rejects | null;
}

const toBadLine = ({ number, text, fault }: SourceLine): BadLine => ({ line: number, text, reason: fault });

/** Sends the good lines, and those again without the ones that the node finds bad. */
const sendChunk = async (run: NodeImport, chunk: readonly SourceLine[]): Promise<void> => {
  const { node, report, rejects } = run;
  const reject = (badLines: readonly BadLine[]): void => {
    if (badLines.length === 0) return;
    if (rejects === null) throw new ImportStopped(badLines, report.linesDone);
    rejects.add(badLines);
    report.rejected += badLines.length;
    report.rejectedFile = rejects.path;
  };
  reject(chunk.filter(({ fault }) => fault !== '').map(toBadLine));
  let open = chunk.filter(({ fault }) => fault === '');
  while (open.length > 0) {
    const sent = open;
    const { added, skipped, toMend, bad } = await node.importLines(sent.map(({ text }) => text));
    const reasons = new Map(bad.map(({ line, reason }) => [sent[line - 1]?.number, reason]));
    reject(
      sent.flatMap((line) => {
        const fault = reasons.get(line.number);
        return fault === undefined ? [] : [toBadLine({ ...line, fault })];
      }),
    );
    if (bad.length === 0) {
      for (const kind of kindNames) report.added[kind] += added[kind] ?? 0;
      report.skipped += skipped;
      addCounts(report.toMend, toMend);
    }
    open = bad.length === 0 ? [] : sent.filter(({ number }) => !reasons.has(number));
  }
  report.linesDone = chunk.at(-1)?.number ?? report.linesDone;
};

/**
 * Imports a file through a running node. It is not resumable: a repeated import sends the whole file, and
 * what is there already stays. Rejects with `ImportStopped` at bad lines.
 */
export const importThroughNode = async (
  node: RunningNode,
  source: ImportSource & { readonly skipBad: boolean },
  { progress, signal }: { progress: Progress; signal: AbortSignal },
): Promise<ImportReport> => {
  const startedMs = performance.now();
  const { lines } = await measureFile(source.path);
  const codes = [...(await listRequestedCodes(readFileLines(source.path, 0)))].filter(
    ({ length }) => length <= 64,
  );
  const report = createReport(0);
  const rejects = source.skipBad ? openRejects(source.rejectedPath, 0) : null;
  const id = await node.beginImport(source.title.replaceAll('/', ' ').trim().slice(-128));
  try {
    for (let at = 0; at < codes.length; at += importCodesMax)
      await node.keepCodes(codes.slice(at, at + importCodesMax));
    for await (const chunk of packLines(readFileLines(source.path, 0), requestLimits)) {
      report.interrupted = signal.aborted;
      if (report.interrupted) break;
      await sendChunk({ node, report, rejects }, chunk);
      progress.update(report.linesDone, lines);
    }
  } catch (error) {
    const outcome = error instanceof ImportStopped ? 'stopped' : 'failed';
    // This error says why, also when the node that is to record the outcome is gone.
    await node.endImport(id, outcome).catch(() => {});
    throw error;
  }
  await node.endImport(id, report.interrupted ? 'interrupted' : 'done');
  report.milliseconds = performance.now() - startedMs;
  return report;
};
