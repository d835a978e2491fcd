/**
 * `rollcall ops move`: moves the directory of the settings to other stores, without loss.
 *
 * Opens both pairs of stores, and says what was done; storage/move/ does it. A command that was interrupted,
 * however, goes on when it is given again.
 */
import { copyFileSync, existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { toMessage } from '../../engine/errors.ts';
import { formatCounted } from '../../http/operator/page/format.ts';
import { readMark } from '../../storage/move/marks.ts';
import { applyMove, endMove } from '../../storage/move/move.ts';
import type { Stores } from '../../storage/open.ts';
import { prepareStores } from '../../storage/prepare.ts';
import { readSystemMs, systemClock } from '../clock.ts';
import { type Config, readConfig } from '../config/config.ts';
import { operatorTokenFile } from '../config/operator-token.ts';
import { checkClock } from '../start-clock.ts';
import { CommandError, type Terminal } from './command.ts';
import { flushToSql, runWithStores } from './flush.ts';
import { createProgress } from './progress.ts';

export interface MoveArgs {
  /** Addresses of the new stores; `''` for an embedded one. */
  readonly redis: string;
  readonly database: string;
  /** The new DATA_DIR; `''` for the present one. */
  readonly data: string;
  /** Opens the present stores again after an interrupted move. */
  readonly undo: boolean;
}

type Place = Pick<Config, 'dataDir' | 'redisUrl' | 'databaseUrl'>;

/** Moves, continues or gives up. Resolves to the exit code. */
export const runMove = async (config: Config, terminal: Terminal, args: MoveArgs): Promise<number> => {
  if (args.undo) return runUndo(config, terminal);
  const to = readPlace(args, config.dataDir);
  assertOther(config, to);
  const progress = createProgress(terminal.err, `Moving to ${describePlace(to)}`, 'records');
  const startedMs = systemClock.monotonicMs();
  const copied = await runWithStores(config, terminal, (source) =>
    runOnTarget({ ...config, ...to }, terminal, (target) =>
      applyMove({
        source,
        target,
        from: describePlace(config),
        to: describePlace(to),
        flush: () => flushSource(source),
        onProgress: progress.update,
      }),
    ),
  ).finally(progress.stop);
  keepOperatorToken(config.dataDir, to.dataDir);
  const seconds = ((systemClock.monotonicMs() - startedMs) / 1_000).toFixed(1);
  terminal.out.write(
    `Moved ${formatCounted(copied, 'record')} in ${seconds} s. The directory is in ${describePlace(to)} ` +
      'now: start the nodes with these settings. The former stores do not start any more; delete them ' +
      'when you like.\n',
  );
  return 0;
};

/** Settings, and the options that name the same of the new stores. */
const optionNames = { REDIS_URL: '--to-redis', DATABASE_URL: '--to-database', DATA_DIR: '--to-data' };

const nameOptions = (error: unknown, exitCode: 1 | 2): CommandError => {
  const names = Object.entries(optionNames);
  const message = names.reduce((text, [from, to]) => text.replaceAll(from, to), toMessage(error));
  return new CommandError(message, exitCode);
};

/** Checks the addresses as settings are checked. */
const readPlace = ({ redis, database, data }: MoveArgs, dataDir: string): Place => {
  if (redis !== '' && database === '')
    throw new CommandError('--to-redis needs --to-database: Redis counts beside a Postgres.', 2);
  try {
    const place = readConfig({ REDIS_URL: redis, DATABASE_URL: database, DATA_DIR: data || dataDir });
    return { redisUrl: place.redisUrl, databaseUrl: place.databaseUrl, dataDir: place.dataDir };
  } catch (error) {
    throw nameOptions(error, 2);
  }
};

/** Runs a task on the new stores. Their options are named when they cannot be opened. */
const runOnTarget = async <Result>(
  config: Config,
  terminal: Terminal,
  task: (target: Stores) => Promise<Result>,
): Promise<Result> => {
  let isOpen = false;
  const run = (target: Stores): Promise<Result> => {
    isOpen = true;
    return task(target);
  };
  return runWithStores(config, terminal, run).catch((error: unknown) => {
    throw isOpen ? error : nameOptions(error, 1);
  });
};

const runUndo = async (config: Config, terminal: Terminal): Promise<number> => {
  await runWithStores(config, terminal, endMove);
  terminal.out.write(
    'The move was given up: this directory can be started. Empty the stores it was moving to.\n',
  );
  return 0;
};

/** Migrates, unless an interrupted move has closed the directory, and flushes. */
const flushSource = async (source: Stores): Promise<void> => {
  if ((await readMark(source.sql)) === null) await prepareStores(source);
  await checkClock(source, { nowMs: readSystemMs(), accept: false, report: () => {} });
  await flushToSql(source);
};

const assertOther = (from: Place, to: Place): void => {
  const isEmbedded = to.redisUrl.length === 0 || to.databaseUrl === '';
  const usesFolder = from.redisUrl.length === 0 || from.databaseUrl === '';
  if (to.databaseUrl !== '' && to.databaseUrl === from.databaseUrl)
    throw new CommandError('--to-database names the present database: name an empty one.', 2);
  if (isEmbedded && usesFolder && resolve(to.dataDir) === resolve(from.dataDir))
    throw new CommandError('Name another folder with --to-data: the present one has stores already.', 2);
};

/** The stores as people know them, without passwords. */
const describePlace = ({ dataDir, redisUrl, databaseUrl }: Place): string => {
  const servers = [...redisUrl, databaseUrl].filter((url) => url !== '').map(formatAddress);
  const isEmbedded = redisUrl.length === 0 || databaseUrl === '';
  return [...(isEmbedded ? [resolve(dataDir)] : []), ...servers].join(' and ');
};

const formatAddress = (url: string): string => {
  if (!URL.canParse(url)) return 'an address';
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
};

/** The token of operators is a file, unless ADMIN_TOKEN is set. */
const keepOperatorToken = (from: string, to: string): void => {
  const [present, other] = [join(from, operatorTokenFile), join(to, operatorTokenFile)];
  if (existsSync(present) && !existsSync(other)) copyFileSync(present, other);
};
