/**
 * A table of the embedded SQL whose file was emptied while the node was stopped: requests that need it get
 * 503 with an outcome, `/readyz` and one log line say what to do.
 */
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeDataFolder, openAtRest, tokenOf } from '../support/directory.ts';
import { makeFolder } from '../support/folder.ts';
import { type StartedNode, startNode } from '../support/node-process.ts';

const test = suite('a damaged table');
const root = makeFolder('rollcall-damaged-');
const dataDir = join(root, 'data');
const sql = join(dataDir, 'postgres');
let bots: readonly string[] = [];
({ bots } = await makeDataFolder(dataDir, { users: 1, bots: 1, servers: 0, teams: 1, packs: 0 }));
const stores = await openAtRest(dataDir);
const [file] = await stores.sql<{ path: string }[]>`select pg_relation_filepath('totals') as path`;
await stores.close();
truncateSync(join(sql, file?.path ?? ''), 0);

const post = (node: StartedNode): Promise<Response> =>
  fetch(`${node.url}/bots/stats`, {
    method: 'POST',
    headers: { 'Bot-Auth': tokenOf('bot', bots[0] ?? '') },
    body: '{"servers":4242}',
  });
const readReadiness = async (node: StartedNode): Promise<{ status: number; notes: string }> => {
  const reply = await fetch(`${node.adminUrl}/readyz`);
  const { notes } = (await reply.json()) as { notes: readonly string[] };
  return { status: reply.status, notes: notes.join('\n') };
};
const instructions =
  /The embedded SQL in .* is damaged \(XX001: .*\).* answered 503.*restore a backup .*reflush/;

test('requests that need it get 503 with an outcome; the log has it once, and /readyz', async () => {
  const node = await startNode({ dataDir });
  const replies = [];
  for (let count = 0; count < 5; count++) replies.push(await post(node));
  const body = (await replies[0]?.json()) as { context: Record<string, string> };
  const { status, notes } = await readReadiness(node);
  const { code } = await node.stop();

  assert.equal([...new Set(replies.map((reply) => reply.status))], [503], JSON.stringify(body));
  assert.is(body.context.code, 'store_unavailable');
  assert.is(body.context.outcome, 'not_applied');
  assert.is(replies[0]?.headers.get('retry-after'), '60');
  assert.is(status, 200, 'other listings are counted and shown');
  assert.match(notes, instructions);
  assert.is(code, 0);
  const lines = node
    .output()
    .split('\n')
    .filter((line) => /Z error /.test(line) && !line.includes('a job failed'));
  assert.is(lines.length, 1, lines.join('\n'));
  assert.match(lines[0] ?? '', instructions);
});

test.run();
