/**
 * The embedded hot store with a flipped bit, and with its end cut: the server says what is damaged and what
 * to do, serves the rest, and doing that repairs it.
 */
import { readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { computeShard, toAddress } from '../../engine/ids.ts';
import { toSlotKey } from '../../storage/hot/lmdb/keys.ts';
import { openTables } from '../../storage/hot/lmdb/tables.ts';
import { makeDataFolder, tokenOf } from '../support/directory.ts';
import { makeFolder } from '../support/folder.ts';
import { type StartedNode, spawnNode, startNode } from '../support/node-process.ts';
import { assertNoNote, assertNote } from '../support/notes.ts';
import { until } from '../support/until.ts';

const test = suite('a damaged hot store');
const root = makeFolder('rollcall-damaged-hot-');
const dataDir = join(root, 'data');
const hot = join(dataDir, 'hot');
const { bots, users } = await makeDataFolder(dataDir, { users: 1, bots: 2, servers: 0, teams: 1, packs: 0 });
const [sick = '', healthy = ''] = bots;

const post = (node: StartedNode, bot: string): Promise<Response> =>
  fetch(`${node.url}/bots/stats`, {
    method: 'POST',
    headers: { 'Bot-Auth': tokenOf('bot', bot) },
    body: JSON.stringify({ servers: bot === sick ? 4_242 : 17 }),
  });
const readServers = async (node: StartedNode, bot: string): Promise<unknown> =>
  ((await (await fetch(`${node.url}/bots/${bot}`)).json()) as { servers: unknown }).servers;
const readNotes = async (node: StartedNode): Promise<{ status: number; notes: string }> => {
  const reply = await fetch(`${node.adminUrl}/readyz`);
  const { notes } = (await reply.json()) as { notes: readonly string[] };
  return { status: reply.status, notes: notes.join('\n') };
};

/** Flips a bit of the bot's totals on the disk. */
const flipBit = async (bot: string): Promise<void> => {
  const tables = await openTables(hot);
  const address = toAddress('bot', bot);
  const value = Buffer.from(tables.slots.getBinary(toSlotKey(computeShard(address), address)) as Buffer);
  await tables.root.close();
  const file = join(hot, 'data.mdb');
  const bytes = readFileSync(file);
  for (let at = bytes.indexOf(value); at !== -1; at = bytes.indexOf(value, at + 1)) {
    bytes[at + 20] = (bytes[at + 20] ?? 0) ^ 4;
  }
  writeFileSync(file, bytes);
};

const vote = (node: StartedNode): Promise<Response> => {
  const [user = ''] = users;
  const headers = { 'User-Auth': tokenOf('user', user) };
  return fetch(`${node.url}/users/${user}/bots/${sick}/votes?upvote=true`, { method: 'PUT', headers });
};
const readVotes = async (node: StartedNode): Promise<unknown> =>
  ((await (await fetch(`${node.url}/bots/${sick}`)).json()) as { votes: unknown }).votes;
/** Voids the votes of the damaged bot. */
const resetVotes = (node: StartedNode): Promise<Response> => {
  const token = readFileSync(join(dataDir, 'operator-token'), 'utf8').trim();
  const headers = { Authorization: `Operator ${token}` };
  return fetch(`${node.adminUrl}/bots/${sick}/votes/reset`, { method: 'POST', headers, body: '{}' });
};

test('a flipped bit: 503 for that bot, words in the log and in /readyz; the remedy works', async () => {
  const before = await startNode({ dataDir });
  for (const bot of [sick, healthy]) assert.is((await post(before, bot)).status, 200);
  assert.is((await vote(before)).status, 204);
  assert.is(await readVotes(before), 1);
  await before.stop();
  await flipBit(sick);

  const node = await startNode({ dataDir });
  const first = await post(node, sick);
  const replies = [first, await post(node, sick), await post(node, healthy)];
  const { context } = (await first.json()) as { context: Record<string, string> };
  const reset = await resetVotes(node);
  await until('the change of votes is named', async () =>
    (await readNotes(node)).notes.includes(`wait for the hot store: bot ${sick} (damaged)`),
  );
  const { status, notes } = await readNotes(node);
  const { code } = await node.stop();
  renameSync(hot, join(root, 'damaged'));
  const repaired = await startNode({ dataDir });
  await until('the change of votes applies', async () => (await readVotes(repaired)) === 0);
  const servers = [await readServers(repaired, sick), await readServers(repaired, healthy)];
  const posted = await post(repaired, sick);
  const after = await readNotes(repaired);
  await repaired.stop();

  assert.equal(
    replies.map((reply) => reply.status),
    [503, 503, 200],
  );
  assert.is(first.headers.get('retry-after'), '60');
  assert.is(context.outcome, 'not_applied');
  assert.is(status, 200, 'other listings are counted and shown');
  assertNote('hot_store_damaged', notes.split('\n'));
  assertNoNote('hot_store_damaged', [after.notes]);
  assert.match(notes, /The embedded hot store is damaged \(slots\).*move .*hot away and start it again/);
  assert.is(node.output().match(/The embedded hot store is damaged/g)?.length, 1, node.output());
  assert.is(code, 0);
  assert.is(reset.status, 200, 'the votes are void in SQL');
  assert.equal(servers, [4_242, 17], 'totals come from SQL');
  assert.is(posted.status, 200);
  assert.equal(after, { status: 200, notes: '' });
});

test('a cut file: the start is refused with what to do', async () => {
  truncateSync(join(hot, 'data.mdb'), 5 * 4_096);

  const refused = spawnNode({ dataDir });
  const { code } = await refused.exited;

  assert.is(code, 1);
  assert.match(
    refused.output(),
    /The embedded hot store in .*hot is damaged .*Stop the server, move .* away/,
  );
});

test.run();
