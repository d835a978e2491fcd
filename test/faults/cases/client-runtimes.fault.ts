/**
 * The JavaScript library in the runtimes that it promises: the oldest and the newest Node, Deno and Bun, each
 * with a program that uses every part of it against a complete Rollcall, and with its own program; and in
 * topgg-autoposter, whose types must take it, too.
 *
 * Runtimes and topgg-autoposter come from npm, into a temporary folder. What npm does not have, or what does
 * not run here, is skipped with a line that says so.
 */
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  createWebhookSecret,
  toWebhookBody,
  toWebhookHeaders,
} from '../../../http/outbound/webhooks/formats.ts';
import { writeClientPackage } from '../../../ops/cli/client-package.ts';
import { openWorld, type World } from '../../http/api/world.ts';
import { upvote } from '../../http/outbound/webhooks/sample-events.ts';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { makeFolder } from '../../support/folder.ts';
import { reportSkipped } from '../../support/needing-suite.ts';

const test = suite('runtimes of the client');
const run = promisify(execFile);
const compiler = fileURLToPath(new URL('../../../node_modules/.bin/tsc', import.meta.url));
const library = makeFolder('rollcall-client-');
await writeClientPackage(library);
let world: World;
let input: object;
let users = 0;

test.before(async () => {
  world = await openWorld();
  await addUser(world.sql, 'robin');
  await addBot(world.sql, 'bot1');
  const secret = createWebhookSecret();
  const body = toWebhookBody('standard', upvote) ?? '';
  const sent = { format: 'standard', id: upvote.id, sentAtSeconds: Math.floor(Date.now() / 1_000) } as const;
  const headers = toWebhookHeaders({ ...sent, body, secrets: [secret] });
  input = {
    url: `http://127.0.0.1:${world.port}`,
    token: await world.token('bot', 'bot1'),
    webhook: { secret, headers, body },
  };
});
test.after(() => world.close());

const program = `
import { autopost, createClient, DirectoryError, follow, log, receive } from 'rollcall-client';
const { url, token, user, userToken, webhook } = JSON.parse(process.env.INPUT);
const client = createClient({ url, token });
const target = { type: 'bot', id: 'bot1' };
const guilds = { cache: new Map([['1', { memberCount: 3 }], ['2', { memberCount: 4 }]]) };
const poster = autopost({ url, token, client: { guilds } });
await poster.stop();
await client.postStats({ serverCount: 7, shardCount: 1 });
const said = [];
for await (const { event, data } of follow({ url, targets: ['bot/bot1'] }))
  if (event === 'totals') { said.push(data.totals.servers); break; }
const { next } = await client.request('GET', '/bots/bot1/votes/log');
const query = { upvote: true };
const voter = createClient({ url, token: userToken });
await voter.request('PUT', '/users/' + user + '/bots/bot1/votes', { query });
for await (const { votes } of log(client, target, { after: next })) {
  said.push(votes.length, votes[0].author);
  break;
}
said.push((await client.checkVote(user, 'bot1')).has_voted);
said.push((await receive({ headers: webhook.headers, body: webhook.body }, webhook.secret)).type);
const wrong = createClient({ url, token: 'rc_bot_1_wrong' });
const fault = await wrong.postStats({ servers: 1 }).catch((error) => error);
said.push(fault instanceof DirectoryError && fault.status);
console.log(JSON.stringify(said));
process.exit(0);
`;

/** A project with the library and these packages of npm; `null` where npm does not have them. */
const createProject = (packages: readonly string[], title: string): string | null => {
  const folder = makeFolder('rollcall-project-');
  writeFileSync(join(folder, 'package.json'), '{"name":"project","private":true,"type":"module"}');
  writeFileSync(join(folder, 'program.js'), program);
  const quietly = ['--no-audit', '--no-fund', '--loglevel=error'];
  try {
    const args = ['install', ...quietly, '--install-links', library, ...packages];
    execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], timeout: 180_000 });
    return folder;
  } catch (error) {
    const lines = (error as Error).message.split('\n');
    reportSkipped(`runtimes of the client: ${title}`, lines.slice(0, 3).join(' '));
    return null;
  }
};

