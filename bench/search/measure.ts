/**
 * Random searches: one after the other, then 20 searchers at once beside reads of bots at a fixed rate.
 */
import { createRandom, type Random } from '../../ops/demo/random.ts';
import { percentile } from '../report/statistics.ts';
import { drawSearch } from './names.ts';

interface Times {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly worstMs: number;
  /** Answers other than 200. */
  readonly failed: number;
}

export interface SearchFigures extends Times {
  /** The path that took longest. */
  readonly worst: string;
}

/** The times of the reads. */
export interface BesideFigures extends Times {
  readonly reads: number;
  readonly searches: number;
}

interface Timed {
  readonly path: string;
  readonly ms: number;
  readonly ok: boolean;
}

/** A new visitor for each request, so that none meets the limit of an address. */
const ask = async (url: string, path: string, random: Random): Promise<Timed> => {
  const address = `10.${random.below(256)}.${random.below(256)}.${random.below(256)}`;
  const begunMs = performance.now();
  const response = await fetch(`${url}${path}`, { headers: { 'X-Forwarded-For': address } });
  await response.arrayBuffer();
  return { path, ms: performance.now() - begunMs, ok: response.ok };
};

const toTimes = (all: readonly Timed[]): Times => {
  const times = all.map(({ ms }) => ms);
  return {
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    worstMs: Math.max(...times),
    failed: all.filter(({ ok }) => !ok).length,
  };
};

const untimed = 50;

/** `count` searches, one at a time. */
export const measureSearches = async (url: string, count: number): Promise<SearchFigures> => {
  const random = createRandom(count);
  const all: Timed[] = [];
  for (let index = 0; index < untimed + count; index++) {
    const timed = await ask(url, drawSearch(random), random);
    if (index >= untimed) all.push(timed);
  }
  const [worst] = all.toSorted((a, b) => b.ms - a.ms);
  return { ...toTimes(all), worst: worst?.path ?? '' };
};

const betweenReadsMs = 20;

/** Reads of bots, 50 a second, while `searchers` clients search without a pause. */
export const measureBeside = async (
  url: string,
  { botIds, searchers, seconds }: { botIds: readonly string[]; searchers: number; seconds: number },
): Promise<BesideFigures> => {
  const random = createRandom(searchers + 1);
  const untilMs = performance.now() + seconds * 1_000;
  let searches = 0;
  let failed = 0;
  const search = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      const { ok } = await ask(url, drawSearch(random), random);
      searches++;
      if (!ok) failed++;
    }
  };
  const reads: Promise<Timed>[] = [];
  const read = async (): Promise<void> => {
    for (let dueMs = performance.now(); dueMs < untilMs; dueMs += betweenReadsMs) {
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())));
      reads.push(ask(url, `/bots/${random.pick(botIds)}`, random));
    }
  };
  await Promise.all([read(), ...Array.from({ length: searchers }, search)]);
  const timed = await Promise.all(reads);
  const times = toTimes(timed);
  return { ...times, reads: timed.length, searches, failed: failed + times.failed };
};
