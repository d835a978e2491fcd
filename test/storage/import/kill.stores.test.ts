/**
 * An import killed with SIGKILL at several moments ends in the same store as an undisturbed import.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openEmbeddedSql } from '../../../storage/embedded/pglite.ts';
import { importFile } from '../../../storage/import/import.ts';
import { makeFolder } from '../../support/folder.ts';
import { makeSqlFolder } from '../../support/sql-template.ts';
import { bot, dump, linesOf, user, vote } from './store.ts';

const test = suite('import, killed');
const folder = makeFolder('rollcall-kill-');
const directory = join(folder, 'sql');
const file = join(folder, 'records.jsonl');
/** As in import-child.ts. */
const now = '2026-03-01T00:00:00.000Z';
const child = fileURLToPath(new URL('./import-child.ts', import.meta.url));

const uuid = (kind: string, number: number): string =>
  `${kind}0000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const records = [
  ...Array.from({ length: 100 }, (_, n) => user(n + 1)),
  ...Array.from({ length: 600 }, (_, n) =>
    bot(n + 1_000, {
      itag: uuid('a', n),
      vanity_ref: uuid('b', n),
      ...(n % 50 === 7 ? { tags: 1 } : {}),
    }),
  ),
  ...Array.from({ length: 300 }, (_, n) => vote(1_000 + n, 1 + (n % 90), { vote_num: n % 3 })),
];

/** Runs the child and kills it once it reports `killAt` lines. Resolves to the last report. */
const run = async (killAt: number): Promise<number> => {
  const importing = spawn(process.execPath, [...process.execArgv, child, directory, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // Temporary files of killed processes are deleted with the folder.
    env: { ...process.env, TMPDIR: folder },
  });
  const ended = once(importing, 'exit');
  let done = 0;
  for await (const line of createInterface({ input: importing.stdout })) {
    done = Number(line);
    if (done >= killAt) importing.kill('SIGKILL');
  }
  await ended;
  return done;
};

test('SIGKILL loses no batch and repeats none', async () => {
  writeFileSync(file, linesOf(...records).join('\n'));
  await makeSqlFolder(directory);

  const reached: number[] = [];
  for (const killAt of [60, 500, Number.POSITIVE_INFINITY]) reached.push(await run(killAt));

  const { sql, close } = await openEmbeddedSql({ directory });
  const killed = await dump(sql);
  const [numbers] = await sql`
    select count(*) as votes, count(distinct (incarnation, log_number)) as different,
      (select sum(votes_logged) from totals) as logged from votes`;
  const rejected = readFileSync(`${file}.rejected`, 'utf8');
  await sql`truncate users, totals, vanity, votes, imports cascade`;
  await importFile(sql, file, { skipBad: true, now });
  const undisturbed = await dump(sql);
  await close();
  assert.ok(reached[0] !== undefined && reached[0] < records.length, 'the first run was killed');
  assert.is(reached.at(-1), records.length);
  const imported = killed.split('\n').filter((line) => !/^{"kind":"(export|position)"/.test(line));
  assert.is(imported.length - 1, records.length - 12 - 6);
  assert.is(killed, undisturbed);
  const votes = numbers?.votes;
  assert.ok(votes > 250);
  assert.equal({ ...numbers, logged: Number(numbers?.logged) }, { votes, different: votes, logged: votes });
  assert.is(rejected, readFileSync(`${file}.rejected`, 'utf8'));
  assert.is(rejected.match(/^# line/gm)?.length, 12 + 6);
});

test.run();
