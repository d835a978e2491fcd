/**
 * How long it takes to refuse a token reveals nothing about valid tokens (H14).
 *
 * Tokens that begin like a good one are timed against tokens that begin like one that never was, 10,000 of
 * each in random order, in one process. (Against tokens that share nothing with each other, the processor's
 * memory of the same text would be seen.) One run in a hundred shows a difference by mere chance, so all
 * three runs must show one before it is called one; a comparison letter by letter is found by the same runs.
 * Times are compared with each other, never with a limit.
 */
import { hash, randomBytes } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import { formatToken } from '../../../engine/rules/token.ts';
import { createSessionCache, type SessionCache } from '../../../http/auth/sessions.ts';
import { systemClock } from '../../../ops/clock.ts';
import { mannWhitney } from '../../support/mann-whitney.ts';
import { seed } from '../harness/fault-case.ts';
import { printFigures } from '../harness/figures.ts';

const test = suite('timing of refused tokens');
const samples = 10_000;
const warmUp = 3_000;
const runs = 3;
const chanceMin = 0.01;

const who = { kind: 'user', id: '728871946456137770' } as const;
const secret = randomBytes(32);
const good = formatToken(who, secret);
const decoy = randomBytes(32);
/** Well-formed, its first 30 digits and more those of the other's; flat, as the parser hands it over. */
const tokenLike = (other: Buffer): string => {
  const token = formatToken(who, Buffer.concat([other.subarray(0, 24), randomBytes(8)]));
  return Buffer.from(token).toString('latin1');
};

/** The session cache as every request uses it, before a source that knows one session by its hash. */
const openCache = async (): Promise<SessionCache> => {
  const session = {
    sessionId: 'one',
    ...who,
    sessionType: 'login',
    limits: [],
    banned: false,
    voteBanned: false,
    expiresAtMs: Number.POSITIVE_INFINITY,
  } as const;
  const known = new Map([[hash('sha256', good, 'hex'), session]]);
  const source = { byTokenHash: async (digest: Buffer) => known.get(digest.toString('hex')) ?? null };
  const cache = createSessionCache({ source, clock: systemClock, entriesMax: 1_000, freshMs: 3_600_000 });
  assert.is((await cache.find(good))?.sessionId, 'one');
  return cache;
};

type Find = (token: string) => Promise<unknown> | unknown;

/** The chance that both kinds of tokens take equally long to be refused. */
const chanceOf = async (find: Find, run: number): Promise<number> => {
  const random = createRandom(seed + run);
  const near = Array.from({ length: 2 * (samples + warmUp) }, () => random.below(2) === 0);
  // All made before any is timed, and times kept apart from what they are of: either would leave its traces.
  const tokens = near.map((isNear) => tokenLike(isNear ? secret : decoy));
  const times = new Float64Array(tokens.length);
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] as string;
    const startedNs = process.hrtime.bigint();
    await find(token);
    times[at] = Number(process.hrtime.bigint() - startedNs);
  }
  const timed = (isNear: boolean) => [...times].filter((_, at) => at >= 2 * warmUp && near[at] === isNear);
  return mannWhitney(timed(true), timed(false));
};

const chancesOf = async (find: Find): Promise<readonly number[]> => {
  const chances: number[] = [];
  for (let run = 0; run < runs; run++) chances.push(await chanceOf(find, run));
  return chances;
};
const shown = (chances: readonly number[]): string => chances.map((chance) => chance.toFixed(3)).join(', ');

test(`tokens like a good one are refused in the same time as others (SEED=${seed})`, async () => {
  const cache = await openCache();

  const chances = await chancesOf((token) => cache.find(token));

  printFigures(`refused tokens, like a valid one against others, ${samples} of each`, { p: shown(chances) });
  assert.ok(Math.max(...chances) > chanceMin, `a difference in each run: p ${shown(chances)}`);
});

test('a comparison letter by letter would be found', async () => {
  const cache = await openCache();
  const leaking = async (token: string): Promise<void> => {
    await cache.find(token);
    for (let stored = 0; stored < 4; stored++) {
      for (let at = 0; token.charCodeAt(at) === good.charCodeAt(at); ) at++;
    }
  };

  const chances = await chancesOf(leaking);

  printFigures('refused tokens, compared letter by letter', { p: shown(chances) });
  assert.ok(Math.min(...chances) < chanceMin, `not found: p ${shown(chances)}`);
});

test.run();
