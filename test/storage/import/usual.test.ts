/**
 * A directory as people bring it: 5,000 bots; about nine in ten are outside of the limits of
 * requests. All are kept, the report says what an edit will have to mend, and an export comes back as it is.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkLine } from '../../../storage/import/check.ts';
import { importLines } from '../../../storage/import/import.ts';
import { bot, dump, linesOf, openTestStore, user } from './store.ts';

const test = suite('a usual directory');

const store = await openTestStore();
test.after(() => store.close());
test.before.each(() => store.clear());

const botCount = 5_000;
/** What is unusual for us and usual elsewhere, with how many of 13 bots have it. */
const habits: readonly (readonly [field: string, of13: number, fields: Record<string, unknown>])[] = [
  ['long', 8, { long: 'A bot that plays music.' }],
  ['invite', 2, { invite: 'http://chat.example/add' }],
  ['invite', 1, { invite: '' }],
  ['invite', 1, { invite: 'chat.example/add' }],
  ['short', 2, { short: 'Music' }],
  ['short', 1, { short: 'Plays music and '.repeat(12) }],
  ['tags', 2, { tags: ['dj', 'music'] }],
  ['tags', 1, { tags: undefined }],
  ['library', 2, { library: undefined }],
  ['prefix', 1, { prefix: 'music bot, please: ' }],
  ['extra_links', 1, { extra_links: [{ name: 'Site', value: 'http://a.example' }] }],
];
/** Each habit begins at another bot, so that most combinations occur. */
const makeBot = (number: number): Record<string, unknown> =>
  habits.reduce(
    (fields, [, of13, habit], index) =>
      (number * (index + 1) + index) % 13 < of13 ? Object.assign(fields, habit) : fields,
    bot(number + 10),
  );

test('every bot is kept, what an edit has to mend is counted, the export comes back equal', async () => {
  const bots = Array.from({ length: botCount }, (_, number) => makeBot(number));
  const { added, rejected, toMend } = await importLines(store.sql, linesOf(user(1), ...bots), {
    skipBad: true,
  });
  const first = await dump(store.sql);
  await store.clear();
  const again = await importLines(store.sql, first.trim().split('\n'), { skipBad: true });

  assert.equal([added.bot, rejected], [botCount, 0]);
  assert.equal(Object.keys(toMend).sort(), [...new Set(habits.map(([field]) => `bot.${field}`))].sort());
  assert.is.not(toMend['bot.long'], 0);
  assert.equal([again.added.bot, again.rejected, again.toMend], [botCount, 0, toMend]);
  assert.is(await dump(store.sql), first);
});

test('each habit alone is a record, and only that field is counted', async () => {
  for (const [field, , fields] of habits) {
    await store.clear();
    const lines = linesOf(user(1), bot(5, fields));
    assert.is(checkLine(lines[1] ?? '').fault, '', field);
    assert.equal((await importLines(store.sql, lines)).toMend, { [`bot.${field}`]: 1 });
  }
});

test('empty and repeated tags are dropped, and the rest stays', async () => {
  await importLines(store.sql, linesOf(user(1), bot(5, { tags: ['one', '', 'one', 'ok'] })));

  const [row] = await store.sql`select tags from bots`;
  assert.equal(row?.tags, ['one', 'ok']);
});

test.run();
