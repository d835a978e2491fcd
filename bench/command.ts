/**
 * The runner of all commands of `npm run bench`: reads the words, runs, ends what was started, and reports in
 * one form: text for the terminal, JSON and Markdown for files, an exit code.
 *
 * The first Ctrl-C ends the run and reports what was measured so far; a second one ends everything at once.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeMachine, type Machine } from './machine/machine.ts';
import { describeOptions, flag, type Options, parseOptions, type Values, word } from './options.ts';
import { renderHtml } from './report/html.ts';
import { createLive, type Live } from './report/live.ts';
import { alignColumns, renderMarkdownTable, type Table } from './report/table.ts';
import { closeWorlds } from './servers/world.ts';

export const interruptedCode = 130;

/** What a run found, also when it did not come to its end. */
export interface Report {
  /** In the order in which they are printed. */
  readonly parts: readonly (string | Table)[];
  /** All that was measured, for `--json`. */
  readonly figures?: object;
  /** What is not as it must be; then the exit code is 1. */
  readonly faults?: readonly string[];
  /** Of the HTML report, as SVG; only drawn for that. */
  readonly charts?: () => Parameters<typeof renderHtml>[1];
  readonly isInterrupted?: boolean;
}

export interface Context {
  readonly live: Live;
  readonly operands: readonly string[];
  readonly machine: Machine;
  /** Aborted by the first Ctrl-C. */
  readonly stop: AbortSignal;
  /** How to report what is known by then; the last call counts. */
  report(render: () => Report): void;
}

export interface Command {
  readonly name: string;
  readonly operands?: string;
  /** For the list of all commands. */
  readonly about: string;
  /** Resolves to the exit code. */
  run(args: readonly string[]): Promise<number>;
}

const faultsShown = 20;
const common = {
  json: word('FILE', 'also writes the figures to FILE'),
  out: word('FOLDER', 'also writes result.json and report.md to FOLDER'),
  help: flag('this text'),
};

/** Aborts on the first signal, ends at once on the second. */
export const stopOnSignals = (): AbortSignal => {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(interruptedCode);
      stop.abort();
    });
  }
  return stop.signal;
};

const describeBusyMachine = ({ cores, loadBefore }: Machine): readonly string[] =>
  loadBefore > cores / 2
    ? [
        `The machine was busy before the run began (load ${loadBefore} on ${cores} cores): requests/s and ` +
          'latency are lower than on an idle machine, and spreads are wide.',
      ]
    : [];

const describeRunOn = ({ processor, cores, memoryGib, system, node, date, commit }: Machine): string =>
  `${processor}, ${cores} cores, ${memoryGib} GiB, ${system}, Node ${node}; ` +
  `${date.slice(0, 16).replace('T', ' ')} UTC, commit ${commit}`;

const listParts = ({ parts, faults = [], isInterrupted }: Report, machine: Machine): Report['parts'] => [
  describeRunOn(machine),
  ...parts,
  ...faults.slice(0, faultsShown).map((fault) => `✗ ${fault}`),
  ...(faults.length > faultsShown ? [`… and ${faults.length - faultsShown} more`] : []),
  ...describeBusyMachine(machine),
  ...(isInterrupted ? ['Interrupted: figures are of what was measured until then.'] : []),
];

export const renderReport = (
  report: Report,
  machine: Machine,
  renderTable: (table: Table) => string,
): string =>
  listParts(report, machine)
    .map((part) => (typeof part === 'string' ? part : `\n${renderTable(part)}\n`))
    .join('\n');

const toPlain = (_: string, value: unknown): unknown => {
  if (value instanceof Map) return Object.fromEntries(value);
  return value instanceof Set ? [...value] : value;
};

const writeFiles = (
  report: Report,
  machine: Machine,
  { json, out }: { readonly json: string | null; readonly out: string | null },
): void => {
  const text = `${JSON.stringify({ machine, ...report.figures }, toPlain, 2)}\n`;
  if (json !== null) writeFileSync(json, text);
  if (out === null) return;
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, 'result.json'), text);
  writeFileSync(join(out, 'report.md'), `${renderReport(report, machine, renderMarkdownTable)}\n`);
  const { charts } = report;
  if (charts !== undefined)
    writeFileSync(join(out, 'report.html'), renderHtml(listParts(report, machine), charts()));
  console.log(`\nReport: ${join(out, charts === undefined ? 'report.md' : 'report.html')}`);
};

interface Definition<Rows extends Options> {
  readonly name: string;
  readonly about: string;
  /** What the help says beside the options. */
  readonly more?: string;
  /** The operands, as the help names them; none if absent. */
  readonly operands?: string;
  readonly options: Rows;
  /** Aborted, it comes to an end of its own; else it is left where it is. */
  readonly endsWell?: boolean;
  /** The folder of `--out` where none is given; `null`: no files. */
  readonly outUsually?: (given: Values<Rows>) => string | null;
  /** Throws `ArgumentError` before anything is started. */
  readonly run: (given: Values<Rows>, context: Context) => Promise<void>;
}

/** `run` measures; what it opened with `openWorld` is closed after it. */
export const defineCommand = <Rows extends Options>(command: Definition<Rows>): Command => {
  const { name, about, more, operands: expected, options } = command;
  const rows = { ...options, ...common };
  const run = async (args: readonly string[]): Promise<number> => {
    const { values, operands } = parseOptions(rows, args, expected !== undefined);
    const given = values as Values<Rows> & Values<typeof common>;
    if (given.help) {
      const words = ['Usage: npm run bench --', name, expected, '[options]'].filter(Boolean).join(' ');
      console.log([words, '', about, ...(more ? ['', more] : []), '', describeOptions(rows)].join('\n'));
      return 0;
    }
    const [machine, live, stop] = [describeMachine(), createLive(process.stderr), stopOnSignals()];
    const stopped = new Promise<void>((resolve) => stop.addEventListener('abort', () => resolve()));
    let render = (): Report => ({ parts: [] });
    const report = (renderNext: typeof render): void => {
      render = renderNext;
    };
    // What a run that was left where it is rejects with means nothing.
    if (!command.endsWell) stop.addEventListener('abort', () => process.on('unhandledRejection', () => {}));
    const running = command.run(given, { live, operands, machine, stop, report });
    const failure = await (command.endsWell ? running : Promise.race([running, stopped])).then(
      () => null,
      (error: unknown) => ({ error }),
    );
    await closeWorlds();
    live.clear();
    const found = { ...render(), isInterrupted: stop.aborted };
    if (found.parts.length > 0) {
      console.log(renderReport(found, machine, alignColumns));
      writeFiles(found, machine, { ...given, out: given.out ?? command.outUsually?.(given) ?? null });
    }
    if (failure !== null && !stop.aborted) throw failure.error;
    if (found.faults?.length) return 1;
    return stop.aborted ? interruptedCode : 0;
  };
  return { name, about, run, ...(expected !== undefined && { operands: expected }) };
};
