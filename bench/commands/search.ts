/**
 * `npm run bench -- search`: how long searches take in a large directory, and what they cost others.
 */

import type { ImportRecord } from '../../storage/import/kinds.ts';
import { parseChoice, parseCount, text } from '../arguments.ts';
import { fillBots, toGrownId } from '../growth/fill.ts';
import { describeMachine } from '../machine/machine.ts';
import type { Live } from '../report/live.ts';
import { alignColumns } from '../report/text.ts';
import { buildBotRecord, createDirectory, type Directory } from '../scenarios/directory.ts';
import { measureBeside, measureSearches } from '../search/measure.ts';
import { makeNames } from '../search/names.ts';
import { createFolder, type Folder, importDirectory, startOn } from '../servers/rollcall.ts';
import { openStores, type Stores } from '../servers/stores.ts';
import { type CommandContext, defineCommand, interruptedCode, type OptionValues } from './command.ts';

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

const options = { listings: text, stores: text, searches: text, searchers: text, seconds: text };

const parse = (given: OptionValues<typeof options>): Wanted => {
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

interface World {
  readonly folder: Folder;
  readonly stores: Stores;
  readonly live: Live;
}

/** Fills the stores with bots of names of their own. Resolves to the first 1,000 of them, to be read. */
const fill = async ({ folder, stores, live }: World, listings: number): Promise<Directory['bots']> => {
  const directory = createDirectory({ bots: 1_000, users: 10 });
  const { bots, users } = directory;
  const count = listings - bots.length;
  const address = stores.rollcall.DATABASE_URL ?? '';
  const owner = users[0]?.id ?? '';
  const named =
    address === '' ? Array.from({ length: count }, (_, index) => buildNamedBot(index, owner)) : [];
  await importDirectory(folder, { directory, stores: stores.rollcall }, named);
  if (address !== '') {
    const copies = { template: bots[0]?.id ?? '', count, makeNames };
    await fillBots(address, copies, (done) => live.show(`${done} of ${count} bots …`));
  }
  return bots;
};

const buildNamedBot = (index: number, owner: string): ImportRecord => {
  const { username, displayName, short, tags } = makeNames(index);
  const user = { username, display_name: displayName };
  return buildBotRecord(toGrownId(index), index, owner, { user, short, tags });
};

interface Times {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly failed: number;
}

const toRow = (what: string, requests: number, { p50Ms, p99Ms, failed }: Times): readonly string[] => [
  what,
  String(requests),
  p50Ms.toFixed(1),
  p99Ms.toFixed(1),
  String(failed),
];

/** Measures a server that holds these bots; prints a table. */
const measure = async (url: string, bots: Directory['bots'], { searches, searchers, seconds }: Wanted) => {
  const alone = await measureSearches(url, searches);
  const before = await measureBeside(url, { bots, searchers: 0, seconds });
  const beside = await measureBeside(url, { bots, searchers, seconds });
  const rows = [
    toRow('searches one after the other', searches, alone),
    toRow('reads at 50/s', before.reads.requests, before.reads),
    toRow(`reads beside ${searchers} searchers`, beside.reads.requests, beside.reads),
  ];
  const head = ['', 'requests', 'p50 ms', 'p99 ms', 'failed'];
  console.log(alignColumns({ head, textColumns: 1, rows }));
  console.log(`the slowest search took ${alone.worstMs.toFixed(0)} ms: ${alone.worst}`);
  console.log(`the ${searchers} searchers sent ${beside.searches} searches, ${beside.failed} of them failed`);
};

/** Resolves to the exit code. */
const run = async (wanted: Wanted, { live, stop }: CommandContext): Promise<number> => {
  // The servers and stores end with this process.
  stop.addEventListener('abort', () => process.exit(interruptedCode));
  const { processor, cores, commit, date } = describeMachine();
  const folder = createFolder();
  const stores = await openStores(wanted.kind, false);
  try {
    const bots = await fill({ folder, stores, live }, wanted.listings);
    const server = await startOn(folder, { profileDir: null, stores: stores.rollcall });
    live.clear();
    console.log(
      `${wanted.listings.toLocaleString('en-US')} listings, ${wanted.kind}; ${processor}, ${cores} cores`,
    );
    console.log(`${date}, ${commit}`);
    await measure(server.url, bots, wanted).finally(server.stop);
  } finally {
    await stores.close();
    folder.remove();
  }
  return 0;
};

export const runSearch = defineCommand({ usage, options, parse, run });
