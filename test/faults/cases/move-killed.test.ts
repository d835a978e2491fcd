/**
 * kill -9 of `rollcall ops move` at random moments, in each direction: never are two directories open, the
 * same command goes on, and everything is there.
 *
 * One directory moves in a circle: embedded, Redis and Postgres, embedded, Postgres alone, embedded. Another
 * goes from 128 shards to 16 again and again. KILLS sets how often each direction is killed.
 * Time limit: 2400 s.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import { readMark } from '../../../storage/move/marks.ts';
import { openStores } from '../../../storage/open.ts';
import { makeDataFolder } from '../../support/directory.ts';
import { makeFolder } from '../../support/folder.ts';
import { quiet } from '../../support/node-process.ts';
import { runOps } from '../../support/ops-process.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { startRedis } from '../../support/redis-server.ts';
import { faultCase } from '../harness/fault-case.ts';

/** Where a directory is: a data folder, and the servers beside it. */
interface Stores {
  readonly dataDir: string;
  readonly settings: { readonly REDIS_URL?: string; readonly DATABASE_URL?: string };
}

const test = suite('a move that is killed');
const folder = makeFolder('rollcall-move-killed-');
const program = fileURLToPath(new URL('../../../ops/cli/main.ts', import.meta.url));
const postgres = await startPostgres();
test.after(() => postgres.close());
/** Of each direction. */
const kills = Number(process.env.KILLS ?? 20);
const sizes = { users: 20, bots: 10, servers: 2, teams: 1, packs: 1 };
/** How long a whole move takes, by its direction; the first kill guesses. */
const wholeMs = new Map<string, number>();

const open = ({ dataDir, settings: { REDIS_URL, DATABASE_URL = '' } }: Stores) =>
  openStores(
    { dataDir, redisUrl: REDIS_URL === undefined ? [] : [REDIS_URL], databaseUrl: DATABASE_URL },
    { clock: Date.now, onWarning: () => {} },
  );

/** Whether the stores have a directory that starts. */
const isOpen = async (stores: Stores): Promise<boolean> => {
  const { sql, close } = await open(stores);
  try {
    if ((await readMark(sql)) !== null) return false;
    const [table] = await sql<{ found: boolean }[]>`select to_regclass('users') is not null as found`;
    if (table?.found !== true) return false;
    const [row] = await sql<{ used: boolean }[]>`select exists (select from users) as used`;
    return row?.used === true;
  } finally {
    await close();
  }
};

const inspect = async ({ dataDir, settings }: Stores): Promise<string> => {
  const { out, err, code } = await runOps(dataDir, ['inspect', 'bot', '2000000000000000', '--json'], {
    settings,
  });
  assert.is(code, 0, err);
  // Another number of shards gives others.
  return out.replace(/"shard": \d+/g, '');
};

const listArgs = ({ dataDir, settings }: Stores): readonly string[] => [
  'move',
  ...(settings.REDIS_URL === undefined ? ['--to-data', dataDir] : ['--to-redis', settings.REDIS_URL]),
  ...(settings.DATABASE_URL === undefined ? [] : ['--to-database', settings.DATABASE_URL]),
];

/** Kills the command after a part of its usual time; judges, and lets it go on. */
const moveKilled = async (
  direction: string,
  [from, to]: readonly [Stores, Stores],
  part: number,
): Promise<void> => {
  const args = listArgs(to);
  const before = await inspect(from);
  const env = { ...process.env, ...quiet, DATA_DIR: from.dataDir, ...from.settings };
  const child = spawn(process.execPath, [...process.execArgv, program, ...args], { env, stdio: 'ignore' });
  const exited = once(child, 'exit');
  await Promise.race([exited, sleep(part * (wholeMs.get(direction) ?? 3_000))]);
  child.kill('SIGKILL');
  await exited;
  assert.ok(!((await isOpen(from)) && (await isOpen(to))), `${direction}: both are open`);

  const startedMs = performance.now();
  const again = await runOps(from.dataDir, args, { settings: from.settings });
  wholeMs.set(direction, Math.max(wholeMs.get(direction) ?? 0, performance.now() - startedMs));
  assert.ok(again.code === 0 || /moved before/.test(again.err), `${direction}: ${again.err}`);
  assert.equal([await isOpen(from), await isOpen(to)], [false, true], direction);
  assert.is(await inspect(to), before, direction);
};

const circle = async (embedded: Stores, round: string, next: () => number): Promise<Stores> => {
  const redis = await startRedis();
  try {
    const servers = { REDIS_URL: redis.url, DATABASE_URL: await postgres.database(`servers_${round}`) };
    const steps: readonly (readonly [string, Stores])[] = [
      ['embedded to servers', { dataDir: join(folder, `${round}-servers`), settings: servers }],
      ['servers to embedded', { dataDir: join(folder, `${round}-back`), settings: {} }],
      [
        'embedded to Postgres alone',
        {
          dataDir: join(folder, `${round}-alone`),
          settings: { DATABASE_URL: await postgres.database(`alone_${round}`) },
        },
      ],
      ['Postgres alone to embedded', { dataDir: join(folder, `${round}-last`), settings: {} }],
    ];
    let from = embedded;
    for (const [direction, to] of steps) {
      await moveKilled(direction, [from, to], next());
      from = to;
    }
    return from;
  } finally {
    await redis.dispose();
  }
};

faultCase(test, {
  title: 'between all kinds of stores: none or one directory is open, and nothing is missing',
  name: 'kill -9 of a move between stores',
  counts: { quick: 1, faults: kills },
  once: true,
  run: async ({ seed, count }) => {
    const random = createRandom(seed);
    let at: Stores = { dataDir: join(folder, `first-${seed}`), settings: {} };
    await makeDataFolder(at.dataDir, sizes);
    for (let round = 0; round < count; round++)
      at = await circle(at, `${seed}_${round}`, () => random.next());
    return { kills: 4 * count };
  },
});

test.run();
