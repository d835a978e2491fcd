/**
 * Clients that send one request every 9 to 11 s on each connection, around the time when a server closes idle
 * connections: none may fail. Node's agent, its `fetch` (undici), Python's urllib3, and Node's agent behind
 * nginx with the shipped configuration, fifty connections each. `IDLE_SECONDS` is the length.
 *
 * Node's agent has a `timeout`, as the global one has: without it, it ignores what the server says. So does
 * urllib3, which instead sends a request again that a closing connection lost: `again` in the figures.
 */
import { execFile } from 'node:child_process';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findFreePort } from '../../../bench/shared/free-port.ts';
import { reportSkipped } from '../../support/needing-suite.ts';
import { findNginx, startNginx } from '../../support/nginx.ts';
import { openWorld } from '../../world.ts';
import { faultCase } from '../harness/fault-case.ts';

const test = suite('idle connections');
const connections = 50;
const seconds = Number(process.env.IDLE_SECONDS ?? 1_800);

interface Tally {
  sent: number;
  /** How many of them the client sent twice by itself. */
  readonly again: number;
  readonly failures: string[];
}
type Send = (url: string) => Promise<number>;

const computePauseMs = (): number => 9_000 + 2_000 * Math.random();

const drive = async (url: string, createSend: () => Send): Promise<Tally> => {
  const tally: Tally = { sent: 0, again: 0, failures: [] };
  const endMs = performance.now() + seconds * 1_000;
  const work = async (): Promise<void> => {
    const send = createSend();
    await sleep(9_000 * Math.random());
    while (performance.now() < endMs) {
      tally.sent += 1;
      const outcome = await send(url).catch((error: Error) => `${error.message} ${error.cause ?? ''}`);
      if (outcome !== 200) tally.failures.push(String(outcome));
      await sleep(computePauseMs());
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  return tally;
};

const createNodeSend = (): Send => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, timeout: 30_000 });
  return (url) =>
    new Promise((resolve, reject) => {
      const pending = request(url, { agent }, (reply) => {
        reply.resume();
        reply.on('end', () => resolve(reply.statusCode ?? 0));
      });
      pending.on('error', reject);
      pending.end();
    });
};

const createFetchSend = (): Send => async (url) => {
  const reply = await fetch(url);
  await reply.arrayBuffer();
  return reply.status;
};

const python = `
import random, sys, threading, time, urllib3
url, connections, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
end, sent, again, failures = time.monotonic() + seconds, [], [], []
def work():
    pool = urllib3.PoolManager(maxsize=1)
    time.sleep(9 * random.random())
    while time.monotonic() < end:
        sent.append(1)
        try:
            reply = pool.request("GET", url)
            again.extend(reply.retries.history)
            if reply.status != 200: failures.append(str(reply.status))
        except Exception as error: failures.append(repr(error))
        time.sleep(9 + 2 * random.random())
threads = [threading.Thread(target=work) for _ in range(connections)]
for thread in threads: thread.start()
for thread in threads: thread.join()
import json
print(json.dumps({"sent": len(sent), "again": len(again), "failures": failures}))
`;

const runPython = async (url: string): Promise<Tally> => {
  const run = promisify(execFile);
  try {
    await run('python3', ['-c', 'import urllib3']);
  } catch {
    reportSkipped('idle connections of Python', 'Install python3 with urllib3 (Debian: python3-urllib3).');
    return { sent: 0, again: 0, failures: [] };
  }
  const { stdout } = await run('python3', ['-c', python, url, String(connections), String(seconds)]);
  return JSON.parse(stdout);
};

const runNginx = async (url: string): Promise<Tally> => {
  try {
    findNginx();
  } catch (error) {
    reportSkipped('idle connections of nginx', (error as Error).message.replaceAll('\n', ' '));
    return { sent: 0, again: 0, failures: [] };
  }
  const { port: nodePort, pathname } = new URL(url);
  const port = await findFreePort();
  const nginx = await startNginx({ port, nodePort: Number(nodePort) });
  try {
    return await drive(`http://127.0.0.1:${port}${pathname}`, createNodeSend);
  } finally {
    await nginx.dispose();
  }
};

faultCase(test, {
  title: 'no request meets a connection that the server is closing',
  name: 'idle-connections',
  once: true,
  run: async () => {
    const world = await openWorld({ settings: { TRUSTED_PROXIES: '127.0.0.1' } });
    const url = `${world.url}/bots/${world.demo.bot.id}`;
    try {
      const [node, undici, urllib3, nginx] = await Promise.all([
        drive(url, createNodeSend),
        drive(url, createFetchSend),
        runPython(url),
        runNginx(url),
      ]);
      const tallies = Object.entries({ node, undici, urllib3, nginx });
      const failed = tallies.filter(([, { failures }]) => failures.length > 0);
      assert.equal(failed, []);
      const sent = Object.fromEntries(tallies.map(([client, tally]) => [client, tally.sent]));
      return { ...sent, again: urllib3.again, failed: 0 };
    } finally {
      await world.close();
    }
  },
});

test.run();
