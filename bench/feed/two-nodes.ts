/**
 * How soon a change made on one node reaches a client of another one, on a Redis and a Postgres.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { createDirectory } from '../scenarios/directory.ts';
import type { ServerProcess } from '../servers/process.ts';
import { createFolder, importDirectory, startOn } from '../servers/rollcall.ts';
import { openStores } from '../servers/stores.ts';
import { createPoster, startProbe } from './posts.ts';

const bots = 20;
/** Each bot changes less often than its messages may come. */
const postsPerSecond = 40;
/** Until the nodes know each other. */
const quietMs = 3_000;
/** Longer than any message takes. */
const lastMs = 3_000;

export interface Delays {
  readonly posts: number;
  /** From the acknowledgement to the message, of the posts whose message came. */
  readonly delaysMs: readonly number[];
}

export const measureTwoNodes = async (seconds: number): Promise<Delays> => {
  const directory = createDirectory({ bots, users: 1 });
  const stores = await openStores('redis', false);
  const folder = createFolder();
  const nodes: ServerProcess[] = [];
  const poster = createPoster();
  try {
    await importDirectory(folder, { directory, stores: stores.rollcall });
    for (let count = 0; count < 2; count++)
      nodes.push(await startOn(folder, { profileDir: null, stores: stores.rollcall }));
    const [one, other] = nodes as [ServerProcess, ServerProcess];
    await pause(quietMs);
    await poster.postAll(one.url, directory.bots);
    const delaysMs: number[] = [];
    const probe = await startProbe(other.url, directory.bots, delaysMs);
    const before = poster.acknowledged;
    const plan = { url: one.url, perSecond: postsPerSecond, bots: directory.bots };
    const stop = poster.start(plan, (bot, servers) => probe.acknowledge(bot, servers));
    await pause(seconds * 1_000);
    await stop();
    await pause(lastMs);
    probe.close();
    return { posts: poster.acknowledged - before, delaysMs };
  } finally {
    poster.close();
    await Promise.all(nodes.map((node) => node.stop()));
    await stores.close();
    folder.remove();
  }
};
