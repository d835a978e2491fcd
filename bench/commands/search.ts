/**
 * `npm run bench -- search`: how long searches take in a large directory, and what they cost others.
 */
import { alignColumns } from '../report/text.ts';
import type { Live } from '../report/live.ts';
import { describeMachine } from '../machine/machine.ts';
import { buildBotRecord, createDirectory } from '../scenarios/directory.ts';
import { createFolder, type Folder, importDirectory, importLines, startOn } from '../servers/rollcall.ts';
import { openStores, type Stores } from '../servers/stores.ts';
import { flag, parseChoice, parseCount, parseWords, text } from '../arguments.ts';
import { fillBots, toGrownId } from '../growth/fill.ts';
import { measureBeside, measureSearches } from '../search/measure.ts';
import { makeNames } from '../search/names.ts';

const usage = `Usage: npm run bench -- search [options]

  --listings N     bots in the directory (1000000; on the embedded stores 20000)
  --stores NAME    redis (default: Redis and Postgres), or embedded
  --searches N     random searches, one after the other (1000)
  --searchers N    clients that search at once beside 50 reads a second (20)
  --seconds S      how long they do (20)
`;

interface Wanted {
  readonly listings: number;
  readonly kind: Stores['kind'];
  readonly searches: number;
  readonly searchers: number;
  readonly seconds: number;
}

const parse = (args: readonly string[]): Wanted | null => {
  const shape = { listings: text, stores: text, searches: text, searchers: text, seconds: text, help: flag };
  const given = parseWords(args, shape).values;
  if (given.help) return null;
  const kind = parseChoice('stores', given.stores ?? 'redis', ['redis', 'embedded']);
  const usual = kind === 'redis' ? '1000000' : '20000';
  return {
    kind,
    listings: parseCount('listings', given.listings ?? usual, [1_000, 10_000_000]),
    searches: parseCount('searches', given.searches ?? '1000', [10, 100_000]),
    searchers: parseCount('searchers', given.searchers ?? '20', [1, 1_000]),
    seconds: parseCount('seconds', given.seconds ?? '20', [1, 3_600]),
  };
};

/** Fills the stores of the folder with this many bots, each with names of its own; the first ones have tokens. */
const fill = async (
  folder: Folder,
  stores: Stores,
  listings: number,
  live: Live,
): Promise<readonly string[]> => {
  const directory = createDirectory({ bots: 1_000, users: 10 });
  await importDirectory(folder, { directory, stores: stores.rollcall });
  const count = listings - directory.bots.length;
  const address = stores.rollcall.DATABASE_URL ?? '';
  if (address === '') await importLines(folder, toNamedLines(count), stores.rollcall);
  else {
    const template = directory.bots[0]?.id ?? '';
    await fillBots(address, { template, count, makeNames }, (done) =>
      live.show(`${done} of ${count} bots …`),
    );
  }
  return directory.bots.map(({ id }) => id);
};

/** The first user of `createDirectory`. */
const ownerId = '200000000000000000';

const toNamedLines = (count: number): string =>
  Array.from({ length: count }, (_, index) => {
    const { username, displayName, short, tags } = makeNames(index);
    const user = { username, display_name: displayName };
    const record = buildBotRecord(toGrownId(index), index, ownerId, { user, short, tags });
    return `${JSON.stringify(record)}\n`;
  }).join('');

const formatMs = (ms: number): string => ms.toFixed(1);

const measure = async (url: string, botIds: readonly string[], wanted: Wanted, live: Live) => {
  live.show('searches …');
  const alone = await measureSearches(url, wanted.searches);
  live.show('reads without searches …');
  const { seconds, searchers } = wanted;
  const before = await measureBeside(url, { botIds, searchers: 0, seconds });
  live.show('reads beside searches …');
  const beside = await measureBeside(url, { botIds, searchers, seconds });
  const rows = [
    [
      'searches one after the other',
      alone.searches,
      formatMs(alone.medianMs),
      formatMs(alone.p99Ms),
      formatMs(alone.worstMs),
      alone.failed,
    ],
    [
      'reads at 50/s',
      seconds * 50,
      formatMs(before.readP50Ms),
      formatMs(before.readP99Ms),
      formatMs(before.readWorstMs),
      before.failed,
    ],
    [
      `reads at 50/s beside ${searchers} searchers (${beside.searches} searches)`,
      seconds * 50,
      formatMs(beside.readP50Ms),
      formatMs(beside.readP99Ms),
      formatMs(beside.readWorstMs),
      beside.failed,
    ],
  ];
  return { rows: rows.map((row) => row.map(String)), worst: alone.worst };
};

/** The exit code. Throws `ArgumentError`. */
export const runSearch = async (args: readonly string[], live: Live): Promise<number> => {
  const wanted = parse(args);
  if (wanted === null) {
    console.log(usage);
    return 0;
  }
  const { processor, cores, commit, date } = describeMachine();
  const folder = createFolder();
  const stores = await openStores(wanted.kind, false);
  try {
    const botIds = await fill(folder, stores, wanted.listings, live);
    const server = await startOn(folder, { profileDir: null, stores: stores.rollcall });
    try {
      const { rows, worst } = await measure(server.url, botIds, wanted, live);
      live.clear();
      console.log(
        `${wanted.listings.toLocaleString('en-US')} listings, ${wanted.kind}; ${processor}, ${cores} cores, ${date}, ${commit}`,
      );
      console.log(
        alignColumns({
          head: ['', 'requests', 'p50 ms', 'p99 ms', 'worst ms', 'failed'],
          textColumns: 1,
          rows,
        }),
      );
      console.log(`the slowest search: ${worst}`);
    } finally {
      await server.stop();
    }
  } finally {
    await stores.close();
    folder.remove();
  }
  return 0;
};
