/**
 * `rollcall-client listen`, as a program, between a complete Rollcall and a receiver on this machine: what it
 * sends, what it does when the receiver does not take it, and where it goes on. A webhook of the directory
 * may lead to the same place when its operator allows it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer, get, type Server } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { receive } from '../../http/client/index.ts';
import type { VoteCreated } from '../../http/client/receive.ts';
import { openWorld, type World } from '../http/api/world.ts';
import { addBot, addUser } from '../storage/catalogue/directory.ts';
import { watchChild } from '../support/child.ts';
import { makeFolder } from '../support/folder.ts';
import { close, listen } from '../support/loopback.ts';
import { until } from '../support/until.ts';

const test = suite('rollcall-client listen');
const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
const state = join(makeFolder('rollcall-listen-'), 'state.json');
const program = fileURLToPath(new URL('../../http/client/cli.ts', import.meta.url));
let world: World;
let receiver: Server;
let hook: string;
let statuses: number[] = [];
const received: (VoteCreated & { readonly id: string })[] = [];

test.before(async () => {
  world = await openWorld();
  for (const user of ['robin', 'ann', 'ben', 'cleo', 'dan', 'eve', 'flo']) await addUser(world.sql, user);
  await addBot(world.sql, 'bot1');
  receiver = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    // The directory of a test has another time.
    const event = await receive({ headers: request.headers, body }, secret, { toleranceSeconds: 1e9 });
    if (event.type === 'vote.created') received.push(event);
    response.writeHead(statuses.shift() ?? 204).end();
  });
  hook = `http://127.0.0.1:${await listen(receiver)}/hook`;
});
test.after(async () => {
  await world.close();
  await close(receiver);
});

const vote = async (user: string): Promise<void> => {
  const token = await world.token('user', user);
  const reply = await world.ask('PUT', `/users/${user}/bots/bot1/votes?upvote=true`, { token });
  assert.is(reply.status, 204);
};

/** Runs the program until it has printed this often what came of an event; resolves to what it printed. */
const listenFor = async (events: number, rest: readonly string[] = [], act?: () => Promise<void>) => {
  const places = ['--url', `http://127.0.0.1:${world.port}`, '--forward', hook, '--state', state];
  const flags = ['--disable-warning=ExperimentalWarning', program, 'listen', '--target', 'bot/bot1'];
  const child = spawn(process.execPath, [...flags, ...places, ...rest], {
    env: { PATH: process.env.PATH ?? '', WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  try {
    await until('it listens', () => text.includes('Listening'), 30_000);
    await act?.();
    await until('the events', () => text.split('vote.created').length > events, 30_000);
    const read = () => JSON.stringify(JSON.parse(readFileSync(state, 'utf8')));
    await until('its cursor', () => read().includes(`.${received.at(-1)?.data.number}"`), 30_000);
  } finally {
    child.kill();
    await closed;
  }
  return text;
};

/** What it prints without what differs from run to run. */
const toShape = (text: string): string =>
  text
    .replace(/whsec_\S+/g, 'whsec_')
    .replace(/https?:\S+ after \S+/g, 'ADDRESS after CURSOR')
    .replace(/\S+Z (\S+) \S+ up/g, 'TIME $1 USER up');
const readAuthors = () => received.map(({ data }) => data.user.id);

test('it sends signed events, repeats what is refused, and goes on at its cursor', async () => {
  await vote('ann');
  statuses = [500];
  const first = await listenFor(3, ['--after', 'oldest'], () => vote('ben'));
  const once = received.splice(0);
  await vote('cleo');
  const second = await listenFor(1, ['--after', 'oldest']);

  assert.match(first, /Z vote\.created ann up -> 500, again in 1 s\n.*Z vote\.created ann up -> 204\n/);
  assert.equal(
    once.map(({ id, data }) => [id, data.user.id]),
    [0, 0, 2].map((index) => [once[index]?.id, index === 2 ? 'ben' : 'ann']),
  );
  assert.match(second, /Z vote\.created cleo up -> 204\n/);
  assert.equal(readAuthors(), ['cleo']);
  const readme = readFileSync(new URL('../../http/client/README.md', import.meta.url), 'utf8');
  const [, documented = ''] = /\n\$ npx rollcall-client listen .*\n([\s\S]*?)```/.exec(readme) ?? [];
  assert.is(toShape(documented), toShape(second));
  assert.is(statSync(state).mode & 0o777, 0o600, 'the secret is for nobody else');
  assert.not.match(first + second, secret, 'one that was given is not printed');
});

test('its event has every field of the directory’s own, which may go to the same address', async () => {
  const token = await world.token('bot', 'bot1');
  const made = await world.ask('POST', '/bots/bot1/webhooks', {
    token,
    body: { name: 'x', url: hook, secret },
  });
  assert.is(made.status, 201);
  received.length = 0;
  await listenFor(1, [], () => vote('dan'));
  await until('the webhook', () => received.length === 2);
  const [one, other] = received.map(({ id, data, ...rest }) => ({
    ...rest,
    data: { ...data, user: data.user.id },
  }));

  assert.equal(readAuthors(), ['dan', 'dan']);
  assert.equal(one, other);
});

/** Runs it with a state file of its own and an empty secret, until it listens or has ended. */
const tryOut = (...rest: readonly string[]) => tryWith([], rest);

const tryWith = async (flags: readonly string[], rest: readonly string[]) => {
  const own = join(makeFolder('rollcall-listen-'), 'state.json');
  const places = ['--url', `http://127.0.0.1:${world.port}`, '--forward', hook, '--state', own];
  const args = [...flags, program, 'listen', '--target', 'bot/bot1', ...places, ...rest];
  const env = { PATH: process.env.PATH ?? '', NODE_NO_WARNINGS: '1', WEBHOOK_SECRET: '' };
  const child = spawn(process.execPath, args, { env });
  child.stdout.on('data', (chunk) => String(chunk).includes('Listening') && child.kill());
  const { code, out, err } = await watchChild(child).ended;
  return { code, out, err, isKept: existsSync(own) };
};

test('an address without a scheme and a cursor that there is not are refused, and not kept', async () => {
  for (const option of ['--forward', '--url']) {
    const { code, err } = await tryOut(option, 'localhost:3000/hook');
    assert.equal([code, err.split('\n')[0]], [2, 'Name --url and --forward as URLs.'], option);
  }
  const { code, out, isKept } = await tryOut('--after', 'nonsense');
  assert.equal([code, out, isKept], [1, '', false]);
});

test('an empty secret is none: one is made, and printed only then', async () => {
  const own = join(makeFolder('rollcall-listen-'), 'own.json');
  const [made, kept] = [await tryOut('--state', own), await tryOut('--state', own)];

  assert.match(made.out, /^Events are signed with whsec_\S{44}\n/);
  assert.is(kept.out.split('\n')[0], `Events are signed with the secret in ${own}`);
  assert.is(statSync(own).mode & 0o777, 0o600);
});

test('help and version are answers, and no mistakes', async () => {
  for (const option of ['--help', '-h', '--version', '-v']) {
    const { code, out, err } = await tryOut(option);
    assert.equal([code, err], [0, ''], option);
    assert.match(out, option.includes('h') ? /^Usage: rollcall-client listen / : /^\d+\.\d+\.\d+\n$/);
  }
  for (const args of [['--help'], ['--version']]) {
    const { code, out } = await watchChild(spawn(process.execPath, [program, ...args])).ended;
    assert.equal([code, out.length > 5], [0, true]);
  }
});

/** Reports the calls of the program that this preloads into. */
const reportCalls = `import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module';
for (const name of ['fsyncSync', 'renameSync']) {
  const call = fs[name];
  fs[name] = (...args) => { console.error(name); return call(...args); };
}
syncBuiltinESMExports();`;

test('its file is on the disk before it has its name', async () => {
  const { err } = await tryWith([`--import=data:text/javascript,${encodeURIComponent(reportCalls)}`], []);

  assert.is(err, 'fsyncSync\nrenameSync\n');
});

test('while the directory is away between two events it waits, as at other times', async () => {
  let failures = 0;
  const front = createServer((request, response) => {
    if (request.url === '/bots/bot1' && ++failures <= 6) {
      const context = { code: 'draining', outcome: 'not_applied' };
      response.writeHead(503, { 'retry-after': '0.1' }).end(JSON.stringify({ message: '', context }));
      return;
    }
    get({ port: world.port, path: request.url }, (reply) => reply.pipe(response));
  });
  const address = `http://127.0.0.1:${await listen(front)}`;
  const printed = await listenFor(1, ['--url', address], () => vote('flo'));
  await close(front);

  assert.match(printed, / flo up -> 204\n/);
});

test('a directory below a path has a place of its own', async () => {
  const below = createServer((request, response) => {
    const path = request.url?.replace('/below', '');
    get({ port: world.port, path }, (reply) => reply.pipe(response)).on('error', () => response.destroy());
  });
  const address = `http://127.0.0.1:${await listen(below)}/below`;
  const printed = await listenFor(1, ['--url', address], () => vote('eve'));
  await close(below);

  assert.match(printed, `Listening to ${address}/bot/bot1 after`);
});

test.run();
