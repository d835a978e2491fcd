/**
 * Prints how many files of the sources a request passes, on a node of this process with embedded stores:
 *
 *   npm run test:hops [-- --list]
 *
 * V8 counts calls. A file counts if a function of it ran between the request and its answer (of a page view:
 * and the commit of its click; of a webhook: its delivery). Each request is made ten times, and what ran each
 * time counts, since timers run meanwhile, too.
 */
import { createServer } from 'node:http';
import { Session } from 'node:inspector/promises';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { limits } from '../../engine/limits.ts';
import { parseOptions } from '../../ops/cli/options.ts';
import { readConfig } from '../../ops/config/config.ts';
import { start } from '../../ops/rollcall.ts';
import { makeFolder } from '../support/folder.ts';
import { close, listen } from '../support/loopback.ts';

/** Longer than a click waits for its commit, ms. */
const clickMs = limits.gatherUnawaitedMsMax + 50;
const { list } = parseOptions(import.meta.filename, { options: { list: { type: 'boolean' } } }).values;
const settings = { PORT: '0', ADMIN_PORT: '0', DEMO: 'on', LOG_LEVEL: 'silent', WEBHOOK_ADDRESSES: 'any' };
const node = await start(readConfig({ ...settings, DATA_DIR: makeFolder('rollcall-hops-') }));
const { demo } = node;
if (demo === null) throw new Error('the node has no demo directory');
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

const root = fileURLToPath(new URL('../../', import.meta.url));
const takeFiles = async (): Promise<readonly string[]> => {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const files = result.flatMap(({ url, functions }) => {
    const path = url.startsWith('file:') ? fileURLToPath(url).replace(root, '') : '';
    const ran = functions.some(({ ranges: [whole] }) => (whole?.count ?? 0) > 0);
    return ran && /^(engine|http|storage|ops)\//.test(path) ? [path] : [];
  });
  return files.sort();
};

const measure = async (name: string, act: (attempt: number) => Promise<unknown>): Promise<void> => {
  let always: readonly string[] = [];
  for (let attempt = 0; attempt < 10; attempt++) {
    await takeFiles();
    await act(attempt);
    const files = await takeFiles();
    // The first attempt prepares what later ones find.
    if (attempt === 1) always = files;
    always = always.filter((file) => files.includes(file));
  }
  console.log(`${String(always.length).padStart(4)} files  ${name}`);
  if (list) console.log(always.map((file) => `            ${file}`).join('\n'));
};

const call = async (path: string, init: RequestInit = {}): Promise<void> => {
  const reply = await fetch(`${node.url}${path}`, init);
  const body = await reply.text();
  if (!reply.ok) throw new Error(`${path}: ${reply.status} ${body}`);
};

const { bot, user } = demo;
await measure('a stats post', (attempt) =>
  call('/bots/stats', {
    method: 'POST',
    headers: { 'Bot-Auth': bot.token },
    body: JSON.stringify({ servers: 1_000 + attempt, status: 'online' }),
  }),
);
await measure('a page view', async () => {
  await call(`/bots/${bot.id}?target=page`);
  await setTimeout(clickMs);
});

/** Each vote is another user's: the operator issues the tokens. */
const issueToken = async (id: string): Promise<string> => {
  const reply = await fetch(`${demo.admin_url}/user/${id}/tokens`, {
    method: 'POST',
    headers: { Authorization: `Operator ${demo.admin_token}` },
    body: '{}',
  });
  return ((await reply.json()) as { readonly token: string }).token;
};
const vote = async (id: string): Promise<void> => {
  const headers = { 'User-Auth': await issueToken(id) };
  await call(`/users/${id}/reminders`, { headers });
  await takeFiles();
  await call(`/users/${id}/bots/${bot.id}/votes?upvote=true`, { method: 'PUT', headers });
};
await measure('a vote', (attempt) => vote(`72887194645613${1_000 + attempt}`));

const waiting = new Map<string, () => void>();
const receiver = createServer(async (request, response) => {
  const event = JSON.parse(await text(request)) as {
    readonly data: { readonly user: { readonly id: string } };
  };
  response.end();
  waiting.get(event.data.user.id)?.();
});
const port = await listen(receiver);
await call(`/bots/${bot.id}/webhooks`, {
  method: 'POST',
  headers: { 'User-Auth': user.token },
  body: JSON.stringify({ name: 'hops', url: `http://127.0.0.1:${port}/` }),
});
await measure('a vote with its webhook', async (attempt) => {
  const id = `72887194645614${1_000 + attempt}`;
  const arrived = new Promise<void>((resolve) => waiting.set(id, resolve));
  await vote(id);
  await arrived;
});
await close(receiver);
await node.stop();
process.exit();
