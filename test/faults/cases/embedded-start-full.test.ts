/**
 * Starts on a disk that is full already: each ends at once and says so, and the next one, with room, has
 * everything. Time limit: 300 s.
 */
import { readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { toDatabaseFolder } from '../../../storage/embedded/open.ts';
import { openEmbeddedSql } from '../../../storage/embedded/pglite.ts';
import { assertExcludes, assertIncludes } from '../../support/assert-includes.ts';
import { copyDataFolder } from '../../support/directory.ts';
import { spawnNode } from '../../support/node-process.ts';
import { killNode, lastLook, loadFor, openNode, type RunPlan, runEmbedded } from '../harness/embedded-run.ts';
import { faultCase } from '../harness/fault-case.ts';
import type { Figures } from '../harness/figures.ts';
import { useTemplate } from '../harness/plans.ts';
import { fillDisk, onSmallDisk } from '../harness/small-disk.ts';

const test = suite('a start on a full disk');
const folders = useTemplate(test);

const diskBytes = 256 * 2 ** 20;
/** Far below the 120 s after which an opening is given up. */
const failMsMax = 20_000;

/** A start that must fail, and what it says. */
const assertFails = async (dataDir: string, why: string): Promise<void> => {
  const startedMs = performance.now();
  const node = spawnNode({ dataDir });
  const timer = setTimeout(() => node.signal('SIGKILL'), failMsMax);
  const { code } = await node.exited;
  clearTimeout(timer);
  const output = node.output();
  assert.is(code, 1, `ends by itself, after ${Math.round(performance.now() - startedMs)} ms: ${output}`);
  assert.match(output, /disk full: [01]\.\d MiB are free for /);
  assertIncludes(output, `are free for ${dataDir}, too few to start`);
  assertIncludes(output, why);
  assertExcludes(output, 'Lost', 'tells of a loss');
};

const logPage = { bytes: 8_192, headerBytes: 24 };

/** Leaves less of the newest file of the log than a start writes, and no other that it could use. */
const exhaustLog = async (dataDir: string): Promise<void> => {
  const directory = toDatabaseFolder(dataDir);
  const { sql, close } = await openEmbeddedSql({ directory });
  const findPlace = async () => {
    const [row] = await sql<{ name: string; left: number }[]>`
      select file_name as name, pg_size_bytes(current_setting('wal_segment_size')) - file_offset as left
      from pg_walfile_name_offset(pg_current_wal_insert_lsn())`;
    return row ?? { name: '', left: 0 };
  };
  const { name, left } = await findPlace();
  const bytes = Math.floor(left * (1 - logPage.headerBytes / logPage.bytes)) - leftBytes;
  await sql`select pg_logical_emit_message(false, 'fill', repeat('x', ${bytes}::int))`;
  assert.is((await findPlace()).name, name, 'the log has not begun another file');
  await close();
  const log = join(directory, 'pg_wal');
  for (const file of readdirSync(log))
    if (/^[0-9A-F]{24}$/.test(file) && file > name) rmSync(join(log, file));
};
/** Enough for the end of this database, too little for another start. */
const leftBytes = 1_000;

interface Starts extends Figures {
  readonly starts: number;
}

interface Fill {
  readonly freeBytes: number;
  readonly why: string;
  readonly prepare?: (dataDir: string) => Promise<void>;
}

/** A node is killed under load; on the full disk it cannot start, with room it has what it acknowledged. */
const runFull = (plan: RunPlan, { freeBytes, why, prepare }: Fill): Promise<Starts | null> =>
  onSmallDisk('start on a full disk', diskBytes, (disk) =>
    runEmbedded({ ...plan, dataDir: copyDataFolder(plan.dataDir, join(disk, 'data')) }, async (run) => {
      const node = await openNode(run);
      await loadFor(run, node, 1_000);
      await killNode(run, node);
      await prepare?.(run.dataDir);
      const ballast = fillDisk(disk);
      truncateSync(ballast, statSync(ballast).size - freeBytes);
      await assertFails(run.dataDir, why);
      await assertFails(run.dataDir, why);
      rmSync(ballast);
      await lastLook(run);
      return { starts: 2 };
    }),
  );

faultCase(test, {
  title: 'a start without any room says so, and the next one has everything',
  name: 'start on a full disk',
  run: ({ seed }) => runFull(folders.plan(seed), { freeBytes: 0, why: 'ENOSPC' }),
});

faultCase(test, {
  title: 'a start whose log finds no room says so, and the next one has everything',
  name: 'start without room for the log',
  counts: { quick: 1, faults: 1 },
  run: ({ seed }) =>
    runFull(folders.plan(seed), { freeBytes: 2 ** 20, why: 'no room for the log', prepare: exhaustLog }),
});

const firstBytes = 12 * 2 ** 20;

faultCase(test, {
  title: 'a first start that fills the disk says so, again each time',
  name: 'first start on a small disk',
  counts: { quick: 1, faults: 1 },
  once: true,
  run: () =>
    onSmallDisk('first start on a small disk', firstBytes, async (disk) => {
      for (let starts = 0; starts < 2; starts++) await assertFails(join(disk, 'data'), 'ENOSPC');
      return { starts: 2 };
    }),
});

test.run();
