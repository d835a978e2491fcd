/**
 * The servers that `prove`, `day` and `elastic` start themselves: a node on embedded stores, a fleet on a
 * Redis and a Postgres, or a peer of the bench; each at a fixed address, so that it can be killed and come
 * back.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createDirectory, type Directory } from '../scenarios/directory.ts';
import type { PeerName } from '../scenarios/scenario.ts';
import { startPeer } from '../servers/contestants.ts';
import type { ServerProcess } from '../servers/process.ts';
import { createFolder } from '../servers/rollcall.ts';
import { openStores, type Stores } from '../servers/stores.ts';
import { openWorld, type World } from '../servers/world.ts';
import { findFreePort } from '../shared/free-port.ts';
import type { Random } from '../shared/random.ts';

export const disturbances = ['nodes', 'redis', 'postgres', 'nothing'] as const;
/** What is killed with SIGKILL and started again, one after the other, until the load ends. */
export type Disturbance = (typeof disturbances)[number];

export interface OwnServers {
  readonly urls: readonly string[];
  readonly directory: Directory;
  readonly waitMs: { readonly min: number; readonly max: number } | null;
  /** Kills one and starts it again; resolves when it answers. */
  disturb(what: Disturbance, random: Random): Promise<void>;
  close(): Promise<void>;
}
/** Those of Rollcall. */
export interface OwnNodes extends OwnServers {
  /** The processes that run now. */
  readonly nodes: readonly ServerProcess[];
  readonly world: World;
  /** Stops a node as an operator does, and starts it again after `meanwhile`. */
  restart(node: number, meanwhile?: () => Promise<void>): Promise<void>;
}

interface OwnOptions {
  readonly bots: number;
  readonly users: number;
  /** Nodes on a Redis and a Postgres; 0: one on embedded stores. */
  readonly nodes: number;
  /** Environment of every node beside `settings`. */
  readonly more?: Readonly<Record<string, string>>;
}

const waitHours = 0.01;
/** Between two votes. */
const waitMs = { min: waitHours * 3_600_000, max: waitHours * 3_600_000 };
/** Short windows and samples, receivers on loopback; all else as an operator gets it. */
const settings = {
  VOTE_WAIT_HOURS: String(waitHours),
  VOTE_WAIT_PREMIUM_HOURS: String(waitHours),
  VOTE_WAIT_WEEKEND_HOURS: String(waitHours),
  VOTES_PER_WEEKEND_REQUEST: '2',
  HISTORY_FINE_MINUTES: '1',
  WEBHOOK_ADDRESSES: 'any',
};
/** What a redeem takes from. */
const tier = { kind: 'tier', id: 'prove', target_type: 'bot', position: 1, votes: 100, cents: 100 } as const;
const downMsMax = 2_000;

interface Place {
  server: ServerProcess;
  readonly start: () => Promise<ServerProcess>;
}

const createDisturb =
  (places: readonly Place[], { redis, postgres }: Stores): OwnServers['disturb'] =>
  async (what, random) => {
    const pause = (): Promise<void> => sleep(random.below(downMsMax));
    if (what === 'nodes') {
      const place = random.pick(places);
      await place.server.kill();
      place.server = await place.start();
    } else if (what === 'redis') {
      await redis?.kill();
      await pause();
      await redis?.start();
    } else if (what === 'postgres') {
      await postgres?.stop('immediate');
      await pause();
      await postgres?.start();
    }
  };

/** Stores with a directory, for nodes that are driven and judged. */
export const openOwnWorld = (
  stores: Stores['kind'] | Stores,
  { bots, users, more = {} }: Omit<OwnOptions, 'nodes'>,
): Promise<World> => openWorld({ stores, bots, users, records: [tier], settings: { ...settings, ...more } });

/** What `prove` has to know of it. */
export const toSubject = ({ directory }: World) => ({
  ...{ directory, waitMs, isDirect: true, clocksMs: 5, firstId: 1 },
});

/** Starts Rollcall with the directory. */
export const startOwn = async ({ nodes, ...options }: OwnOptions): Promise<OwnNodes> => {
  const world = await openOwnWorld(nodes === 0 ? 'embedded' : 'redis', options);
  const places: Place[] = [];
  for (let count = 0; count < Math.max(1, nodes); count++) {
    const ports = { PORT: String(await findFreePort()), ADMIN_PORT: String(await findFreePort()) };
    const start = (): Promise<ServerProcess> => world.start(ports);
    places.push({ start, server: await start() });
  }
  return {
    ...toSubject(world),
    urls: places.map(({ server }) => server.url),
    get nodes() {
      return places.map(({ server }) => server);
    },
    world,
    disturb: createDisturb(places, world.stores),
    restart: async (node, meanwhile = async () => {}) => {
      const place = places[node] as Place;
      await world.end(place.server);
      await meanwhile();
      place.server = await place.start();
    },
    close: world.close,
  };
};

/** Starts a peer of the bench on stores of its own. */
export const startOwnPeer = async (
  name: PeerName,
  { bots, users }: Omit<OwnOptions, 'nodes'>,
): Promise<OwnServers> => {
  const directory = createDirectory({ bots, users });
  const stores = await openStores('embedded', true);
  const folder = createFolder();
  const port = await findFreePort();
  const address = name === 'fastify-sql' ? await stores.peers?.postgres?.database('prove') : undefined;
  const start = (): Promise<ServerProcess> => startPeer(name, { stores, directory, folder }, port, address);
  const places: Place[] = [{ start, server: await start() }];
  return {
    urls: places.map(({ server }) => server.url),
    ...{ directory, waitMs: null, disturb: createDisturb(places, stores.peers ?? stores) },
    close: async () => {
      await Promise.all(places.map(({ server }) => server.kill()));
      await stores.close();
      folder.remove();
    },
  };
};
