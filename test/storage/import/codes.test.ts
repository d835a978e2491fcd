/**
 * Vanity codes of an import, whatever the order of the lines and the batches; and the trial, which finds what
 * the run will.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { importFile, importLines, runTrial } from '../../../storage/import/import.ts';
import { pluck } from '../../support/pluck.ts';
import { bot, linesOf, openTestStore, platformId, server, team, user, vote } from './store.ts';

const test = suite('codes of an import');

const store = await openTestStore();
test.after(() => store.close());
test.before.each(() => store.clear());

const load = (...records: Record<string, unknown>[]) => importLines(store.sql, linesOf(...records));

for (const [what, records, codes] of [
  [
    'a bot, for the slug of an earlier one',
    [user(1), bot(5, { user: { username: 'Owls' } }), bot(6, { vanity: 'owls' }), vote(6, 2)],
    ['owls', 'owls-0005'],
  ],
  [
    'a bot in other letters, for the second choice of an earlier one',
    [
      ...[user(1), bot(5, { vanity: 'Owls' }), bot(6, { user: { username: 'Owls' } })],
      bot(7, { vanity: 'OWLS-0006' }),
    ],
    ['owls', 'owls-0000000006', 'owls-0006'],
  ],
  [
    'a server, for all that the name and id of a team give',
    [
      ...[user(1), team('team-1', 1, { name: 'Owls' }), server(50, { vanity: 'owls' })],
      ...['owls-eam1', 'owls-team1', 'team-team1'].map((vanity, index) => server(51 + index, { vanity })),
    ],
    ['owls', 'owls-eam1', 'owls-team1', 'team-random', 'team-team1'],
  ],
] as const) {
  test(`a code goes to the line that asks for it: ${what}, whatever the batches`, async () => {
    const path = join(store.folder, 'asked.jsonl');
    writeFileSync(path, linesOf(...records).join('\n'));
    for (const batchLines of [1, 2, 100]) {
      await store.clear();
      const { rejected } = await importFile(store.sql, path, { skipBad: true, batchLines });
      const rows = await store.sql<{ code: string }[]>`select code from vanity order by code collate "C"`;
      const found = rows.map(({ code }) => code.replace(/^team-[0-9a-f]{12}$/, 'team-random'));

      assert.is(rejected, 0);
      assert.equal(found, codes, `${batchLines} lines`);
    }
  });
}

test('no listing gets a code that the operator has reserved, unless its line asks for it', async () => {
  await load({ kind: 'word', word: 'owls' }, { kind: 'word', word: 'crows' });
  await load(user(1), bot(5, { user: { username: 'Owls' } }), bot(6, { vanity: 'crows' }));

  const rows = await store.sql<{ code: string }[]>`select code from vanity order by code`;
  assert.equal(pluck(rows, 'code'), ['crows', 'owls-0005']);
});

test('a trial finds what the run will, and writes nothing', async () => {
  await load(user(1), bot(3), bot(4, { vanity: 'taken', itag: '11111111-2222-4333-8444-555555555555' }));
  const path = join(store.folder, 'trial.jsonl');
  const lines = [
    ...linesOf(bot(3), bot(5, { user: { username: 'Owls' } }), bot(6, { vanity: 'owls' }), vote(6, 2)),
    'nonsense',
    ...linesOf(
      ...[
        bot(7, { vanity: 'owls' }),
        vote(7, 2),
        bot(8, { vanity: 'Taken' }),
        bot(9, { client_id: platformId(6) }),
      ],
      ...[
        bot(10, { itag: '11111111-2222-4333-8444-555555555555' }),
        vote(11, 2),
        bot(12, { owner: 'nobody' }),
      ],
      ...[
        { kind: 'coupon', id: 'a', code: 'A', cents: 1 },
        { kind: 'coupon', id: 'b', code: 'A', cents: 1 },
      ],
      ...[
        { kind: 'position', id: 'p', name: 'P', questions: [{ id: 'a', question: 'A?' }] },
        vote(5, 3),
        vote(5, 3),
      ],
    ),
  ];
  writeFileSync(path, lines.join('\n'));
  const before = await store.dump();
  const trial = await runTrial(store.sql, path);
  const after = await store.dump();
  const { added, skipped, ...run } = await importFile(store.sql, path, { skipBad: true });

  assert.is(after, before);
  const heads = readFileSync(run.rejectedFile, 'utf8').match(/^# line .*/gm);
  assert.equal(
    trial.badLines.map(({ line, reason }) => `# line ${line}: ${reason}`),
    heads,
  );
  assert.is(trial.badLines.length, 6);
  assert.equal([trial.report.toMend['bot.vanity'], run.toMend['bot.vanity']], [2, 2]);
  assert.equal([trial.report.rejected, trial.report.added.bot], [run.rejected, added.bot]);
  assert.equal({ ...trial.report.added, vote: 0 }, { ...added, vote: 0 });
});

test.run();
