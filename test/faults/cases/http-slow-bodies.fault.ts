/**
 * Bodies that do not arrive in time, of every kind and with any offset to the sweeps of uWebSockets.js, whose
 * own time for a connection is shorter: each is answered 400 after 10 s, and then the connection closes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { answersIn, openSocket } from '../../http/raw.ts';
import { openWorld } from '../../http/world.ts';
import { faultCase } from '../harness/fault-case.ts';

const test = suite('slow bodies');
const perKind = 24;

interface SlowBody {
  readonly opening: string;
  /** Sent every `everyMs`. */
  readonly drop: string;
  readonly everyMs: number;
}
const post = 'POST /echo HTTP/1.1\r\nHost: a\r\n';
const sized = `${post}Content-Length: 4000\r\n\r\n`;
const chunked = `${post}Transfer-Encoding: chunked\r\n\r\n`;
const kinds: Readonly<Record<string, SlowBody>> = {
  'a byte every 0.7 s': { opening: sized, drop: '1', everyMs: 700 },
  'a byte every 3 s': { opening: sized, drop: '1', everyMs: 3_000 },
  'no byte': { opening: sized, drop: '', everyMs: 1_000 },
  'one byte': { opening: `${sized}1`, drop: '', everyMs: 1_000 },
  'all but one byte': { opening: `${sized}${'1'.repeat(3_999)}`, drop: '', everyMs: 1_000 },
  'chunk after chunk': { opening: chunked, drop: '1\r\n1\r\n', everyMs: 700 },
  'no chunk': { opening: chunked, drop: '', everyMs: 1_000 },
  'a part of a chunk': { opening: `${chunked}10\r\n1`, drop: '', everyMs: 1_000 },
};

const drip = async (port: number, { opening, drop, everyMs }: SlowBody) => {
  const { socket, text } = openSocket(port);
  const startedMs = performance.now();
  socket.write(opening);
  const timer = setInterval(() => socket.writable && socket.write(drop), everyMs);
  await new Promise((resolve) => socket.once('close', resolve));
  clearInterval(timer);
  const [answer] = answersIn(text());
  return { answer: `${answer?.status} ${answer?.body ?? ''}`, ms: performance.now() - startedMs };
};

faultCase(test, {
  title: 'bodies that do not arrive in time are answered after 10 s',
  name: 'bodies that do not arrive in time',
  once: true,
  run: async () => {
    const world = await openWorld();
    const all = Object.entries(kinds).flatMap(([kind, body]) =>
      Array.from({ length: perKind }, async (_, index) => {
        await sleep((index * 4_000) / perKind);
        return { kind, ...(await drip(world.port, body)) };
      }),
    );
    const outcomes = await Promise.all(all);
    await world.close();
    for (const { kind, answer, ms } of outcomes) {
      assert.match(answer, /^400 .*The body did not arrive in time/, kind);
      assert.ok(ms >= 9_900 && ms < 11_500, `${kind}: ${ms} ms`);
    }
    const waits = outcomes.map(({ ms }) => ms);
    return {
      bodies: outcomes.length,
      answered: outcomes.filter(({ answer }) => answer.startsWith('400')).length,
      firstMs: Math.round(Math.min(...waits)),
      lastMs: Math.round(Math.max(...waits)),
    };
  },
});

test.run();
