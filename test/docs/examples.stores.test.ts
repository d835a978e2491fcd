/**
 * Runs every example of docs/start.md and docs/bots, in order and unchanged, on a new server with the demo
 * directory, from a folder that is empty but for the package that one of them installs. The output must equal
 * the text below the example, where `…` matches anything and `$USER_ID` the value of that variable.
 *
 * An example in a language that the machine lacks is skipped, and the test says so.
 *
 * A `running` example does not end by itself: it is stopped once it has printed that text. One that receives
 * webhooks gets forged requests first, then a vote signed with its secret; one that logs users in gets one.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findFreePort } from '../../bench/shared/free-port.ts';
import {
  createWebhookSecret,
  toWebhookBody,
  toWebhookHeaders,
} from '../../http/outbound/webhooks/formats.ts';
import { listGuidePages } from '../../http/site/guide-index.ts';
import { upvote } from '../http/outbound/webhooks/sample-events.ts';
import { makeFolder } from '../support/folder.ts';
import {
  clientId,
  clientSecret,
  type OpenIdProvider,
  redirectUri,
  startOpenIdProvider,
  visit,
} from '../support/login-provider.ts';
import { close, listen } from '../support/loopback.ts';
import { reportSkipped } from '../support/needing-suite.ts';
import { type StartedNode, startNode } from '../support/node-process.ts';
import { pluck } from '../support/pluck.ts';
import { until } from '../support/until.ts';

type Language = 'sh' | 'js' | 'ts' | 'py';

interface Example {
  /** File and line. */
  readonly place: string;
  readonly language: Language;
  readonly running: boolean;
  readonly code: string;
  readonly printed: string;
}

const readText = (path: string): string =>
  readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8');
const pages = listGuidePages(readText('README.md'))
  .map(({ name }) => `${name}.md`)
  .filter((file) => /^(start|bots\/.*)\.md$/.test(file));
const pattern = /^```(sh|js|ts|py)( running)?\n([\s\S]*?)^```\n(?:^```\n([\s\S]*?)^```\n)?/gm;
const listExamples = (file: string): Example[] => {
  const text = readText(file);
  return [...text.matchAll(pattern)].map((match) => ({
    place: `docs/${file}:${text.slice(0, match.index).split('\n').length}`,
    language: match[1] as Example['language'],
    running: match[2] !== undefined,
    code: match[3] as string,
    printed: match[4] ?? '',
  }));
};
const examples = pages.flatMap(listExamples);

const test = suite('examples');
/** Where a reader begins: the folder of the server, whose data is in `data`. */
const folder = makeFolder('rollcall-guide-');
const empty = makeFolder('rollcall-reader-');
let node: StartedNode;
let provider: OpenIdProvider;
let variables: Record<string, string>;

test.before(async () => {
  provider = await startOpenIdProvider();
  const login = {
    LOGIN_ISSUER: provider.issuer,
    LOGIN_CLIENT_ID: clientId,
    LOGIN_CLIENT_SECRET: clientSecret,
  };
  const settings = { DEMO: 'on', ...login, LOGIN_REDIRECT_URIS: redirectUri };
  node = await startNode({ dataDir: join(folder, 'data'), settings });
  const demo = JSON.parse(readFileSync(join(folder, 'data/demo.json'), 'utf8'));
  mkdirSync(join(empty, 'node_modules'));
  const installed = fileURLToPath(new URL('../../node_modules/standardwebhooks', import.meta.url));
  symlinkSync(installed, join(empty, 'node_modules/standardwebhooks'));
  variables = {
    URL: demo.url,
    BOT_ID: demo.bot.id,
    BOT_TOKEN: demo.bot.token,
    USER_ID: demo.user.id,
    USER_TOKEN: demo.user.token,
    LOGIN_ADDRESS: redirectUri,
    PORT: String(await findFreePort()),
    WEBHOOK_SECRET: createWebhookSecret(),
  };
});
test.after(async () => {
  await node.stop();
  await provider.close();
});

