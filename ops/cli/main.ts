/**
 * `rollcall ops COMMAND`: the operator's command line.
 *
 * Parses the arguments, opens the configured stores or finds the node that has them open, runs one command,
 * and closes the stores. Results go to standard output, everything else to standard error. Exit codes: 0
 * done, 1 failed, 2 invalid arguments, 130 interrupted (finished steps stay done, and the command can be
 * repeated).
 */

import { createWriteStream, fstatSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { StorageError, toMessage } from '../../engine/errors.ts';
import { reconcileGenerations } from '../../engine/flush/generations.ts';
import type { EntityKind } from '../../engine/ids.ts';
import { hasDirectory } from '../../storage/backup/embedded.ts';
import { inspectEntity } from '../../storage/export/inspect.ts';
import { createLedger } from '../../storage/ledger/ledger.ts';
import type { Stores } from '../../storage/open.ts';
import { prepareStores } from '../../storage/prepare.ts';
import { runOnServer } from '../../storage/sql/server.ts';
import { type Config, readConfig } from '../config/config.ts';
import { findNearest } from '../config/nearest.ts';
import { dropHangUp } from '../setup/signals.mjs';
import { runAdopt } from './adopt.ts';
import { runBackup } from './backup.ts';
import { CommandError, interruptedExitCode, type Terminal } from './command.ts';
import {
  confirmTarget,
  createHistoryExporter,
  directoryExporter,
  type ExportArgs,
  runExport,
} from './export.ts';
import { assertFolderUsed } from './flush.ts';
import { type ImportArgs, runDryImport, runImport } from './import.ts';
import { parseKind, runInspect } from './inspect.ts';
import { runMove } from './move.ts';
import { groups } from './operator/arguments.ts';
import { formatOperationHelp, runOperation } from './operator/run.ts';
import { createProgress } from './progress.ts';
import { runReflush, runRestore } from './restore.ts';
import { runOnCopy, runOnEmptySql, runUnlessLocked, type Workplace } from './running-node.ts';
import { commandHelps, formatCommandHelp, formatUsage } from './usage.ts';

const parse = (argv: readonly string[]) => {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        'skip-bad': { type: 'boolean' },
        'dry-run': { type: 'boolean' },
        yes: { type: 'boolean' },
        json: { type: 'boolean' },
        csv: { type: 'boolean' },
        map: { type: 'string' },
        'to-redis': { type: 'string' },
        'to-database': { type: 'string' },
        'to-data': { type: 'string' },
        undo: { type: 'boolean' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    const { help, ...options } = values;
    const [command, operands] = splitCommand(positionals);
    /** Values of the options that have one; `''` for those that were not given. */
    const value = (option: string) => String(options[option as keyof typeof options] ?? '');
    return { command, operands, options: new Set(Object.keys(options)), value, help };
  } catch (error) {
    const reason = (error as Error).message.split('. ')[0] ?? 'unknown option';
    throw new CommandError(`${reason}. See: rollcall ops help`, 2);
  }
};

type ParsedArgs = ReturnType<typeof parse>;

/** The one command of two words; a file of the name `history` can be written as `./history`. */
const historyExport = 'export history';

const splitCommand = (positionals: readonly string[]): [command: string, operands: readonly string[]] => {
  const words = positionals.slice(0, 2).join(' ') === historyExport ? 2 : 1;
  return [positionals.slice(0, words).join(' '), positionals.slice(words)];
};

/** Throws `CommandError` for invalid arguments, before any store is opened. */
const assertArgs = ({ command, operands, options, value }: ParsedArgs): void => {
  const names = commandHelps.map(({ name }) => name);
  const help = commandHelps.find(({ name }) => name === command);
  if (help === undefined) {
    const nearest = findNearest(command, [...names, ...groups]);
    const all = `The commands are ${names.join(', ')}; for a running node: ${groups.join(', ')}.`;
    const hint = nearest === null ? all : `Did you mean "${nearest}"?`;
    throw new CommandError(`There is no command "${command}". ${hint}`, 2);
  }
  // What a command takes is in its usage: operands in capitals, options in brackets.
  const operandCount = help.usage.replaceAll(/\[[^[\]]*\]/g, '').match(/ [A-Z]+/g)?.length ?? 0;
  const misplaced = [...options].some((option) => !new RegExp(`\\[--${option}[ \\]]`).test(help.usage));
  const isEmpty = [...operands, ...[...options].map(value)].includes('');
  if (operands.length !== operandCount || isEmpty || misplaced) {
    throw new CommandError(`Usage: rollcall ops ${help.usage}`, 2);
  }
  if (command === 'inspect') parseKind(operands[0] ?? '');
};

/** Finds where a command works, and closes what was opened. Tests pass stores of their own. */
export type RunWithStores = (
  terminal: Terminal,
  args: Pick<ParsedArgs, 'command' | 'options'>,
  task: (workplace: Workplace) => Promise<number>,
) => Promise<number>;

/** Commands that open and close the stores themselves, since they copy or replace them, or that open none. */
const maintenanceCommands: Readonly<
  Record<string, (config: Config, terminal: Terminal, args: ParsedArgs) => Promise<number>>
> = {
  backup: (config, terminal, { operands: [directory = ''], options }) =>
    runBackup(config, terminal, { directory, json: options.has('json') }),
  restore: (config, terminal, { operands: [directory = ''] }) => runRestore(config, terminal, directory),
  reflush: runReflush,
  adopt: (config, terminal, { options }) => runAdopt(config, terminal, options.has('yes')),
  move: (config, terminal, { value, options }) =>
    runMove(config, terminal, {
      redis: value('to-redis'),
      database: value('to-database'),
      data: value('to-data'),
      undo: options.has('undo'),
    }),
};

/** Runs one command line. Resolves to the exit code; writes errors to `terminal.err` and never rejects. */
export const runCommandLine = async (
  argv: readonly string[],
  terminal: Terminal,
  withStores: RunWithStores = runWithConfiguredStores,
): Promise<number> => {
  try {
    const operation = parseOperatorArgs(argv);
    if (operation !== null) {
      if (!operation.help) return await runOperation(operation.args, terminal, readConfig());
      terminal.out.write(formatOperationHelp(operation.args));
      return 0;
    }
    const parsed = parse(argv);
    if (parsed.command === '' && !parsed.help) {
      terminal.err.write(formatUsage());
      return 2;
    }
    if (parsed.command === '' || parsed.command === 'help' || parsed.help) return showHelp(parsed, terminal);
    assertArgs(parsed);
    const runMaintenance = maintenanceCommands[parsed.command];
    if (runMaintenance !== undefined) {
      const config = readConfig();
      if (parsed.command === 'move' || parsed.command === 'reflush') assertFolderUsed(config);
      return await runMaintenance(config, terminal, parsed);
    }
    if (isExport(parsed)) await confirmTarget(terminal, toExportArgs(parsed));
    return await withStores(terminal, parsed, (workplace) => run(parsed, workplace, terminal));
  } catch (error) {
    if (isInterruption(error)) {
      terminal.err.write('Interrupted. What is finished stays; the command can be given again.\n');
      return interruptedExitCode;
    }
    terminal.err.write(`${toMessage(error)}${adviseOn(error)}\n`);
    return error instanceof CommandError ? error.exitCode : 1;
  }
};

/** What a step rejects with that the first signal ended: a program, or the reading of standard input. */
const isInterruption = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';

/** Some steps reject with what the driver of Postgres says. */
const isStoreLost = (error: unknown): boolean =>
  error instanceof StorageError
    ? error.reason === 'unreachable'
    : /^CONNECTION_(CLOSED|DESTROYED)$/.test((error as NodeJS.ErrnoException).code ?? '');

/** A full disk is named by no path, and may be one that the operator did not name. */
const adviseOn = (error: unknown): string => {
  if ((error as NodeJS.ErrnoException).code === 'ENOSPC')
    return `. Make room where it writes: the file that you name, DATA_DIR, or ${tmpdir()} (TMPDIR).`;
  if (isStoreLost(error))
    return (
      '. The connection to a store was lost. What is finished stays; the command can be given again (a ' +
      'restore: into another new database).'
    );
  return '';
};

/** Returns the arguments of an operation of a running node; `null` for the commands of this program. */
const parseOperatorArgs = (argv: readonly string[]): { args: readonly string[]; help: boolean } | null => {
  const isHelpOption = (argument: string): boolean => argument === '--help' || argument === '-h';
  const wantsHelp = argv[0] === 'help' || argv.some(isHelpOption);
  const args = argv.filter((argument) => !isHelpOption(argument)).slice(argv[0] === 'help' ? 1 : 0);
  if (!groups.includes(args[0] ?? '')) return null;
  // The one group with a single command that needs no second word.
  if (args[0] === 'status' && (args[1] ?? '--').startsWith('--')) {
    return { args: ['status', 'show', ...args.slice(1)], help: wantsHelp };
  }
  return { args, help: wantsHelp || args.length === 1 };
};

const showHelp = ({ command, operands }: ParsedArgs, terminal: Terminal): number => {
  const topic = command === 'help' ? operands.join(' ') : command;
  const help = commandHelps.find(({ name }) => name === topic && name !== 'help');
  if (topic !== '' && help === undefined && topic !== 'help') {
    assertArgs({ command: topic, operands: [], options: new Set(), value: () => '', help: false });
  }
  terminal.out.write(help ? formatCommandHelp(help) : formatUsage());
  return 0;
};

const toImportArgs = ({ operands: [path = ''], options, value }: ParsedArgs): ImportArgs => ({
  path,
  map: value('map'),
  skipBad: options.has('skip-bad'),
  json: options.has('json'),
});
const isExport = ({ command }: ParsedArgs): boolean => command === 'export' || command === historyExport;

const toExportArgs = ({ command, operands: [path = ''], options }: ParsedArgs): ExportArgs => ({
  exporter: command === historyExport ? createHistoryExporter(options.has('csv')) : directoryExporter,
  path,
  json: options.has('json') && path !== '-',
  isConfirmed: options.has('yes'),
});

const run = (args: ParsedArgs, workplace: Workplace, terminal: Terminal): Promise<number> => {
  const runIt = args.options.has('dry-run') ? runDryImport : runImport;
  if (args.command === 'import') return runIt(workplace, terminal, toImportArgs(args));
  if (isExport(args)) return exportFrom(workplace, terminal, toExportArgs(args));
  const [first = '', id = ''] = args.operands;
  const inspect =
    'node' in workplace
      ? workplace.node.inspect
      : (kind: EntityKind, key: string) => inspectEntity(workplace.stores, kind, key);
  return runInspect(inspect, terminal, { kind: parseKind(first), id, json: args.options.has('json') });
};

/** A running node sends a copy of its SQL, so that the export is of one moment and does not hold it up. */
const exportFrom = (workplace: Workplace, terminal: Terminal, args: ExportArgs): Promise<number> => {
  if (!('node' in workplace)) return runExport(workplace.stores.sql, terminal, args);
  const { databaseUrl } = readConfig();
  // A Postgres server answers beside the node.
  if (databaseUrl !== '') return runOnServer(databaseUrl, (sql) => runExport(sql, terminal, args));
  const progress = createProgress(terminal.err, 'Copying', 'MB');
  const showBytes = (done: number, total: number): void =>
    progress.update(Math.round(done / 1_000_000), Math.round(total / 1_000_000));
  return runOnCopy(workplace.node, showBytes, (sql) => {
    progress.stop();
    return runExport(sql, terminal, args);
  });
};

const runWithConfiguredStores: RunWithStores = async (terminal, { command, options }, task) => {
  const config = readConfig();
  const isTrial = options.has('dry-run');
  if (isTrial && config.databaseUrl === '' && !hasDirectory(config.dataDir))
    // An import needs no hot store.
    return runOnEmptySql((sql) => task({ stores: { sql, hot: null as never } }));
  if (command !== 'import') assertFolderUsed(config);
  const runOnStores = async (stores: Stores): Promise<number> => {
    await prepareStores(stores);
    // Rejects when the hot store has the counters of another directory.
    if (command === 'import' && !isTrial && !stores.shared)
      await reconcileGenerations(stores.hot, createLedger(stores.sql));
    return task({ stores });
  };
  const done = await runUnlessLocked(config, terminal, runOnStores);
  return 'node' in done ? task(done) : done.result;
};

/** Node's own stream does not notice that a full disk takes only a part of what it writes to a file. */
const openOutput = (): NodeJS.WritableStream =>
  fstatSync(1).isFile() ? createWriteStream('', { fd: 1, autoClose: false }) : process.stdout;

/** Runs the program's command line on its streams, whose readers may leave (`export - | head`). */
const runProgram = async (signal: AbortSignal): Promise<number> => {
  const { stdin: input, stderr: err } = process;
  const out = openOutput();
  const failures: NodeJS.ErrnoException[] = [];
  out.on('error', (error) => failures.push(error));
  err.on('error', () => {});
  const code = await runCommandLine(process.argv.slice(2), { input, out, err, signal });
  await new Promise((resolve) => out.write('', resolve));
  const [failure] = failures;
  if (code !== 0 || failure === undefined || failure.code === 'EPIPE') return code;
  err.write(`${failure.message}${adviseOn(failure)}\n`);
  return 1;
};

if (import.meta.main) {
  // All files that it creates are for its user alone.
  process.umask(0o077);
  dropHangUp();
  const stop = new AbortController();
  // The first signal lets the current step finish; the second exits at once, which the stores survive.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => (stop.signal.aborted ? process.exit(130) : stop.abort()));
  }
  process.exitCode = await runProgram(stop.signal);
}
