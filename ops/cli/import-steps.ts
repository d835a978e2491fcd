/**
 * An import through a running node.
 */
import { setTimeout as pause } from 'node:timers/promises';
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

/**
 * A request's transaction has the only connection of the embedded SQL, and others wait until it ends: so each
 * has so many characters that it takes about this long. What a line costs depends on what is in the store.
 */
const requestMs = 35;
/** In it ends what others have begun: often several statements, each after the answer to the last. */
const pauseMs = 10;
const characters = { first: 20_000, min: 5_000, max: 1_000_000 };

/** How many characters the next request may have, after one that had so many and took so long. */
export const chooseCharacters = (sent: number, milliseconds: number): number => {
  const wanted = sent * Math.min(2, requestMs / Math.max(1, milliseconds));
  return Math.round(Math.min(characters.max, Math.max(characters.min, wanted)));
};

interface NodeImport {
  readonly node: RunningNode;
  readonly id: number;
  readonly limits: { readonly linesMax: number; charactersMax: number };
  readonly report: ImportReport;
  /** `null`: the import stops at the first bad line. */
  readonly rejects: Rejects | null;
  readonly explain: ((bad: BadLine) => BadLine) | undefined;
}

const countCharacters = (lines: readonly SourceLine[]): number =>
  lines.reduce((sum, { text }) => sum + text.length, 0);
const toBadLine = ({ number, text, fault }: SourceLine): BadLine => ({ line: number, text, reason: fault });

/** Sends the good lines, and those again without the ones that the node finds bad. */
const sendChunk = async (run: NodeImport, chunk: readonly SourceLine[]): Promise<void> => {
  const { node, id, limits, report, rejects, explain } = run;
  const reject = (found: readonly BadLine[]): void => {
    if (found.length === 0) return;
    const badLines = explain ? found.map(explain) : found;
    if (rejects === null) throw new ImportStopped(badLines, report.linesDone);
    rejects.add(badLines);
    report.rejected += badLines.length;
    report.rejectedFile = rejects.path;
  };
  reject(chunk.filter(({ fault }) => fault !== '').map(toBadLine));
  let open = chunk.filter(({ fault }) => fault === '');
  while (open.length > 0) {
    const sent = open;
    const reply = await node.importLines(
      id,
      sent.map(({ text }) => text),
    );
    const { added, skipped, toMend, bad } = reply;
    const reasons = new Map(bad.map(({ line, reason }) => [sent[line - 1]?.number, reason]));
    reject(
      sent.flatMap((line) => {
        const fault = reasons.get(line.number);
        return fault === undefined ? [] : [toBadLine({ ...line, fault })];
      }),
    );
    if (bad.length === 0) {
      limits.charactersMax = chooseCharacters(countCharacters(sent), reply.milliseconds);
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
      await node.keepCodes(id, codes.slice(at, at + importCodesMax));
    const limits = { linesMax: importLinesMax, charactersMax: characters.first };
    for await (const chunk of packLines(readFileLines(source.path, 0), limits)) {
      report.interrupted = signal.aborted;
      if (report.interrupted) break;
      await sendChunk({ node, id, limits, report, rejects, explain: source.mapped?.explain }, chunk);
      progress.update(report.linesDone, lines);
      await pause(pauseMs);
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
