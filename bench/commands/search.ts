/**
 * `search`: how long random searches take in a large directory, one after the other, and what 20 searchers at
 * once cost reads of bots at a fixed rate.
 */
import { defineCommand, type Report } from '../command.ts';
import { driveFleet } from '../load/schedule.ts';
import { choice, count, type Values } from '../options.ts';
import { percentile } from '../report/statistics.ts';
import { formatGrouped, tabulate } from '../report/table.ts';
import { drawSearch, makeNames } from '../scenarios/names.ts';
import { createAddress } from '../scenarios/scenario.ts';
import { fillWorld } from '../servers/fill.ts';
import { storeKinds } from '../servers/stores.ts';
import { openWorld, type World } from '../servers/world.ts';
import { createRandom, type Random } from '../shared/random.ts';

const options = {
  listings: count(null, [1_000, 10_000_000], 'bots in the directory (1000000; on the embedded stores 20000)'),
  stores: choice(storeKinds, 'redis', 'Redis and Postgres, or its own: '),
  searches: count(1_000, [10, 100_000], 'random searches, one after the other'),
  searchers: count(20, [1, 1_000], 'clients that search at once beside 50 reads a second'),
  seconds: count(20, [1, 3_600], 'how long they do'),
};
type Given = Values<typeof options>;

const usualListings = { redis: 1_000_000, embedded: 20_000 };
const untimed = 50;

/** One search of a new visitor, so that none meets the limit of an address. */
const ask = async (url: string, random: Random) => {
  const path = drawSearch(random);
  const begunMs = performance.now();
  const response = await fetch(`${url}${path}`, {
    headers: { 'X-Forwarded-For': createAddress(random.next) },
  });
  await response.arrayBuffer();
  return { path, ms: performance.now() - begunMs, ok: response.ok };
};
type Timed = Awaited<ReturnType<typeof ask>>;

const countFailed = (all: readonly Timed[]): number => all.filter(({ ok }) => !ok).length;

/** `searches`, one at a time. */
const measureSearches = async (url: string, searches: number) => {
  const random = createRandom(searches);
  const all: Timed[] = [];
  for (let index = 0; index < untimed + searches; index++) all.push(await ask(url, random));
  const timed = all.slice(untimed);
  const times = timed.map(({ ms }) => ms);
  const [worst] = timed.toSorted((a, b) => b.ms - a.ms) as [Timed];
  const [p50Ms, p99Ms] = [percentile(times, 0.5), percentile(times, 0.99)];
  return { requests: searches, p50Ms, p99Ms, failed: countFailed(timed), worst };
};

/** Reads of bots, 50 a second, while `searchers` clients search without a pause. */
const measureBeside = async (
  url: string,
  {
    bots,
    searchers,
    seconds,
  }: { readonly bots: World['directory']['bots'] } & Pick<Given, 'searchers' | 'seconds'>,
) => {
  const random = createRandom(searchers + 1);
  const searched: Timed[] = [];
  let ended = false;
  const searching = Array.from({ length: searchers }, async () => {
    while (!ended) searched.push(await ask(url, random));
  });
  const directory = { bots, users: [] };
  const order = {
    urls: [url],
    scenario: 'read',
    routing: 'random',
    rate: 50,
    isUniform: true,
    usedSeconds: 0,
  } as const;
  const reads = await driveFleet({ ...order, seconds, directory });
  ended = true;
  await Promise.all(searching);
  return { reads, searches: searched.length, failed: countFailed(searched) };
};

/** Measures a server that holds these bots. */
const measure = async (url: string, bots: World['directory']['bots'], given: Given): Promise<Report> => {
  const { searches, searchers, seconds } = given;
  const alone = await measureSearches(url, searches);
  const before = await measureBeside(url, { bots, searchers: 0, seconds });
  const beside = await measureBeside(url, { bots, searchers, seconds });
  const rows = [
    { what: 'searches one after the other', ...alone },
    { what: 'reads at 50/s', ...before.reads },
    { what: `reads beside ${searchers} searchers`, ...beside.reads },
  ];
  const table = tabulate<Pick<(typeof rows)[0], 'what' | 'requests' | 'p50Ms' | 'p99Ms' | 'failed'>>(rows, [
    ['', ({ what }) => what],
    ['requests', ({ requests }) => requests],
    ['p50 ms', ({ p50Ms }) => p50Ms, 1],
    ['p99 ms', ({ p99Ms }) => p99Ms, 1],
    ['failed', ({ failed }) => failed],
  ]);
  return {
    parts: [
      table,
      `the slowest search took ${alone.worst.ms.toFixed(0)} ms: ${alone.worst.path}`,
      `the ${searchers} searchers sent ${beside.searches} searches, ${beside.failed} of them failed`,
    ],
    figures: { alone, before, beside },
  };
};

export const search = defineCommand({
  name: 'search',
  about: 'searches among 1,000,000 listings, and reads beside 20 searchers',
  options,
  run: async (given, { live, report }) => {
    const { stores } = given;
    const listings = given.listings ?? usualListings[stores];
    const world = await openWorld({ stores, bots: 1_000, users: 10 });
    const { bots } = world.directory;
    await fillWorld(world, { count: listings - bots.length, makeNames, live });
    const { url } = await world.start();
    live.show('searches and reads …');
    const { parts, figures = {} } = await measure(url, bots, given);
    const title = `${formatGrouped(listings)} listings, ${stores}`;
    report(() => ({ parts: [title, ...parts], figures: { listings, stores, ...figures } }));
  },
});
