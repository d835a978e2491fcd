/**
 * Floods of names that a directory does not know, what other clients see meanwhile, and how soon a name that
 * was unknown is found.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { type ClientRequest, createClient } from '../../../bench/shared/http-client.ts';
import { formatToken } from '../../../engine/rules/token.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { type Directory, tokenOf } from '../../support/directory.ts';

export type FloodName = 'one vanity code' | 'distinct bots' | 'distinct tokens';

/** What a flood requests, by the number of the request, and what it may be answered. */
const floods: Readonly<
  Record<FloodName, { answers: number[]; make(number: number): [string, ClientRequest?] }>
> = {
  'one vanity code': { answers: [404, 503], make: () => ['/vanity/missing'] },
  'distinct bots': { answers: [404, 503], make: (number) => [`/bots/9${number}?target=page`] },
  'distinct tokens': {
    answers: [401, 503],
    make: (number) => {
      const token = formatToken({ kind: 'bot', id: String(number) }, randomBytes(32));
      return ['/bots/stats', { method: 'POST', headers: { 'Bot-Auth': token }, body: '{"servers":1}' }];
    },
  },
};

const connections = 200;
/** No client waits longer for an answer, whatever the flood. */
const waitMsMax = 10_000;

export interface FloodFigures {
  readonly answers: Readonly<Record<number, number>>;
  /** Requests of others, and how long they took. */
  readonly others: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Asks at the node what other clients ask: reads, posts, edits in transactions. All must succeed. */
const askAsOthers = async (url: string, directory: Directory, untilMs: number): Promise<number[]> => {
  const client = createClient(4);
  const [bot = ''] = directory.bots;
  const bots = { 'Bot-Auth': tokenOf('bot', bot), 'Content-Type': 'application/json' };
  const [user = ''] = directory.users;
  const pack = directory.targets.find(({ kind }) => kind === 'pack')?.id ?? '';
  const users = { 'User-Auth': tokenOf('user', user), 'Content-Type': 'application/json' };
  const edited = { name: 'Edited', short: 'Edited while a flood is on.', tags: ['faults'], bots: [bot] };
  const requests: readonly [string, ClientRequest?][] = [
    [`/bots/${bot}?target=page`],
    ['/bots/stats', { method: 'POST', headers: bots, body: '{"servers":5}' }],
    [`/users/${user}/packs/${pack}`, { method: 'PATCH', headers: users, body: JSON.stringify(edited) }],
    [`/packs/${pack}`],
  ];
  const tookMs: number[] = [];
  for (let number = 0; performance.now() < untilMs; number++) {
    const [path, request] = requests[number % requests.length] as [string, ClientRequest?];
    const startedMs = performance.now();
    const { status, text } = await client.ask(`${url}${path}`, request);
    tookMs.push(performance.now() - startedMs);
    assert.ok(status < 300, `${path}: ${status} ${text}`);
    await sleep(20);
  }
  client.close();
  return tookMs;
};

/** Floods the node for so long. Rejects when it does not answer, or answers otherwise than it may. */
export const flood = async (
  name: FloodName,
  { url, directory, seconds }: { url: string; directory: Directory; seconds: number },
): Promise<FloodFigures> => {
  const { answers: allowed, make } = floods[name];
  const untilMs = performance.now() + seconds * 1_000;
  const client = createClient(connections);
  const answers: Record<number, number> = {};
  let number = 0;
  const ask = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      const [path, request] = make(number++);
      const { status, text } = await client.ask(`${url}${path}`, request);
      answers[status] = (answers[status] ?? 0) + 1;
      assertIncludes(allowed, status, `${path}: ${status} ${text}`);
      if (status === 503) assert.match(text, '"code":"overloaded"');
    }
  };
  const flooding = Promise.all(Array.from({ length: connections }, ask));
  const [tookMs] = await Promise.all([askAsOthers(url, directory, untilMs), flooding]);
  client.close();
  const sorted = tookMs.sort((left, right) => left - right);
  const at = (share: number): number => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0);
  const figures = { answers, others: tookMs.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
  assert.ok(figures.maxMs < waitMsMax, `the slowest of the others took ${figures.maxMs} ms`);
  return figures;
};

/** The names under which something new is found: each is requested before it is made, and after. */
const creations = (directory: Directory): { path: string; create: [string, ClientRequest] }[] => {
  const [user = ''] = directory.users;
  const bot = directory.bots[1] ?? '';
  const headers = { 'User-Auth': tokenOf('user', user), 'Content-Type': 'application/json' };
  const send = (method: 'PUT' | 'PATCH', body: object): ClientRequest => ({
    method,
    headers,
    body: JSON.stringify(body),
  });
  const pack = { url: 'late-pack', name: 'Late', short: 'Made while it was unknown.', tags: ['late'] };
  const renamed = (code: string): [string, ClientRequest] => [`/bot/${bot}/vanity`, send('PATCH', { code })];
  return [
    { path: '/vanity/late-code', create: renamed('late-code') },
    { path: '/bots/later-code', create: renamed('later-code') },
    { path: '/packs/late-pack', create: [`/users/${user}/packs`, send('PUT', { ...pack, bots: [bot] })] },
  ];
};

/**
 * Requests unknown names from both nodes, all the time, makes them at `here`, and resolves to how long the
 * slowest took to be found at `there`, ms. Rejects when one is not found at once at `here`.
 */
export const measureVisibility = async (fleet: {
  here: string;
  there: string;
  directory: Directory;
}): Promise<number> => {
  const client = createClient(8);
  const statusOf = async (base: string, path: string) => (await client.ask(`${base}${path}`)).status;
  let slowestMs = 0;
  for (const { path, create } of creations(fleet.directory)) {
    for (const base of [fleet.here, fleet.there]) assert.is(await statusOf(base, path), 404, path);
    const [where, request] = create;
    const { status, text } = await client.ask(`${fleet.here}${where}`, request);
    const createdMs = performance.now();
    assert.ok(status < 300, `${where}: ${status} ${text}`);
    assert.is(await statusOf(fleet.here, path), 200, `${path} at once where it was created`);
    while ((await statusOf(fleet.there, path)) !== 200) await sleep(5);
    slowestMs = Math.max(slowestMs, performance.now() - createdMs);
  }
  client.close();
  return slowestMs;
};
