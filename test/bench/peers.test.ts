/**
 * The servers Rollcall is measured against do their work: the check that each run makes, on real stores, and
 * a server that does not do it is found out.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { countAcceptedVotes, findFailedClaims } from '../../bench/peers/check.ts';
import { createDirectory } from '../../bench/scenarios/directory.ts';
import { startPeer } from '../../bench/servers/contestants.ts';
import type { ServerProcess } from '../../bench/servers/process.ts';
import { createFolder, startBare } from '../../bench/servers/rollcall.ts';
import { openStores } from '../../bench/servers/stores.ts';
import { assertIncludes } from '../support/assert-includes.ts';

const test = suite('bench peers');
const directory = createDirectory({ bots: 20, users: 10 });
const folder = createFolder();
const started: ServerProcess[] = [];

const stores = await openStores('embedded', true);
test.after(async () => {
  await Promise.all(started.map((server) => server.stop()));
  await stores.close();
  folder.remove();
});

const start = async (starting: Promise<ServerProcess>): Promise<string> => {
  const server = await starting;
  started.push(server);
  return server.url;
};

test('Fastify on Redis does all, and lets one of many simultaneous votes through', async () => {
  const url = await start(startPeer('fastify-redis', { stores, directory, folder }));

  assert.equal(await findFailedClaims(url, directory, ['stats', 'read', 'page', 'vote']), []);
  assert.is(await countAcceptedVotes(url, directory, 50), 1);
});

test('Fastify on SQL does all', async () => {
  const url = await start(startPeer('fastify-sql', { stores, directory, folder }));

  assert.equal(await findFailedClaims(url, directory, ['stats', 'read', 'page', 'vote']), []);
});

test('a server that only answers is found out', async () => {
  const url = await start(startBare());

  const failed = await findFailedClaims(url, directory, ['stats', 'vote']);

  assertIncludes(failed, 'an acknowledged post is read back at once');
  assertIncludes(failed, 'a vote counts once, and the next one has to wait');
});

test.run();
