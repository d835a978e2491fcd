/**
 * kill -9 while the embedded database is written: everything reported as committed survives.
 */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type EmbeddedSql, openEmbeddedSql } from '../../../storage/embedded/pglite.ts';
import { makeFolder } from '../../support/folder.ts';

const test = suite('embedded store, killed');
const folder = makeFolder('rollcall-killed-');
const child = fileURLToPath(new URL('./writer-child.ts', import.meta.url));
/** PGlite puts its sockets below the temporary folder; a private one shows whether any remain. */
const temporary = makeFolder('rollcall-tmp-');
process.env.TMPDIR = temporary;

const open = (): Promise<EmbeddedSql> => openEmbeddedSql({ directory: join(folder, 'sql') });
const numbersIn = async ({ sql }: EmbeddedSql): Promise<number[]> => {
  const rows = await sql<{ number: number }[]>`select number from numbers order by number`;
  return rows.map(({ number }) => number);
};

const { sql, close } = await open();
await sql`create table numbers (number bigint primary key)`;
await sql`create table latest (number bigint)`;
await sql`insert into numbers values (-1)`;
await sql`insert into latest values (-1)`;
await close();

/** Starts the writer, kills it after some numbers. Resolves to the last number reported as committed. */
const writeAndKill = (from: number, count: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const writer = spawn(process.execPath, [...process.execArgv, child, join(folder, 'sql'), String(from)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let last = from - 1;
    createInterface(writer.stdout).on('line', (line) => {
      last = Number(line);
      if (last >= from + count) writer.kill('SIGKILL');
    });
    writer.on('error', reject);
    writer.on('close', () => resolve(last));
  });

test('ten times kill -9 while writing, during checkpoints too: nothing committed is lost', async () => {
  let reported = -1;
  for (let round = 0; round < 10; round++) {
    const from = reported + 1;
    const last = await writeAndKill(from, (round * 7) % 31);
    assert.ok(last >= from, `round ${round} wrote nothing`);
    // The number after the last reported one may be committed but not yet reported.
    const store = await open();
    const numbers = await numbersIn(store);
    assert.equal(
      numbers.filter((number) => number <= last),
      Array.from({ length: last + 2 }, (_, index) => index - 1),
    );
    const newest = numbers.at(-1) ?? -1;
    assert.ok(newest <= last + 1);
    const [latest] = await store.sql<{ number: number }[]>`select number from latest`;
    assert.is(latest?.number, newest);
    await store.close();
    reported = newest;
  }
});

test('killed processes leave no socket folders behind', () => {
  assert.equal(readdirSync(temporary), []);
});

test.run();
