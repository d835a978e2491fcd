/**
 * The event stream in the clients that people use: curl, fetch and EventSource of Node, httpx, aiohttp,
 * urllib3 and requests with sseclient-py of Python, and EventSource of Chromium. Each gets every event before
 * the next one is sent, long before the heartbeat that would carry a late one; and each gets the last one
 * and ends without an error.
 *
 * Needs curl, Python with PyPI, and Chromium; what is absent is skipped, each with a line.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openWorld, type World } from '../../http/api/world.ts';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { openBrowser } from '../../support/browser.ts';
import { watchChild } from '../../support/child.ts';
import { reportSkipped } from '../../support/needing-suite.ts';
import { createPythonEnvironment, listPythons, readOutput } from '../../support/python-environment.ts';
import { until } from '../../support/until.ts';

const test = suite('event stream in clients');
let world: World;
let url: string;
test.before(async () => {
  world = await openWorld();
  url = `http://127.0.0.1:${world.port}/feed?targets=bot/bot1`;
  await addUser(world.sql, 'robin');
  await addBot(world.sql, 'bot1');
});
test.after(() => world.close());

/** The heartbeat comes every 15 s: of two events one after the other it brings at most one so early. */
const lateMs = 7_000;

/** One client. It writes what it gets. */
interface FollowingClient {
  readonly name: string;
  /** What it got so far. */
  output(): string;
  /** Resolves to what went wrong, `''` for nothing, once it has left. */
  readonly ended: Promise<string>;
  stop(): void;
}

const watch = (name: string, child: ChildProcess): FollowingClient => {
  const { output, ended } = watchChild(child);
  return {
    name,
    output,
    ended: ended.then(({ code, err }) => (code === 0 ? '' : `${code}: ${err}`)),
    stop: () => void child.kill(),
  };
};
const start = (name: string, command: string, args: readonly string[]): FollowingClient =>
  watch(name, spawn(command, [...args, url], { stdio: ['ignore', 'pipe', 'pipe'] }));

const nodePrograms = {
  fetch: `
    const decoder = new TextDecoder();
    for await (const chunk of (await fetch(process.argv[1])).body)
      process.stdout.write(decoder.decode(chunk, { stream: true }));`,
  EventSource: `
    const source = new EventSource(process.argv[1]);
    for (const event of ['hello', 'totals', 'bye'])
      source.addEventListener(event, ({ data }) => {
        console.log('event: ' + event, data);
        if (event === 'bye') source.close();
      });`,
};

const pythonPrograms = {
  httpx: `
import httpx, sys
with httpx.stream("GET", sys.argv[1], timeout=60) as response:
    for line in response.iter_lines(): print(line, flush=True)`,
  aiohttp: `
import aiohttp, asyncio, sys
async def follow():
    async with aiohttp.ClientSession() as session, session.get(sys.argv[1]) as response:
        async for line in response.content: print(line.decode(), end="", flush=True)
asyncio.run(follow())`,
  urllib3: `
import sys, urllib3
response = urllib3.PoolManager().request("GET", sys.argv[1], preload_content=False)
for chunk in response.stream(): print(chunk.decode(), end="", flush=True)`,
  'requests with sseclient-py': `
import requests, sseclient, sys
response = requests.get(sys.argv[1], stream=True)
for event in sseclient.SSEClient(response).events(): print("event: " + event.event, event.data, flush=True)`,
};

const startPython = (): readonly FollowingClient[] => {
  const python = listPythons().at(-1);
  try {
    if (python === undefined) throw new Error('this machine has no Python 3.9 or newer');
    const inside = createPythonEnvironment(python, [
      'httpx',
      'aiohttp',
      'urllib3',
      'requests',
      'sseclient-py',
    ]);
    return Object.entries(pythonPrograms).map(([name, program]) => start(name, inside, ['-c', program]));
  } catch (error) {
    const [reason = ''] = (error as Error).message.split('\n');
    reportSkipped('event stream in clients of Python', reason);
    return [];
  }
};

const startCurl = (): readonly FollowingClient[] => {
  if (readOutput('curl', ['--version']) !== '') return [start('curl', 'curl', ['--silent', '--no-buffer'])];
  reportSkipped('event stream in curl', 'this machine has no curl');
  return [];
};

/** A browser comes back after the end, so it closes its stream then. */
const startChromium = async (): Promise<readonly FollowingClient[]> => {
  let output = '';
  try {
    const browser = await openBrowser();
    const page = await browser.newPage();
    let leave = (_fault: string): void => {};
    const ended = new Promise<string>((resolve) => {
      leave = resolve;
    });
    page.on('console', (message) => {
      output += `${message.text()}\n`;
      if (message.text().startsWith('event: bye')) leave('');
    });
    await page.evaluate(`{${nodePrograms.EventSource.replace('process.argv[1]', JSON.stringify(url))}}`);
    const stop = (): void => {
      leave('it was stopped');
      void browser.close();
    };
    return [{ name: 'Chromium', output: () => output, ended, stop }];
  } catch (error) {
    reportSkipped('event stream in Chromium', (error as Error).message.replaceAll('\n', ' '));
    return [];
  }
};

const startAll = async (): Promise<readonly FollowingClient[]> => [
  ...startCurl(),
  ...Object.entries(nodePrograms).map(([name, program]) =>
    start(name, process.execPath, [
      '--experimental-eventsource',
      '--no-warnings',
      '--input-type=module',
      '-e',
      program,
    ]),
  ),
  ...startPython(),
  ...(await startChromium()),
];

/** Resolves to the clients that have it only later. */
const findLate = async (
  clients: readonly FollowingClient[],
  words: string,
  msMax: number,
): Promise<readonly string[]> => {
  const lacking = () => clients.filter((client) => !client.output().includes(words));
  await until(words, () => lacking().length === 0, msMax).catch(() => {});
  return lacking().map(({ name }) => name);
};

test('each client gets every event by itself, also the last one, and ends without an error', async () => {
  const clients = await startAll();
  try {
    assert.equal(await findLate(clients, '"servers":0', 60_000), [], 'connected');
    for (const servers of [5, 6, 7]) {
      await world.engine.postStats('bot1', { servers: String(servers) });
      assert.equal(await findLate(clients, `"servers":${servers}`, lateMs), [], `servers: ${servers}`);
    }
    await world.app.feed.leave();
    assert.equal(await findLate(clients, 'event: bye', lateMs), [], 'bye');
    const faults = await Promise.all(clients.map(async ({ name, ended }) => [name, await ended]));
    assert.equal(
      faults.filter(([, fault]) => fault !== ''),
      [],
    );
  } finally {
    for (const client of clients) client.stop();
  }
});

test.run();
