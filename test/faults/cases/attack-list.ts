/**
 * What a stranger, or a stranger with one token, can do to a running server: one entry per attack. An entry
 * says what the attackers send, on how many connections, which answers they may get, and what else must
 * be true meanwhile; every attack must leave an ordinary client served as always.
 *
 * Each entry runs in a process of its own (attacker-main.ts) against each kind of stores
 * (attacks.fault.ts).
 */
import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { limits } from '../../../engine/limits.ts';
import { formatToken } from '../../../engine/rules/token.ts';
import { type SlowKind, slowKinds } from '../../http/hostile/slow-clients.ts';
import {
  costly,
  distinct,
  firstFrame,
  frame,
  frames,
  from,
  head,
  lastFrame,
  mebi,
  members,
  middleFrame,
  pingFrame,
  request,
  simple,
  slowBodies,
  slowBody,
  statsBytesMax,
  textFrame,
  unknownTargets,
} from './attack-requests.ts';
import { type Drip, drip, flood, type Harvest, pour, type Target } from './attackers.ts';

export interface Attack {
  readonly name: string;
  readonly connections: number;
  readonly run: (target: Target) => Promise<Harvest>;
  /** All answers that attackers may get, by status. */
  readonly answers: readonly string[];
  /** Of these answers at least one must come. */
  readonly demanded?: readonly string[];
  /** At most so many of an answer, whatever the time. */
  readonly answersMax?: Readonly<Record<string, number>>;
  /** The ordinary client's worst wait on a machine with nothing else to do. */
  readonly waitMsMax?: number;
  /** Others wait at most three times as long as alone, and 50 ms: not as long as beside so many clients. */
  readonly waitsAsAlone?: boolean;
  /** How much the node's memory may grow. */
  readonly growthMiBMax?: number;
  /** Age at which the server has closed every connection. */
  readonly closedMsMax?: number;
}

/* ------------------------------------------------------------------ the list */

/** A node that refuses some of a flood does well. */
const refusals = ['429', '503'];
const slow = { connections: 3_000, growthMiBMax: 200, closedMsMax: 10_000 };
const webSockets = {
  connections: 200,
  waitsAsAlone: true,
  answers: ['101', ...refusals],
  demanded: ['101'],
};
/** What costs next to nothing when it is repeated. */
const repeated = { connections: 200, answers: ['200'], demanded: ['200'], waitMsMax: 250 };
const costlyJson = { connections: 20, answers: ['200', '400', '413', ...refusals], waitMsMax: 250 };
/** The private listener takes so many wrong tokens of one address a minute, and some at once. */
const wrongTokensMax = 25;

