/**
 * Random searches: one after the other, then 20 searchers at once beside reads of bots at a fixed rate.
 */

import { driveFleet, type FleetAnswers } from '../load/schedule.ts';
import { percentile } from '../report/statistics.ts';
import type { Directory } from '../scenarios/directory.ts';
import { createAddress } from '../scenarios/scenario.ts';
import { createRandom, type Random } from '../shared/random.ts';
import { drawSearch } from './names.ts';

export interface SearchFigures {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly worstMs: number;
  /** Answers other than 200. */
  readonly failed: number;
  /** The path that took longest. */
  readonly worst: string;
}

/** The reads, and the searches beside them. */
export interface BesideFigures {
  readonly reads: FleetAnswers;
  readonly searches: number;
  /** Searches with an answer other than 200. */
  readonly failed: number;
}

interface Timed {
  readonly path: string;
  readonly ms: number;
  readonly ok: boolean;
}

/** A new visitor for each request, so that none meets the limit of an address. */
const ask = async (url: string, path: string, random: Random): Promise<Timed> => {
  const begunMs = performance.now();
  const headers = { 'X-Forwarded-For': createAddress(random.next) };
  const response = await fetch(`${url}${path}`, { headers });
  await response.arrayBuffer();
  return { path, ms: performance.now() - begunMs, ok: response.ok };
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
  const times = all.map(({ ms }) => ms);
  const [worst] = all.toSorted((a, b) => b.ms - a.ms);
  return {
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    worstMs: worst?.ms ?? 0,
    worst: worst?.path ?? '',
    failed: all.filter(({ ok }) => !ok).length,
  };
};

/** Reads of bots, 50 a second, while `searchers` clients search without a pause. */
export const measureBeside = async (
  url: string,
  { bots, searchers, seconds }: { bots: Directory['bots']; searchers: number; seconds: number },
): Promise<BesideFigures> => {
  const random = createRandom(searchers + 1);
  let [searches, failed, ended] = [0, 0, false];
  const search = async (): Promise<void> => {
    while (!ended) {
      const { ok } = await ask(url, drawSearch(random), random);
      searches++;
      if (!ok) failed++;
    }
  };
  const searching = Array.from({ length: searchers }, search);
  const reads = await driveFleet({
    urls: [url],
    scenario: 'read',
    routing: 'random',
    rate: 50,
    seconds,
    isUniform: true,
    usedSeconds: 0,
    directory: { bots, users: [] },
  });
  ended = true;
  await Promise.all(searching);
  return { reads, searches, failed };
};
