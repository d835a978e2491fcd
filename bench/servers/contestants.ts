/**
 * The measured servers of a run: Rollcall, the bare server, the peers. Starts them, checks that they do their
 * work, ends them.
 *
 * When a server fails the check, the run stops and says what is wrong.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findFailedClaims, type Skill } from '../peers/check.ts';
import { type Directory, toCode } from '../scenarios/directory.ts';
import { type PeerName, peerNames } from '../scenarios/scenario.ts';
import { type ServerProcess, startServer } from './process.ts';
import { type BodySizes, type Folder, startBare, startRollcall } from './rollcall.ts';
import type { Stores } from './stores.ts';

/** Rollcall on the stores of the run, and on its embedded stores beside those. */
export type OwnName = 'rollcall' | 'rollcall-embedded';
export type ServerName = OwnName | 'bare' | PeerName;
/** In the order of reports. */
export const serverNames: readonly ServerName[] = ['bare', 'rollcall', 'rollcall-embedded', ...peerNames];

const skillsByServer: Readonly<Record<ServerName, readonly Skill[]>> = {
  bare: [],
  rollcall: ['stats', 'read', 'page', 'vote'],
  'rollcall-embedded': ['stats', 'read', 'page', 'vote'],
  'fastify-redis': ['stats', 'read', 'page', 'vote'],
  'fastify-sql': ['stats', 'read', 'page', 'vote'],
};

export type Contestants = ReadonlyMap<ServerName, ServerProcess>;

export interface Wanted {
  readonly stores: Stores;
  readonly directory: Directory;
  readonly folder: Folder;
  readonly peers: readonly PeerName[];
  /** Whether Rollcall runs a second time, on embedded stores. */
  readonly embedded: boolean;
  readonly profileDir: string | null;
}

const programs: Readonly<Record<PeerName, string>> = {
  'fastify-redis': '../peers/fastify-redis.ts',
  'fastify-sql': '../peers/fastify-sql.ts',
};

/** Starts a peer, on a free port if none is named; in a database that exists (`address`) it goes on. */
export const startPeer = async (
  name: PeerName,
  { stores, directory, folder }: Pick<Wanted, 'stores' | 'directory' | 'folder'>,
  port = 0,
  address: string | undefined = undefined,
): Promise<ServerProcess> => {
  const file = join(folder.path, 'directory.json');
  writeFileSync(file, JSON.stringify(directory));
  const { redis = null, postgres = null } = stores.peers ?? {};
  const store =
    name === 'fastify-redis'
      ? redis?.url
      : (address ?? (await postgres?.database(name.replaceAll('-', '_'))));
  const settings = {
    PEER_STORE: store ?? '',
    PEER_DIRECTORY: file,
    PEER_PORT: String(port),
    NODE_ENV: 'production',
  };
  return startServer({ file: programs[name], settings });
};

const startEmbedded = ({ directory, folder }: Wanted): Promise<ServerProcess> => {
  const path = join(folder.path, 'embedded');
  mkdirSync(path);
  const stores = { REDIS_URL: '', DATABASE_URL: '' };
  return startRollcall({ ...folder, path }, { directory, profileDir: null, stores });
};

/** The body sizes of the bare server, so that both servers send the same number of bytes. */
export const readBodySizes = async (url: string, { bots }: Directory): Promise<BodySizes> => {
  const size = async (path: string, accept = '*/*'): Promise<number> => {
    const response = await fetch(`${url}${path}`, { headers: { Accept: accept } });
    if (!response.ok) throw new Error(`GET ${path} answers ${response.status}`);
    return (await response.arrayBuffer()).byteLength;
  };
  return {
    bot: await size(`/bots/${bots[0]?.id}`),
    index: await size('/bots/@index'),
    badge: await size(`/badges/bots/${bots[0]?.id}/servers.svg`),
    listing: await size(`/@${toCode(bots[0]?.id ?? '')}`, 'text/html'),
    search: await size('/search?q=bot-1'),
  };
};

/** Starts and checks the servers; passes each to `started` at once, so that the caller can always end it. */
export const startContestants = async (
  wanted: Wanted,
  started: Map<ServerName, ServerProcess>,
): Promise<Contestants> => {
  const { stores, directory, folder, peers, profileDir } = wanted;
  const keep = async (name: ServerName, starting: Promise<ServerProcess>): Promise<void> => {
    started.set(name, await starting);
  };
  await Promise.all([
    keep('rollcall', startRollcall(folder, { directory, profileDir, stores: stores.rollcall })),
    ...peers.map((name) => keep(name, startPeer(name, wanted))),
    ...(wanted.embedded ? [keep('rollcall-embedded', startEmbedded(wanted))] : []),
  ]);
  const { url } = started.get('rollcall') as ServerProcess;
  await keep('bare', startBare(await readBodySizes(url, directory)));
  for (const [name, server] of started) {
    const failed = await findFailedClaims(server.url, directory, skillsByServer[name]);
    if (failed.length > 0) throw new Error(`${name} does not do its work: ${failed.join('; ')}`);
  }
  return started;
};
