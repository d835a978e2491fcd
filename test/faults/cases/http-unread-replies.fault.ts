/**
 * Clients that request replies of every kind and read none, from one address, from 50, and through a proxy:
 * the node's memory stays bounded, an ordinary reader is served as always, and readers of 64 KiB a second get
 * every byte. Time limit: 600 s.
 * ATTACK_SECONDS is how long.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readResidentBytes } from '../../../bench/machine/cpu.ts';
import { findFreePort } from '../../../bench/shared/free-port.ts';
import { watchChild } from '../../support/child.ts';
import { makeFolder } from '../../support/folder.ts';
import { findHaproxy, startHaproxy } from '../../support/haproxy.ts';
import { reportSkipped } from '../../support/needing-suite.ts';
import { findNginx, startNginx } from '../../support/nginx.ts';
import { type StartedNode, startNode } from '../../support/node-process.ts';
import type { ProxyProgram } from '../../support/proxy-program.ts';
import { printFigures } from '../harness/figures.ts';
import { type Pattern, patientPatterns, patientTimes, readSlowly, replyOf } from './slow-readers.ts';

const test = suite('replies that nobody reads');
const program = fileURLToPath(new URL('./unread-replies-main.ts', import.meta.url));
const seconds = Number(process.env.ATTACK_SECONDS ?? 60);
const mebibyte = 1_048_576;
const grownMiBMax = 300;
/** The attack ends early here: it must not take the machine's memory. */
const endedMiB = 1_000;
const settings = { DEMO: 'on', RATE_LIMITS: 'off', TRUSTED_PROXIES: '127.0.0.1' };
let node: StartedNode;

test.before.each(async () => {
  node = await startNode({ dataDir: makeFolder('rollcall-unread-'), settings });
});
test.after.each(async () => {
  await node.stop();
});

const startClients = (...words: readonly (string | number)[]) => {
  const child = spawn(process.execPath, [...process.execArgv, program, ...words.map(String)]);
  return { child, ended: watchChild(child).ended };
};

interface Waits {
  readonly p99Ms: number;
  readonly mostMs: number;
  readonly refused: readonly string[];
}

const readFor = async (url: string, readSeconds: number): Promise<Waits> => {
  const { ended } = startClients('read', url, readSeconds);
  return JSON.parse((await ended).out) as Waits;
};

/** Looks at the node's memory until it is stopped; resolves to the most by which it grew, MiB. */
const watchGrowth = (attacker: ChildProcess): (() => number) => {
  const before = readResidentBytes(node.pid);
  let grownMiB = 0;
  const timer = setInterval(() => {
    grownMiB = Math.max(grownMiB, Math.round((readResidentBytes(node.pid) - before) / mebibyte));
    if (grownMiB > endedMiB) attacker.kill('SIGKILL');
  }, 200);
  return () => {
    clearInterval(timer);
    return grownMiB;
  };
};

/** Reads the largest document in every patient way. Resolves to what was wrong. */
const readPatiently = async (url: string): Promise<readonly string[]> => {
  const path = '/openapi.json';
  const document = replyOf(path, await (await fetch(`${url}${path}`)).text());
  const address: [string, number] = ['127.0.0.1', Number(new URL(url).port)];
  const all = (Object.keys(patientPatterns) as Pattern[]).map((pattern) =>
    readSlowly(address, document, pattern, patientTimes),
  );
  return (await Promise.all(all)).filter((fault) => fault !== '');
};

/** Attacks this port for so long while an ordinary reader asks it. Resolves to what both found. */
const attack = async (url: string, addresses: number) => {
  await readFor(url, 2);
  const alone = await readFor(url, 5);
  const attackers = startClients('attack', new URL(url).port, addresses, seconds);
  const stopWatching = watchGrowth(attackers.child);
  const [beside, patient] = await Promise.all([readFor(url, seconds), readPatiently(url)]);
  const attacked = (await attackers.ended).out;
  return { grownMiB: stopWatching(), alone, beside, patient, attacked };
};

for (const addresses of [1, 50]) {
  test(`200 connections of ${addresses} addresses: memory is bounded, others are served`, async () => {
    const found = await attack(node.url, addresses);

    printFigures(`unread replies, ${addresses} addresses`, found);
    const { grownMiB, alone, beside, patient } = found;
    assert.ok(grownMiB <= grownMiBMax, `grew by ${grownMiB} MiB`);
    assert.equal([beside.refused, patient], [[], []]);
    const mostMs = 3 * alone.p99Ms + 50;
    assert.ok(beside.p99Ms <= mostMs, `waited ${beside.p99Ms} ms, alone ${alone.p99Ms} ms`);
  });
}

type OpenProxy = (port: number) => Promise<ProxyProgram>;

const openHaproxy: OpenProxy = (port) => {
  const host = new URL(node.url).host;
  const adminPort = new URL(node.adminUrl).port;
  const nodes = [1, 2, 3].map((number) => [
    [`ROLLCALL_NODE_${number}`, host],
    [`ROLLCALL_ADMIN_PORT_${number}`, adminPort],
  ]);
  const env = { ...Object.fromEntries(nodes.flat()), ROLLCALL_BIND: `127.0.0.1:${port}` };
  return startHaproxy(['haproxy.cfg'], env, port);
};
const openNginx: OpenProxy = (port) => startNginx({ port, nodePort: Number(new URL(node.url).port) });

/** A proxy reads ahead for its clients, and closes those that do not read by its own time limits. */
const testBehind = (name: string, find: () => unknown, open: OpenProxy): void => {
  test(`200 connections to ${name} before the node: memory is bounded, others are served`, async () => {
    try {
      find();
    } catch (error) {
      return reportSkipped(`unread replies behind ${name}`, (error as Error).message);
    }
    const port = await findFreePort();
    const proxy = await open(port);
    try {
      const found = await attack(`http://127.0.0.1:${port}`, 50);

      printFigures(`unread replies behind ${name}`, found);
      assert.ok(found.grownMiB <= grownMiBMax, `grew by ${found.grownMiB} MiB`);
      assert.equal([found.beside.refused, found.patient], [[], []]);
    } finally {
      await proxy.dispose();
    }
  });
};
testBehind('HAProxy', findHaproxy, openHaproxy);
testBehind('nginx', findNginx, openNginx);

test.run();
