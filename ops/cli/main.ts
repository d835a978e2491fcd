/**
 * `npm run ops -- COMMAND`: the operator's command line.
 *
 * Parses the words, opens the stores of the settings, runs one command, closes them. Results go to standard
 * output, everything else to standard error. Exit codes: 0 done, 1 failed, 2 not understood, 130 interrupted
 * (what was done stays, and the command can be repeated).
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { reconcileGenerations } from '../../engine/flush/generations.ts';
import { createLedger } from '../../storage/ledger/ledger.ts';
import { openStores, type Stores } from '../../storage/open.ts';
import { migrate } from '../../storage/sql/migrate.ts';
import { systemClock } from '../clock.ts';
import { type Config, readConfig } from '../config.ts';
import { runBackup } from './backup.ts';
import { CommandError, type Terminal } from './command.ts';
import { runExport } from './export.ts';
import { runImport } from './import.ts';
import { parseKind, runInspect } from './inspect.ts';
import { findNearest } from './nearest.ts';
import { groups } from './operator/arguments.ts';
import { formatOperationHelp, isOperatorGroup, runOperation } from './operator/run.ts';
import { runReflush, runRestore } from './restore.ts';
import { commandHelps, formatCommandHelp, formatUsage } from './usage.ts';

interface ParsedArgs {
  readonly command: string;
  readonly operands: readonly string[];
  readonly skipBad: boolean;
  readonly json: boolean;
  readonly help: boolean;
}

const operandCounts: Readonly<Record<string, number>> = {
  import: 1,
  export: 1,
  inspect: 2,
  backup: 1,
  restore: 1,
  reflush: 0,
};

const parse = (argv: readonly string[]): ParsedArgs => {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        'skip-bad': { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    const [command = '', ...operands] = positionals;
    return { command, operands, skipBad: values['skip-bad'], json: values.json, help: values.help };
  } catch (error) {
    const words = (error as Error).message.split('. ')[0] ?? 'unknown option';
    throw new CommandError(`${words}. See: npm run ops -- help`, 2);
  }
};

/** Says what is wrong with the words before any store is opened. */
const assertWords = ({ command, operands, skipBad, json }: ParsedArgs): void => {
  const known = commandHelps.map(({ name }) => name);
  const help = commandHelps.find(({ name }) => name === command);
  if (help === undefined) {
    const meant = findNearest(command, [...known, ...groups]);
    const others = `Commands are ${known.join(', ')}, and those for a running node: ${groups.join(', ')}.`;
    const hint = meant === null ? others : `Did you mean "${meant}"?`;
    throw new CommandError(`There is no command "${command}". ${hint}`, 2);
  }
  const wanted = operandCounts[command];
  const misplaced = (skipBad && command !== 'import') || (json && command !== 'inspect');
  if ((wanted !== undefined && operands.length !== wanted) || misplaced) {
    throw new CommandError(`Usage: npm run ops -- ${help.usage}`, 2);
  }
  if (command === 'inspect') parseKind(operands[0] ?? '');
};

/** Opens stores for one task and closes them after it; tests lend theirs. */
export type RunWithStores = (
  terminal: Terminal,
  words: Pick<ParsedArgs, 'command'>,
  task: (stores: Pick<Stores, 'sql' | 'hot'>) => Promise<number>,
) => Promise<number>;

/** These open and close the stores themselves, for they copy or replace them. */
const keepers: Readonly<
  Record<string, (config: Config, terminal: Terminal, operand: string) => Promise<number>>
> = { backup: runBackup, restore: runRestore, reflush: runReflush };

