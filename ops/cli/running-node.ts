/**
 * Lets commands work on embedded stores that a running node uses: through its private listener.
 *
 * The lock of the data folder says that a process owns it; the node proves that it is that process before
 * anything is read or written.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EntityKind } from '../../engine/ids.ts';
import type { ImportedLines, ImportOutcome } from '../../http/operator/stores.ts';
import { type CopyParts, receiveCopy } from '../../storage/backup/live.ts';
import { unpack } from '../../storage/embedded/copy.ts';
import { DataLocked, readLockOwner } from '../../storage/embedded/lock.ts';
import { openEmbeddedSql } from '../../storage/embedded/pglite.ts';
import type { Inspection } from '../../storage/export/inspect.ts';
import type { Stores } from '../../storage/open.ts';
import type { Sql } from '../../storage/sql/client.ts';
import { migrate } from '../../storage/sql/migrate.ts';
import type { Config } from '../config/config.ts';
import { CommandError, type Terminal } from './command.ts';
import { runWithStores } from './flush.ts';
import { findKey, getNodeUrl, readReply, sendRequest } from './operator/call.ts';

export type RunningNode = NonNullable<Awaited<ReturnType<typeof findRunningNode>>>;

/** What a command works on: open stores, or the node that has them open. */
export type Workplace = { readonly stores: Pick<Stores, 'sql' | 'hot'> } | { readonly node: RunningNode };

const throwRefusal = async (response: Response, url: string): Promise<never> => {
  const { answer } = await readReply(response, url);
  throw new CommandError(`The node refuses: ${String(answer.message)}`);
};

/**
 * Finds the node that owns the data folder. Resolves to `null` when no process has locked the folder. Throws
 * `CommandError` when the node does not answer, or when another one does.
 */
const findRunningNode = async (config: Config, stop: AbortSignal) => {
  const owner = readLockOwner(config.dataDir);
  if (owner === '') return null;
  const [key, url] = [findKey(config), getNodeUrl(config)];
  const send = async (method: string, path: string, body?: object): Promise<Response> => {
    const request = { method, path, body: body === undefined ? undefined : JSON.stringify(body), stop };
    const response = await sendRequest(config, key, request);
    return response.ok ? response : throwRefusal(response, url);
  };
  const call = async (method: string, path: string, body?: object): Promise<unknown> =>
    (await readReply(await send(method, path, body), url)).answer;
  const found = (await call('GET', '/stores/owner')) as { readonly owner: string };
  if (found.owner !== owner)
    throw new CommandError(
      `The node at ${url} does not use ${config.dataDir}. Set DATA_DIR, or ADMIN_HOST and ADMIN_PORT.`,
    );
  return {
    inspect: async (kind: EntityKind, id: string) =>
      (await call('GET', `/stores/inspect/${kind}/${encodeURIComponent(id)}`)) as Inspection,
    /** Writes a copy of the stores into `folder`; `onBytes` gets the bytes so far and in all. */
    copy: async (parts: CopyParts, folder: string, onBytes: (done: number, total: number) => void) => {
      const { body } = await send('POST', '/stores/copy', { parts });
      return receiveCopy(body as AsyncIterable<Uint8Array>, folder, onBytes);
    },
    /** Records that an import of the file begins. Resolves to the id of the record. */
    beginImport: async (file: string) => {
      const begun = (await call('POST', '/stores/import', { file })) as { readonly import_id: number };
      return begun.import_id;
    },
    /** Reserves vanity codes for the lines that request them. */
    keepCodes: async (import_id: number, codes: readonly string[]) =>
      void (await call('POST', '/stores/import/codes', { import_id, codes })),
    /** Imports all lines, or none when one is bad. */
    importLines: async (import_id: number, lines: readonly string[]) =>
      (await call('POST', '/stores/import/lines', { import_id, lines })) as ImportedLines,
    /** Completes that record. */
    endImport: async (import_id: number, outcome: ImportOutcome) =>
      void (await call('POST', '/stores/import/end', { import_id, outcome })),
  };
};

/**
 * Runs a task on the stores. Resolves to its result, or, when a running node has locked them, to that node;
 * then nothing was done.
 */
export const runUnlessLocked = async <Result>(
  config: Config,
  terminal: Terminal,
  task: (stores: Stores) => Promise<Result>,
): Promise<{ readonly result: Result } | { readonly node: RunningNode }> => {
  try {
    return { result: await runWithStores(config, terminal, task) };
  } catch (error) {
    if (!(error instanceof DataLocked)) throw error;
    const node = await findRunningNode(config, terminal.signal).catch((reason: Error) => {
      throw new CommandError(
        `${error.message}\nThe command did not find a node to work through: ${reason.message}`,
        reason instanceof CommandError ? reason.exitCode : 1,
      );
    });
    if (node === null) throw error;
    return { node };
  }
};

/** Runs a task on a copy of the SQL of a running node, in a folder that is removed after it. */
export const runOnCopy = <Result>(
  node: RunningNode,
  onBytes: (done: number, total: number) => void,
  task: (sql: Sql) => Promise<Result>,
): Promise<Result> => {
  return runInFolder(async (folder) => {
    const copy = await node.copy('sql', folder, onBytes);
    await unpack(join(folder, 'sql.pack'), copy.sql, join(folder, 'sql'));
    await rm(join(folder, 'sql.pack'));
  }, task);
};

/** Runs a task on the SQL of a new directory, in a folder that is removed after it. */
export const runOnEmptySql = <Result>(task: (sql: Sql) => Promise<Result>): Promise<Result> =>
  runInFolder(
    async () => {},
    async (sql) => {
      await migrate(sql);
      return task(sql);
    },
  );

/** Prepares a folder of its own, runs the task on the SQL in its folder `sql`, and removes it. */
const runInFolder = async <Result>(
  prepare: (folder: string) => Promise<void>,
  task: (sql: Sql) => Promise<Result>,
): Promise<Result> => {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-copy-'));
  try {
    await prepare(folder);
    const embedded = await openEmbeddedSql({ directory: join(folder, 'sql') });
    return await task(embedded.sql).finally(embedded.close);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};