const { engines } = JSON.parse(readFileSync(join(library, 'package.json'), 'utf8'));
const oldestNode = `${engines.node.replace('>=', '')}.0`;
const runtimes = [
  { title: `Node ${oldestNode}`, packages: [`node@${oldestNode}`], program: 'node', args: [] },
  { title: 'the newest Node', packages: ['node@latest'], program: 'node', args: [] },
  { title: 'Deno', packages: ['deno'], program: 'deno', args: ['run', '--allow-all'] },
  { title: 'Bun', packages: ['bun'], program: 'bun', args: ['run'] },
];

for (const { title, packages, program: name, args } of runtimes)
  test(`${title}: every part of the library works`, async () => {
    const folder = createProject(packages, title);
    if (folder === null) return;
    const command = join(folder, 'node_modules/.bin', name);
    const user = `voter${++users}`;
    await addUser(world.sql, user);
    const inputText = JSON.stringify({ ...input, user, userToken: await world.token('user', user) });
    const options = { cwd: folder, env: { ...process.env, INPUT: inputText }, timeout: 60_000 };
    const { stdout: version } = await run(command, ['--version'], options);
    const { stdout } = await run(command, [...args, 'program.js'], options);

    const cli = [...args, 'node_modules/rollcall-client/dist/cli.js', 'listen', '--url', 'none'];
    const listened = await run(command, cli, options).catch((error) => error);

    console.log(`${title}: ${version.split('\n')[0]}`);
    assert.equal(JSON.parse(stdout), [7, 1, user, true, 'vote.created', 401]);
    assert.match(listened.stderr, /^Name --url and --forward as URLs\./m);
  });

const typed = `
import { createClient } from 'rollcall-client';
import { AutoPoster } from 'topgg-autoposter';
const sdk = createClient({ url: process.env.URL ?? '', token: process.env.TOKEN ?? '' });
const guilds = { cache: new Map([['1', {}], ['2', {}], ['3', {}]]), size: 3 };
const client = { guilds, isReady: () => true, once: () => {} };
export const poster = AutoPoster('unused', client, { sdk: sdk as never, startPosting: false });
`;

/** Its posters for discord.js and eris are this one with other numbers. */
const posting = `
import { createClient } from 'rollcall-client';
import { BasePoster } from 'topgg-autoposter/dist/structs/BasePoster.js';
const { url, token } = JSON.parse(process.env.INPUT);
const poster = new BasePoster('unused', { sdk: createClient({ url, token }), startPosting: false });
const getStats = async () => ({ serverCount: 4321, shardCount: 1 });
poster._binder({ clientReady: () => true, waitForReady: () => {}, getStats });
await new Promise((resolve, reject) => {
  poster.once('posted', resolve);
  poster.once('error', reject);
  poster.post();
});
process.exit(0);
`;

test('topgg-autoposter posts with it, also by its types', async () => {
  const folder = createProject(['topgg-autoposter', '@top-gg/sdk', '@types/node'], 'topgg-autoposter');
  if (folder === null) return;
  writeFileSync(join(folder, 'typed.ts'), typed);
  writeFileSync(join(folder, 'posting.js'), posting);
  const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', 'node'];
  await run(compiler, [...flags, 'typed.ts'], { cwd: folder }).catch(({ stdout }) =>
    assert.unreachable(stdout),
  );
  await run(process.execPath, ['posting.js'], {
    cwd: folder,
    env: { ...process.env, INPUT: JSON.stringify(input) },
    timeout: 60_000,
  });
  assert.is((await world.ask('GET', '/bots/bot1')).json.servers, 4_321);
});

test.run();
