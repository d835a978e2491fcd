/**
 * The servers that `prove` starts itself: a node on embedded stores, a fleet on a Redis and a Postgres, or a
 * peer of the bench; each at a fixed address, so that it can be killed and come back.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Directory } from '../scenarios/directory.ts';
import type { PeerName } from '../scenarios/scenario.ts';
import { startPeer } from '../servers/contestants.ts';
import type { ServerProcess } from '../servers/process.ts';
import { createFolder, importDirectory, startOn } from '../servers/rollcall.ts';
import { openStores, type Stores } from '../servers/stores.ts';
import { findFreePort } from '../shared/free-port.ts';
import type { Random } from '../shared/random.ts';

export const disturbances = ['nodes', 'redis', 'postgres', 'nothing'] as const;
/** What is killed with SIGKILL and started again, one after the other, until the load ends. */
export type Disturbance = (typeof disturbances)[number];

export interface OwnServers {
  readonly urls: readonly string[];
  readonly waitMs: { readonly min: number; readonly max: number } | null;
  /** Kills one and starts it again; resolves when it answers. */
  disturb(what: Disturbance, random: Random): Promise<void>;
  close(): Promise<void>;
}
/** Those of Rollcall. */
export interface OwnNodes extends OwnServers {
  /** The processes that run now. */
  readonly nodes: readonly ServerProcess[];
  readonly stores: Stores;
  readonly dataDir: string;
  /** Stops a node as an operator does, and starts it again after `meanwhile`. */
  restart(node: number, meanwhile?: () => Promise<void>): Promise<void>;
}

export interface OwnOptions {
  readonly directory: Directory;
  /** Nodes on a Redis and a Postgres; 0: one on embedded stores. */
  readonly nodes: number;
  /** Environment of every node beside `settings`. */
  readonly more?: Readonly<Record<string, string>>;
}

const waitHours = 0.01;
/** Between two votes. */
export const waitMs = waitHours * 3_600_000;
/** Short windows and samples, receivers on loopback; all else as an operator gets it. */
export const settings = {
  VOTE_WAIT_HOURS: String(waitHours),
  VOTE_WAIT_PREMIUM_HOURS: String(waitHours),
  VOTE_WAIT_WEEKEND_HOURS: String(waitHours),
  VOTES_PER_WEEKEND_REQUEST: '2',
  HISTORY_FINE_MINUTES: '1',
  WEBHOOK_ADDRESSES: 'any',
};
/** What a redeem takes from. */
export const tier = {
  kind: 'tier',
  id: 'prove',
  target_type: 'bot',
  position: 1,
  votes: 100,
  cents: 100,
} as const;
const downMsMax = 2_000;

interface Place {
  server: ServerProcess;
  readonly start: () => Promise<ServerProcess>;
}

const toServers = (places: readonly Place[], stores: Stores, more: Pick<OwnServers, 'waitMs' | 'close'>) => ({
  ...more,
  urls: places.map(({ server }) => server.url),
  disturb: async (what: Disturbance, random: Random): Promise<void> => {
    const pause = (): Promise<void> => sleep(random.below(downMsMax));
    if (what === 'nodes') {
      const place = random.pick(places);
      await place.server.kill();
      place.server = await place.start();
    } else if (what === 'redis') {
      await stores.redis?.kill();
      await pause();
      await stores.redis?.start();
    } else if (what === 'postgres') {
      await stores.postgres?.stop('immediate');
      await pause();
      await stores.postgres?.start();
    }
  },
});

/** Starts Rollcall with the directory. */
export const startOwn = async ({ directory, nodes, more = {} }: OwnOptions): Promise<OwnNodes> => {
  const stores = await openStores(nodes === 0 ? 'embedded' : 'redis', false);
  const folder = createFolder();
  const places: Place[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(places.map(({ server }) => server.stop()));
    await stores.close();
    folder.remove();
  };
  try {
    await importDirectory(folder, { directory, stores: stores.rollcall }, [tier]);
    for (let count = 0; count < Math.max(1, nodes); count++) {
      const ports = { PORT: String(await findFreePort()), ADMIN_PORT: String(await findFreePort()) };
      const start = (): Promise<ServerProcess> =>
        startOn(folder, { profileDir: null, stores: stores.rollcall }, { ...settings, ...more, ...ports });
      places.push({ start, server: await start() });
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    ...toServers(places, stores, { waitMs: { min: waitMs, max: waitMs }, close }),
    get nodes() {
      return places.map(({ server }) => server);
    },
    stores,
    dataDir: folder.dataDir,
    restart: async (node, meanwhile = async () => {}) => {
      const place = places[node] as Place;
      await place.server.stop();
      await meanwhile();
      place.server = await place.start();
    },
  };
};

/** Starts a peer of the bench on stores of its own. */
export const startOwnPeer = async (name: PeerName, directory: Directory): Promise<OwnServers> => {
  const stores = await openStores('embedded', true);
  const folder = createFolder();
  const port = await findFreePort();
  const address = name === 'fastify-sql' ? await stores.peers?.postgres?.database('prove') : undefined;
  const start = (): Promise<ServerProcess> => startPeer(name, { stores, directory, folder }, port, address);
  const places: Place[] = [{ start, server: await start() }];
  const close = async (): Promise<void> => {
    await Promise.all(places.map(({ server }) => server.kill()));
    await stores.close();
    folder.remove();
  };
  return toServers(places, stores.peers ?? stores, { waitMs: null, close });
};
