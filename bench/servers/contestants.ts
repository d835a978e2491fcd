/**
 * The measured servers of a run: Rollcall, the bare server, the peers. Starts them, checks that they do their
 * work, ends them.
 *
 * When a server fails the check, the run stops and says what is wrong.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Contestant } from '../measure/round.ts';
import { findFailedClaims, type Skill } from '../peers/check.ts';
import { type Directory, toCode } from '../scenarios/directory.ts';
import { type PeerName, peerNames } from '../scenarios/scenario.ts';
import { type ServerProcess, startServer } from './process.ts';
import { startBare } from './rollcall.ts';
import { findStores } from './stores.ts';
import { openWorld, type World } from './world.ts';

/** Rollcall on the stores of the run, and on its embedded stores beside those. */
export type OwnName = 'rollcall' | 'rollcall-embedded';
export type ServerName = OwnName | 'bare' | PeerName;
/** In the order of reports. */
export const serverNames: readonly ServerName[] = ['bare', 'rollcall', 'rollcall-embedded', ...peerNames];

const allSkills: readonly Skill[] = ['stats', 'read', 'page', 'vote'];

const programs: Readonly<Record<PeerName, string>> = {
  'fastify-redis': '../peers/fastify-redis.ts',
  'fastify-sql': '../peers/fastify-sql.ts',
};

/** Starts a peer, on a free port if none is named; in a database that exists (`address`) it goes on. */
export const startPeer = async (
  name: PeerName,
  { stores, directory, folder }: Pick<World, 'stores' | 'directory' | 'folder'>,
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

const startEmbedded = async ({ directory }: World): Promise<ServerProcess> =>
  (await openWorld({ stores: 'embedded', bots: directory.bots.length, directory })).start();

/** Starts the bare server with answers as long as those of this one. */
export const startBareBeside = async (url: string, { bots: [first] }: Directory): Promise<ServerProcess> => {
  const sizes: Record<string, string> = {};
  for (const [name, path, accept = '*/*'] of [
    ['BODY_BYTES', `/bots/${first?.id}`],
    ['INDEX_BYTES', '/bots/@index'],
    ['BADGE_BYTES', `/badges/bots/${first?.id}/servers.svg`],
    ['LISTING_BYTES', `/@${toCode(first?.id ?? '')}`, 'text/html'],
    ['SEARCH_BYTES', '/search?q=bot-1'],
  ] as const) {
    const response = await fetch(`${url}${path}`, { headers: { Accept: accept } });
    if (!response.ok) throw new Error(`GET ${path} answers ${response.status}`);
    sizes[name] = String((await response.arrayBuffer()).byteLength);
  }
  return startBare(sizes);
};

/** Starts and checks the servers, in the order of reports; they end with the world, or with the run. */
export const startContestants = async (
  world: World,
  { peers, embedded }: { readonly peers: readonly PeerName[]; readonly embedded: boolean },
): Promise<readonly Contestant[]> => {
  const { stores, directory, own } = world;
  const [ours, ...others] = await Promise.all([
    world.start(),
    ...peers.map((name) => own(startPeer(name, world))),
    // On embedded stores of its own, beside those of the run.
    ...(embedded ? [startEmbedded(world)] : []),
  ]);
  const bare = await own(startBareBeside(ours.url, directory));
  const started = new Map<string, ServerProcess>([
    ['rollcall', ours],
    ...[...peers, 'rollcall-embedded'].map((name, index) => [name, others[index]] as [string, ServerProcess]),
    ['bare', bare],
  ]);
  const contestants = serverNames.flatMap((name) => {
    const process = started.get(name);
    return process === undefined ? [] : [{ name, process, stores: findStores(stores, name) }];
  });
  for (const { name, process } of contestants) {
    const failed = await findFailedClaims(process.url, directory, name === 'bare' ? [] : allSkills);
    if (failed.length > 0) throw new Error(`${name} does not do its work: ${failed.join('; ')}`);
  }
  return contestants;
};