export const attacks: readonly Attack[] = [
  {
    name: 'one unknown vanity code',
    connections: 200,
    answers: ['404', ...refusals],
    run: simple(() => () => request({ path: '/vanity/unknown-code' })),
  },
  {
    name: 'unknown vanity codes, each another',
    connections: 200,
    answers: ['404', ...refusals],
    run: simple(() => (index, number) => {
      const name = distinct(index, number);
      return request({ path: `/vanity/unknown-${name.toString(36)}`, headers: from(name) });
    }),
  },
  {
    name: 'unknown bots, each another',
    connections: 200,
    answers: ['404', ...refusals],
    run: simple(() => (index, number) => {
      const name = distinct(index, number);
      return request({ path: `/bots/9${String(name).padStart(17, '0')}`, headers: from(name) });
    }),
  },
  {
    name: 'histories, each of another range',
    connections: 200,
    answers: ['200', ...refusals],
    run: simple(({ bot }) => (index, number) => {
      const name = distinct(index, number);
      const to = new Date(Date.UTC(2020, 0) + name * 60_000).toISOString();
      const since = new Date(Date.parse(to) - 990 * 86_400_000).toISOString();
      const query = `step=1d&from=${since}&to=${to}&format=${name % 2 === 0 ? 'csv' : 'json'}`;
      return request({ path: `/bots/${bot}/history?${query}`, headers: from(name) });
    }),
  },
  {
    name: 'well-formed unknown tokens, each another',
    connections: 200,
    answers: ['401', ...refusals],
    run: simple(({ bot }) => (index, number) => {
      const token = formatToken({ kind: 'bot', id: bot }, randomBytes(32));
      const headers = `Bot-Auth: ${token}\r\n${from(distinct(index, number))}`;
      return request({ method: 'POST', path: '/bots/stats', headers, body: Buffer.from('{"servers":1}') });
    }),
  },
  {
    name: 'malformed tokens, each another',
    connections: 200,
    answers: ['401', ...refusals],
    run: simple(({ bot }) => (index, number) => {
      const token = `rc_bot_${bot}_${randomBytes(24).toString('hex')}0`;
      const headers = `Bot-Auth: ${token}\r\n${from(distinct(index, number))}`;
      return request({ method: 'POST', path: '/bots/stats', headers, body: Buffer.from('{"servers":1}') });
    }),
  },
  {
    name: '500 requests in one write, again and again',
    connections: 200,
    answers: ['200', ...refusals],
    waitMsMax: 250,
    run: (target) => {
      const one = request({ path: `/bots/${target.bot}`, headers: 'X-Pad: 0000000\r\n' });
      const write = Buffer.concat(Array.from({ length: 500 }, () => one));
      return pour(target, () => ({ write }));
    },
  },
  {
    name: 'pings on WebSockets',
    ...webSockets,
    run: frames(() => Array.from({ length: 1_000 }, () => frame(pingFrame))),
  },
  {
    name: 'WebSocket messages of empty frames',
    ...webSockets,
    // uWebSockets.js reads the frames of half a mebibyte before anybody can stop it.
    waitsAsAlone: false,
    waitMsMax: 250,
    run: frames(() => [frame(firstFrame), Buffer.alloc(300_000, frame(middleFrame)), frame(lastFrame)]),
  },
  {
    name: 'WebSockets that follow unknown entities',
    ...webSockets,
    growthMiBMax: 200,
    run: frames((index) =>
      Array.from({ length: 20 }, (_, message) => frame(textFrame, unknownTargets(index, message))),
    ),
  },
  {
    name: 'charts of one badge, each in another colour',
    ...repeated,
    answers: ['200', ...refusals],
    run: simple(({ bot }) => (index, number) => {
      const name = distinct(index, number);
      const color = (name & 0xffffff).toString(16).padStart(6, '0');
      return request({ path: `/badges/bots/${bot}/spark-votes.svg?color=${color}`, headers: from(name) });
    }),
  },
  {
    name: 'pages past the end of a list, each another',
    ...repeated,
    answers: ['200', ...refusals],
    run: simple(({ bot }) => (index, number) => {
      const name = distinct(index, number);
      const lists = ['/bots/@all', '/servers/@all', '/packs/@all', `/bots/${bot}/votes/user-list`];
      return request({ path: `${lists[index % lists.length]}?page=${1_000 + name}`, headers: from(name) });
    }),
  },
  {
    name: 'the documents, again and again',
    ...repeated,
    run: simple(() => (index) => request({ path: index % 2 === 0 ? '/openapi.json' : '/llms.txt' })),
  },
  {
    name: 'long polls beyond the limit',
    connections: 5_500,
    waitMsMax: 250,
    answers: ['200', ...refusals],
    demanded: ['503'],
    run: simple(({ bot }) => (index, number) => {
      const headers = from(distinct(index, number));
      return request({ path: `/bots/${bot}/votes/log?wait=25`, headers });
    }),
  },
  {
    name: 'bodies with a token that never end',
    ...slow,
    answers: ['400', '408', '413', ...refusals],
    run: (target) => {
      const { bot, botToken } = target;
      const auth = `Bot-Auth: ${botToken}\r\n`;
      return drip(target, [
        ...slowBody(head('POST /bots/stats', auth), statsBytesMax),
        ...slowBody(head(`PATCH /bots/${bot}/settings`, auth), mebi),
      ]);
    },
  },
  {
    name: 'bodies that never end, where none is taken',
    ...slow,
    answers: ['200', '400', '408', '413', ...refusals],
    run: slowBodies(({ bot }) => head(`GET /bots/${bot}`)),
  },
  {
    name: 'bodies that never end, of requests that are refused',
    ...slow,
    answers: ['401', ...refusals],
    run: slowBodies(() => head('POST /bots/stats')),
  },
  {
    name: 'JSON of 60,000 unknown keys',
    ...costlyJson,
    run: costly(() => `{${members(60_000, (index) => `"key${index}":0`)}}`),
  },
  {
    name: 'JSON of 300,000 small values',
    ...costlyJson,
    run: costly(() => `{"shard_list":[${members(300_000, () => '1')}]}`),
  },
  {
    name: 'stats posts with full shard lists',
    ...costlyJson,
    answers: ['200', ...refusals],
    demanded: ['200'],
    run: simple(({ botToken }) => {
      const shards = Array.from({ length: limits.shardListEntriesMax }, () => '18446744073709551615');
      const body = Buffer.from(`{"shard_list":[${shards.join()}]}`);
      const headers = `Bot-Auth: ${botToken}\r\n`;
      return () => request({ path: '/bots/stats', method: 'POST', headers, body });
    }),
  },
  {
    name: 'JSON nested 300,000 deep',
    ...costlyJson,
    run: costly(() => `${'['.repeat(300_000)}${']'.repeat(300_000)}`),
  },
  {
    name: 'request lines that never end',
    connections: 3_000,
    answers: ['400', '408'],
    closedMsMax: 10_000,
    run: (target) =>
      drip(target, [{ opening: 'GET /bots/', piece: Buffer.from('1'), everyMs: 1_000, piecesMax: 1_000 }]),
  },
  {
    name: 'requests drop by drop, and connections without a byte',
    connections: 3_000,
    answers: ['400', '404', '408', ...refusals],
    closedMsMax: 10_000,
    run: (target) => {
      const kinds = slowKinds('', '/auth/test').filter(({ deaf }) => deaf !== true);
      const dripOf = ({ opening, drop }: SlowKind): Drip => ({
        opening,
        piece: Buffer.from(drop),
        everyMs: 1_000,
        piecesMax: drop === '' ? 0 : 1_000,
      });
      return drip(target, kinds.map(dripOf));
    },
  },
  {
    name: 'headers just over 16 KiB',
    connections: 200,
    answers: ['431'],
    run: simple(
      ({ bot }) =>
        () =>
          request({ path: `/bots/${bot}`, headers: `X-A: ${'a'.repeat(16_384)}\r\n` }),
    ),
  },
  {
    name: 'compressed bodies, whole and damaged',
    connections: 200,
    answers: ['415', ...refusals],
    demanded: ['415'],
    run: simple(({ botToken }) => {
      const headers = `Bot-Auth: ${botToken}\r\nContent-Encoding: gzip\r\n`;
      const bodies = [gzipSync(Buffer.alloc(64 * mebi)), randomBytes(100_000)];
      const sent = bodies.map((body) => request({ method: 'POST', path: '/bots/stats', headers, body }));
      return (_, number) => sent[number % sent.length] as Buffer;
    }),
  },
  {
    name: "another site's name at the private listener",
    connections: 20,
    answers: ['421'],
    demanded: ['421'],
    run: (target) =>
      flood(target, [
        {
          port: target.adminPort,
          connections: target.connections,
          request: (_, number) =>
            `GET ${number % 2 === 0 ? '/readyz' : '/metrics'} HTTP/1.1\r\nHost: evil.example\r\n\r\n`,
        },
      ]),
  },
  {
    name: "wrong operator's tokens, while the right one is used",
    connections: 20,
    answers: ['401', '429', 'right 200'],
    demanded: ['429', 'right 200'],
    answersMax: { '401': wrongTokensMax },
    run: (target) => {
      const { adminPort: port, operatorToken, connections } = target;
      const buildRequest = (token: string): string =>
        head('GET /jobs', `Authorization: Operator ${token}\r\n\r\n`).replace(
          'Host: 127.0.0.1',
          `Host: 127.0.0.1:${port}`,
        );
      return flood(target, [
        { port, connections, request: () => buildRequest(randomBytes(24).toString('hex')) },
        { port, connections: 1, pauseMs: 200, label: 'right ', request: () => buildRequest(operatorToken) },
      ]);
    },
  },
];

/** Clients that do no harm: what everybody waits when so many others are there. More than these are slow. */
const busyMax = 200;
const harmless: Omit<Attack, 'connections'> = {
  name: 'harmless clients',
  answers: ['200'],
  run: (target) =>
    flood(target, [
      {
        port: target.port,
        connections: target.connections,
        pauseMs: target.connections > busyMax ? 1_000 : 0,
        request: () => request({ path: `/bots/${target.bot}` }),
      },
    ]),
};

/** So many harmless clients. */
export const harmlessFor = (connections: number): Attack => ({ ...harmless, connections });

/** The attack of this name, in another process. */
export const attackNamed = (name: string): Omit<Attack, 'connections'> => {
  const found = [harmless, ...attacks].find((attack) => attack.name === name);
  if (found === undefined) throw new Error(`There is no attack "${name}".`);
  return found;
};
