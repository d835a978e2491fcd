/**
 * `rollcall ops backup DIR`: copies all data of SQL and, with embedded stores, of the hot store.
 *
 * Contains the order of the steps and the messages; storage/backup/ does the copying. The folder gets its
 * name when the copy is complete and verified. A node that runs on the embedded stores sends the copy itself;
 * Redis and Postgres are backed up beside the nodes.
 */
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { backupFolder } from '../../storage/backup/embedded.ts';
import { type CopySource, type StoreCopy, writeStoreCopy } from '../../storage/backup/live.ts';
import { assertNewFolder, writeBackup } from '../../storage/backup/manifest.ts';
import { backupServers, readServerMajor } from '../../storage/backup/servers.ts';
import { listFolder, type PackContents, syncPath } from '../../storage/embedded/copy.ts';
import { runOnServer } from '../../storage/sql/server.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { CommandError, type Terminal } from './command.ts';
import { assertDirectory, assertFolderUsed, flushToSql, runWithStores } from './flush.ts';
import { createProgress } from './progress.ts';
import { type RunningNode, runUnlessLocked } from './running-node.ts';

export interface BackupArgs {
  readonly directory: string;
  readonly json: boolean;
}

/** Flushes, then writes the backup. Resolves to the exit code. */
export const runBackup = async (config: Config, terminal: Terminal, args: BackupArgs): Promise<number> => {
  const { directory } = args;
  assertNewFolder(directory);
  const startedMs = systemClock.monotonicMs();
  const watch = watchSize(terminal, directory);
  try {
    if (config.databaseUrl === '') await backupEmbedded(config, terminal, directory);
    else if (config.redisUrl.length === 0) await backupAlone(config, terminal, directory);
    else await backupShared(config, terminal, directory);
  } finally {
    watch.stop();
  }
  const bytes = measureFolder(directory);
  const milliseconds = Math.round(systemClock.monotonicMs() - startedMs);
  const cost = `${formatMegabytes(bytes)} MB in ${(milliseconds / 1_000).toFixed(1)} s`;
  const text = `The backup is in ${directory}: ${cost}. It contains secrets: keep it private.\n`;
  terminal.out.write(args.json ? `${JSON.stringify({ directory, bytes, milliseconds })}\n` : text);
  return 0;
};

const formatMegabytes = (bytes: number): string => (bytes / 1_000_000).toFixed(1);

const measureFolder = (folder: string): number =>
  listFolder(folder).files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);

/** The bytes in a folder that may be renamed or removed meanwhile; `null` if it was. */
export const measureDraft = (draft: string): number | null => {
  try {
    return measureFolder(draft);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
};

const watchEveryMs = 500;

/** Shows how much of the backup is written, until it is stopped. */
const watchSize = (terminal: Terminal, directory: string): { stop(): void } => {
  const progress = createProgress(terminal.err, `Backing up to ${directory}`, 'MB');
  const draft = `${resolve(directory)}.unfinished`;
  const timer = setInterval(() => {
    const bytes = measureDraft(draft);
    if (bytes !== null) progress.update(Math.round(bytes / 1_000_000), 0);
  }, watchEveryMs);
  return {
    stop: () => {
      clearInterval(timer);
      progress.stop();
    },
  };
};

const formatNow = (): string => new Date(systemClock.nowMs()).toISOString();

const backupShared = (config: Config, terminal: Terminal, directory: string): Promise<void> =>
  runWithStores(config, terminal, async (stores) => {
    await assertDirectory(stores);
    await flushToSql(stores);
    const { sql, hot } = stores;
    const servers = { sql, hot, databaseUrl: config.databaseUrl, signal: terminal.signal };
    await backupServers(servers, directory, formatNow());
  });

const backupEmbedded = async (config: Config, terminal: Terminal, directory: string): Promise<void> => {
  assertFolderUsed(config);
  const done = await runUnlessLocked(config, terminal, async (stores) => {
    await assertDirectory(stores);
    await flushToSql(stores);
  });
  if ('node' in done) await backupRunning(done.node, directory);
  else await backupFolder(config.dataDir, directory, formatNow());
};

/** A node that runs makes the copy; without one, this process opens the stores and makes the same. */
const backupAlone = async (config: Config, terminal: Terminal, directory: string): Promise<void> => {
  await writeBackup(directory, async (draft) => {
    const done = await runUnlessLocked(config, terminal, async (stores) => {
      await assertDirectory(stores);
      return writeStoreCopy(stores.copySource as CopySource, 'all', draft);
    });
    const copy = 'node' in done ? await done.node.copy('all', draft, () => {}) : done.result;
    const { hot, sql } = copy as StoreCopy & { readonly hot: PackContents };
    for (const part of ['hot', 'sql']) await syncPath(join(draft, `${part}.pack`), false);
    const postgres = await runOnServer(config.databaseUrl, readServerMajor);
    return { format: 1, kind: 'alone', takenAt: formatNow(), postgres, hot, sql };
  });
};

/** The node copies both stores; what is not flushed is in the copy of the hot store. */
const backupRunning = async (node: RunningNode, directory: string): Promise<void> => {
  await writeBackup(directory, async (draft) => {
    const { hot, sql } = await node.copy('all', draft, () => {});
    if (hot === undefined) throw new CommandError('The node has sent no copy of the hot store.');
    return { format: 1, kind: 'embedded', takenAt: formatNow(), hot, sql };
  });
};
