/**
 * The export of the history against the rows of its tables: each once, whatever the size of a page, and in
 * both forms the same.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { countHistoryRows, exportHistory } from '../../../storage/export/history.ts';
import { openDirectory } from '../catalogue/directory.ts';
import { addListing, createRunner, setTotals, toMinute } from '../history/world.ts';

const test = suite('export of the history');
const { sql, close } = await openDirectory();
test.after(() => close());

const noon = toMinute('2026-03-01T12:00Z');

const write = async (csv: boolean, pageRows: number): Promise<string> => {
  let text = '';
  const sink = async (chunk: string): Promise<void> => {
    text += chunk;
  };
  const lines = await exportHistory(sql, sink, { csv, pageRows });
  assert.is(text.split('\n').length - 1, lines);
  return text;
};

/** As the tables have it, without paging. */
const readAll = async (level: 'fine' | 'hours' | 'days'): Promise<readonly string[]> => {
  const rows = await sql<{ text: string }[]>`
    select concat_ws(',', ${level}::text, to_char(to_timestamp(at * 60) at time zone 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS".000Z"'), kind, entity_id, row.servers, row.users, row.shards, row.clicks,
      row.unique_clicks, row.invite_clicks, row.votes, row.votes_logged,
      case row.status when 'o' then 'online' else 'offline' end) as text
    from ${sql(`history_${level}`)} as row join totals using (incarnation) order by incarnation, at`;
  return rows.map(({ text }) => text);
};

test('each row is exported once, in pages of any size, as JSON and as CSV', async () => {
  const { run } = createRunner(sql);
  const [one, two, gone] = [
    await addListing(sql, 'one', { servers: '18446744073709551615', clicks: 1 }),
    await addListing(sql, 'a "quoted", id', { status: 'online' }),
    await addListing(sql, 'gone'),
  ];
  for (const minutes of [0, 5, 15, 60, 65]) {
    await setTotals(sql, one, { clicks: minutes + 2 });
    if (minutes === 15) await setTotals(sql, two, { users: 3, upvotes: 1, downvotes: 4 });
    await run(noon + minutes);
  }
  await sql`delete from totals where incarnation = ${gone}`;
  const expected = (await Promise.all((['fine', 'hours', 'days'] as const).map(readAll))).flat();
  assert.is(expected.length, 11);

  for (const pageRows of [1, 2, 3, 100]) {
    const [head, ...rows] = (await write(true, pageRows)).trimEnd().split('\r\n');
    assert.match(String(head), /^level,time,target_type,target_id,servers,.*,status$/);
    const unquoted = rows.map((row) => row.replace('"a ""quoted"", id"', 'a "quoted", id'));
    assert.equal(unquoted, expected);

    const lines = (await write(false, pageRows)).trimEnd().split('\n');
    assert.match(lines.join('\n'), /"servers":9223372036854775807,/);
    const parsed = lines.map((line) => JSON.parse(line));
    const times = parsed.filter(({ kind }) => kind === 'history_time');
    assert.equal(
      times.map(({ level, time }) => `${level} ${time.slice(11, 16)}`),
      ['fine 12:00', 'fine 12:05', 'fine 12:15', 'fine 13:00', 'fine 13:05', 'hours 12:00', 'hours 13:00'],
    );
    const texts = parsed
      .filter(({ kind }) => kind === 'history')
      .map(({ kind, ...row }) => Object.values(row).join().replaceAll('9223372036854776000', integerMax));
    assert.equal(texts, expected);
  }
  assert.is(await countHistoryRows(sql), expected.length + 2, 'and two rows of the deleted listing');
});

/** `JSON.parse` rounds it. */
const integerMax = '9223372036854775807';

test.run();
