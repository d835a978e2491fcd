/**
 * What nearly every command measures: stores, a directory that was imported into them, and nodes on them.
 *
 * Records every world until it is closed, so that the runner can close what a failed or interrupted run has
 * left.
 */
import type { ImportRecord } from '../../storage/import/kinds.ts';
import { createDirectory, type Directory } from '../scenarios/directory.ts';
import type { ServerProcess } from './process.ts';
import { createFolder, importDirectory, startOn } from './rollcall.ts';
import { openStores, type Stores } from './stores.ts';

export interface WorldOptions {
  /** The kind of stores to open, or stores that are open. */
  readonly stores: Stores['kind'] | Stores;
  readonly bots: number;
  readonly users?: number;
  /** Imported beside the directory. */
  readonly records?: readonly ImportRecord[];
  /** Stores for the peers, too. */
  readonly peers?: boolean;
  /** Settings of each node beside the usual ones. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly profileDir?: string | null;
  /** The `ops/bin/rollcall` of another checkout. */
  readonly program?: string;
  /** Instead of a new one of `bots` and `users`. */
  readonly directory?: Directory;
}

const open = new Set<{ close(): Promise<void> }>();

export const openWorld = async (options: WorldOptions) => {
  const { stores: wanted, bots, users = 1, peers = false, settings = {}, profileDir = null } = options;
  const directory = options.directory ?? createDirectory({ bots, users });
  const folder = createFolder();
  const stores = typeof wanted === 'string' ? await openStores(wanted, peers) : wanted;
  const installation = { folder, stores: stores.rollcall, program: options.program };
  const servers = new Set<ServerProcess>();
  const nodes: ServerProcess[] = [];
  const end = async (server: ServerProcess): Promise<void> => {
    servers.delete(server);
    if (nodes.includes(server)) nodes.splice(nodes.indexOf(server), 1);
    await server.stop();
  };
  const own = async (starting: Promise<ServerProcess>): Promise<ServerProcess> => {
    const server = await starting;
    servers.add(server);
    return server;
  };
  const world = {
    ...{ stores, folder, directory },
    /** Those that run. */
    nodes: nodes as readonly ServerProcess[],
    /** Ends a server with the world, or before. */
    ...{ own, end },
    /** Starts one more node. */
    start: async (more: Readonly<Record<string, string>> = {}): Promise<ServerProcess> => {
      const node = await own(startOn(installation, { ...settings, ...more }, profileDir));
      nodes.push(node);
      return node;
    },
    close: async (): Promise<void> => {
      if (!open.delete(world)) return;
      await Promise.all([...servers].map(end));
      await stores.close();
      folder.remove();
    },
  };
  open.add(world);
  await importDirectory(installation, directory, options.records).catch(async (error: unknown) => {
    await world.close();
    throw error;
  });
  return world;
};
export type World = Awaited<ReturnType<typeof openWorld>>;

/** Closes all that are open. */
export const closeWorlds = async (): Promise<void> => {
  await Promise.all([...open].map((world) => world.close()));
};