/** Runs one command line. Resolves to the exit code; never rejects. */
export const runCommandLine = async (
  argv: readonly string[],
  terminal: Terminal,
  withStores: RunWithStores = runWithConfiguredStores,
): Promise<number> => {
  try {
    const asked = parseOperatorArgs(argv);
    if (asked !== null) {
      if (!asked.help) return await runOperation(asked.words, terminal, readConfig());
      terminal.out.write(formatOperationHelp(asked.words));
      return 0;
    }
    const words = parse(argv);
    if (words.command === '' && !words.help) {
      terminal.err.write(formatUsage());
      return 2;
    }
    if (words.command === '' || words.command === 'help' || words.help) return showHelp(words, terminal);
    assertWords(words);
    const keeping = keepers[words.command];
    if (keeping !== undefined) return await keeping(readConfig(), terminal, words.operands[0] ?? '');
    return await withStores(terminal, words, (stores) => run(words, stores, terminal));
  } catch (error) {
    terminal.err.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof CommandError ? error.exitCode : 1;
  }
};

/** Words for a running node; `null` for a command of our own. */
const parseOperatorArgs = (argv: readonly string[]): { words: readonly string[]; help: boolean } | null => {
  const asksHelp = argv[0] === 'help' || argv.some((word) => word === '--help' || word === '-h');
  const words = argv.filter((word) => word !== '--help' && word !== '-h').slice(argv[0] === 'help' ? 1 : 0);
  if (!isOperatorGroup(words[0] ?? '')) return null;
  return { words, help: asksHelp || words.length === 1 };
};

const showHelp = ({ command, operands }: ParsedArgs, terminal: Terminal): number => {
  const topic = command === 'help' ? operands[0] : command;
  const help = commandHelps.find(({ name }) => name === topic && name !== 'help');
  if (topic !== undefined && topic !== '' && help === undefined && topic !== 'help') {
    assertWords({ command: topic, operands: [], skipBad: false, json: false, help: false });
  }
  terminal.out.write(help ? formatCommandHelp(help) : formatUsage());
  return 0;
};

const run = (words: ParsedArgs, stores: Pick<Stores, 'sql' | 'hot'>, terminal: Terminal): Promise<number> => {
  const [first = '', second = ''] = words.operands;
  if (words.command === 'import')
    return runImport(stores.sql, terminal, { path: first, skipBad: words.skipBad });
  if (words.command === 'export') return runExport(stores.sql, terminal, first);
  return runInspect(stores, terminal, { kind: parseKind(first), id: second, json: words.json });
};

/** Only an import may begin a directory: elsewhere an empty one would hide that DATA_DIR is mistyped. */
const assertThere = ({ dataDir, databaseUrl }: Config, command: string): void => {
  if (command === 'import' || databaseUrl !== '' || existsSync(join(dataDir, 'sql'))) return;
  throw new CommandError(`There is no directory in ${resolve(dataDir)}. Say where it is with DATA_DIR.`);
};

/** Before an import, so that the snapshot at its end has generations. Throws when the stores do not fit. */
const beginGenerations = async (stores: Stores): Promise<void> => {
  await reconcileGenerations(stores.hot, createLedger(stores.sql), stores.reflush);
  stores.markReflushed();
};

const runWithConfiguredStores: RunWithStores = async (terminal, { command }, task) => {
  const onWarning = (words: string, error: unknown): void =>
    void terminal.err.write(`${words}: ${error instanceof Error ? error.message : String(error)}\n`);
  const config = readConfig();
  assertThere(config, command);
  const stores = await openStores(config, { clock: systemClock.nowMs, onWarning });
  try {
    for (const note of stores.notes) terminal.err.write(`${note}\n`);
    await migrate(stores.sql);
    if (command === 'import' && !stores.shared) await beginGenerations(stores);
    return await task(stores);
  } finally {
    await stores.close();
  }
};

if (import.meta.main) {
  const stop = new AbortController();
  // The first signal lets the step under way finish; the second ends at once, which the stores survive.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => (stop.signal.aborted ? process.exit(130) : stop.abort()));
  }
  const { stdout: out, stderr: err } = process;
  process.exitCode = await runCommandLine(process.argv.slice(2), { out, err, signal: stop.signal });
}
