/**
 * The number of the form of an export, which its first line says, and what an export keeps of rows that
 * requests would refuse.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { importFile, importLines, runTrial } from '../../../storage/import/import.ts';
import { exportHead } from '../../../storage/import/kinds.ts';
import { bot, linesOf, openTestStore, pack, server, team, user } from '../import/store.ts';

const test = suite('the format of exports');

const store = await openTestStore();
test.after(() => store.close());
test.before.each(() => store.clear());

test('an export of another format is refused by name, whole, whatever is to be skipped', async () => {
  const lines = (head: string) => [...linesOf(user(1)), head, ...linesOf(user(2))];
  const refusal = /line 2: made by format 7; this program knows 1\. Use the version that wrote it/;
  const file = join(store.folder, 'other.jsonl');
  writeFileSync(file, lines('{"format":7,"kind":"export"}').join('\n'));
  const attempts = [
    () => importLines(store.sql, lines('{"kind":"export","format":7}'), { skipBad: true }),
    () => importFile(store.sql, file, { skipBad: true }),
    () => runTrial(store.sql, file),
  ];
  for (const attempt of attempts) {
    const message = await attempt().then(
      () => 'imported',
      (error: Error) => error.message,
    );
    assert.match(message, refusal);
  }
  const none = await importLines(store.sql, lines('{"kind":"export"}')).catch(
    (error: Error) => error.message,
  );
  assert.match(String(none), /made by format none; this program knows 1/);
  assert.is(await store.dump(), `${exportHead}\n`);

  const joined = await importLines(store.sql, lines(exportHead));
  assert.equal([joined.added.user, joined.linesDone], [2, 3]);
});

test('rows that miss the limits of requests come back as they are, of every kind', async () => {
  const at = { itag: '11111111-2222-4333-8444-555555555555', created_at: '2020-01-01T00:00:00.000Z' };
  const tags = ['DJ', 'dj', 'a tag of many words', 'no'];
  const lines = linesOf(
    user(1, { username: '', display_name: ' ', avatar: 'http://cdn.example/a.png' }),
    user(2, { username: 'x'.repeat(128), avatar: 'not an address' }),
    team('team-1', 1, { ...at, name: '', short: 'x'.repeat(1_024), tags: [...tags, ...'abcdef'] }),
    server(60, { name: '', short: '', invite: 'http://a.example', long: '<b>bold</b>', tags }),
    bot(5, {
      short: '',
      long: '<center>hi</center>',
      invite: 'discord.gg/abc',
      tags,
      library: '',
      prefix: '',
    }),
    pack('pack', { name: '', short: '', tags: [] }),
  );
  await importLines(store.sql, lines);
  const first = await store.dump();
  await store.clear();
  await importLines(store.sql, first.trim().split('\n'));
  const [head, ...records] = first
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

  assert.is(await store.dump(), first);

  assert.is(head.kind, 'export');
  const given = lines.map((line) => JSON.parse(line));
  for (const [index, record] of records.entries())
    for (const [field, value] of Object.entries(given[index] ?? {}))
      if (field in record && field !== 'members')
        assert.equal(record[field], value, `${record.kind}.${field}`);
});

test.run();