/** What runs a program that follows as the last argument. */
const commands: Readonly<Record<Language, readonly [string, ...string[]]>> = {
  sh: ['bash', '-c'],
  js: [process.execPath, '--input-type=module', '-e'],
  ts: [process.execPath, '--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '-e'],
  py: ['python3', '-c'],
};
const isPresent = ([program]: readonly string[]): boolean =>
  spawnSync(program ?? '', ['--version']).error === undefined;
const toEnvironment = () => ({ PATH: process.env.PATH ?? '', ...variables });

const run = async ({ language, code }: Example): Promise<string> => {
  const [program, ...args] = commands[language];
  const options = { env: toEnvironment(), cwd: empty, timeout: 30_000 };
  const { stdout } = await promisify(execFile)(program, [...args, code], options);
  return stdout.trimEnd();
};

/** Runs it until it has printed the documented output. */
const runUntilPrinted = async ({ language, code, printed }: Example): Promise<void> => {
  const [program, ...args] = commands[language];
  const child = spawn(program, [...args, code], {
    env: toEnvironment(),
    cwd: empty,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  try {
    if (code.includes('createServer') || code.includes('HTTPServer')) {
      await until('the example listens', () => text.includes('listening'), 30_000);
      await (code.includes('LOGIN_ADDRESS') ? logIn() : sendWebhooks());
    }
    await until('the documented output', () => matches(printed, text.trimEnd()), 30_000);
  } finally {
    child.kill();
    await closed;
  }
};

/** Forged requests get 401, a genuine one 204. */
const sendWebhooks = async (): Promise<void> => {
  await sendAndLeave('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf');
  const body = toWebhookBody('standard', upvote) ?? '';
  const { id } = upvote;
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const sign = (secret: string | undefined, sentAtSeconds: number) =>
    toWebhookHeaders({ format: 'standard', id, sentAtSeconds, body, secrets: [secret ?? '', formerSecret] });
  const genuine = sign(variables.WEBHOOK_SECRET, nowSeconds);
  const statusOf = async (headers: Record<string, string>, sent: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${variables.PORT}/`, { method: 'POST', headers, body: sent })).status;

  assert.is(await statusOf(genuine, body.replace('98', '99')), 401);
  assert.is(await statusOf({ ...genuine, 'webhook-id': 'another' }, body), 401);
  assert.is(await statusOf(sign(variables.WEBHOOK_SECRET, nowSeconds - 600), body), 401);
  assert.is(await statusOf(sign(createWebhookSecret(), nowSeconds), body), 401);
  assert.is(await statusOf({}, body), 401);
  assert.is(await statusOf(genuine, body), 204);
};

/** What any stranger may send: the example must go on. */
const sendAndLeave = async (sent: string): Promise<void> => {
  const socket = connect(Number(variables.PORT), '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(sent);
  await sleep(200);
  socket.destroy();
  await sleep(200);
};

/** As a browser: to the provider, and back with what it sent. Another browser cannot end the login. */
const logIn = async (): Promise<void> => {
  await sendAndLeave('GET // HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const site = `http://127.0.0.1:${variables.PORT}`;
  const begun = await fetch(site, { redirect: 'manual' });
  const returned = await visit(begun.headers.get('location') ?? '', '728871946456137770');
  const back = `${site}/login?${returned}`;
  assert.is((await fetch(back)).status, 400);
  const [cookie = ''] = begun.headers.getSetCookie();
  assert.is((await fetch(back, { headers: { cookie: cookie.split(';')[0] ?? '' } })).status, 200);
};
const formerSecret = createWebhookSecret();

/** Whether the text matches the guide; `…` matches anything. */
const matches = (expected: string, text: string): boolean => {
  const known = expected.replace(/\$([A-Z_]+)/g, (_, name: string) => variables[name] ?? '');
  const parts = known.trimEnd().split('…');
  const escaped = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${escaped.join('[^]*?')}$`).test(text);
};

test('there are examples in each language, each with its output', () => {
  const count = (wanted: Language) => examples.filter(({ language }) => language === wanted).length;
  assert.ok(count('sh') >= 5);
  assert.ok(count('js') >= 4);
  // A post, a check of a vote, a reaction to a vote, and rewards; in Python, a receiver of webhooks, too.
  assert.equal([count('ts'), count('py')], [4, 5]);
  assert.equal(
    pluck(
      examples.filter(({ printed }) => printed === ''),
      'place',
    ),
    [],
  );
});

test('the first block sets the variables in a shell', async () => {
  const [, block = ''] = /^```bash\n([\s\S]*?)^```\n/m.exec(readText('start.md')) ?? [];
  const shown = 'echo "$URL $BOT_ID $BOT_TOKEN $USER_ID $USER_TOKEN"';
  const env = { PATH: process.env.PATH ?? '' };
  const { stdout } = await promisify(execFile)('bash', ['-c', `${block}\n${shown}`], { cwd: folder, env });
  const { URL, BOT_ID, BOT_TOKEN, USER_ID, USER_TOKEN } = variables;

  assert.is(stdout, `${[URL, BOT_ID, BOT_TOKEN, USER_ID, USER_TOKEN].join(' ')}\n`);
});

/** A directory behind a proxy: the first request loses its connection, the second gets a page. */
const openBrokenDirectory = async () => {
  const end = (response: ServerResponse, status: number, text: string) =>
    response.writeHead(status).end(text);
  let requests = 0;
  const server = createServer((request, response) => {
    const isStart = request.url?.endsWith('/votes/log') === true;
    if (isStart) end(response, 200, '{"results":[],"next":"a.0","oldest":"a.0"}');
    else if (++requests === 1) request.socket.destroy();
    else if (requests === 2) end(response, 502, '<title>Bad gateway</title>');
    else end(response, 200, '{"results":[{"author":"ann","upvote":true}],"next":"a.1"}');
  });
  return { url: `http://127.0.0.1:${await listen(server)}`, close: () => close(server) };
};

const repeating = examples.filter(
  ({ language, code }) => language !== 'sh' && /post_?stats = |def post_stats|&wait=25/i.test(code),
);

for (const example of repeating) {
  const title = `${example.place} goes on after a lost connection and a proxy's page`;
  test(title, async () => {
    const [program, ...args] = commands[example.language];
    if (!isPresent([program])) return reportSkipped(title, `this machine has no ${program}`);
    const directory = await openBrokenDirectory();
    const env = { ...toEnvironment(), URL: directory.url };
    const child = spawn(program, [...args, example.code], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    try {
      await until('it went on', () => /^posted|^ann voted up/.test(text) || child.exitCode !== null);
      assert.match(text, /^posted|^ann voted up/);
    } finally {
      child.kill('SIGKILL');
      await directory.close();
    }
  });
}

test('four examples repeat what failed', () => assert.is(repeating.length, 4));

for (const example of examples) {
  const title = `${example.place} prints the documented output`;
  test(title, async () => {
    const command = commands[example.language];
    if (!isPresent(command)) {
      reportSkipped(title, `this machine has no ${command[0]}`);
      return;
    }
    if (example.running) return runUntilPrinted(example);
    const text = await run(example);

    assert.ok(matches(example.printed, text), `printed:\n${text}\nexpected:\n${example.printed}`);
  });
}

test.run();
