/**
 * Power cuts under the embedded database: a preloaded library records what a process does to its folder, and
 * of a simulated disk only what was synced is certain to be there. Cut around its syncs, the folder opens and
 * has every commit that was answered.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import { openEmbeddedSql } from '../../../storage/embedded/pglite.ts';
import { openFaultyDisk } from '../../support/faulty-disk.ts';
import { makeFolder } from '../../support/folder.ts';
import { reportSkipped } from '../../support/needing-suite.ts';
import { cutPower } from '../../support/power-cuts.ts';

const test = suite('power cuts');
const root = makeFolder('rollcall-cut-');
const [base, live, record] = [join(root, 'base'), join(root, 'live'), join(root, 'record')];
const program = fileURLToPath(new URL('./power-cut-child.ts', import.meta.url));
const count = 15;
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
/** PGlite may also fail by never answering. */
const openTimeoutMs = 60_000;

const makeBase = async (): Promise<void> => {
  const { sql, close } = await openEmbeddedSql({ directory: base });
  await sql`create table numbers (number bigint primary key)`;
  await sql`create table latest (number bigint)`;
  await sql`create table texts (number bigint, body text)`;
  await sql`insert into latest values (0)`;
  await close();
};

/** Runs the program. Resolves to the times of its answers, by number from 1. */
const writeNumbers = async (environment: Readonly<Record<string, string>>): Promise<number[]> => {
  const child = spawn(process.execPath, [...process.execArgv, program, live], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = await once(child, 'close');
  assert.is(code, 0);
  return output
    .trim()
    .split('\n')
    .map((line) => Number(line.split(' ')[1]));
};

const readNumbers = async (folder: string): Promise<{ count: number; latest: number; texts: number }> => {
  const { sql, close } = await openEmbeddedSql({ directory: folder, openTimeoutMs });
  try {
    const [row] = await sql<{ count: number; latest: number; texts: number }[]>`
      select (select count(*) from numbers) as count, (select number from latest) as latest,
        (select count(distinct number) from texts) as texts`;
    return row ?? { count: 0, latest: 0, texts: 0 };
  } finally {
    await close();
  }
};

test('every commit that was answered is there, and none by half', async () => {
  const disk = openFaultyDisk();
  if (disk === null) return reportSkipped('power cuts', 'no gcc, or not Linux');
  await makeBase();
  cpSync(base, live, { recursive: true });
  disk.plant(live, {});
  const answersMs = await writeNumbers(disk.recordInto(record));
  const random = createRandom(seed);
  await cutPower({ base, live, record }, { random, count }, async ({ folder, cutMs, place }) => {
    const answered = answersMs.filter((answeredMs) => answeredMs <= cutMs).length;
    const numbers = await readNumbers(folder).catch((error: Error) => {
      throw new Error(`SEED=${seed}: ${place}, ${answered} answered: ${error.message}`);
    });
    assert.ok(numbers.count >= answered, `${place}: ${numbers.count} of ${answered}`);
    assert.equal([numbers.latest, numbers.texts], [numbers.count, numbers.count], place);
  });
});

test.run();
