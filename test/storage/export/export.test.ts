/**
 * Export and import are inverse: an import of an export gives the same export, byte for byte.
 */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fields } from '../../../engine/entity/fields.ts';
import { refusedInNames } from '../../../engine/rules/text.ts';
import { readDemoLines } from '../../../ops/demo/demo.ts';
import { countLines, exportDirectory } from '../../../storage/export/export.ts';
import { inspectEntity } from '../../../storage/export/inspect.ts';
import { importLines } from '../../../storage/import/import.ts';
import { fullTotals } from '../../support/field-values.ts';
import {
  bot,
  linesOf,
  openTestStore,
  pack,
  platformId,
  server,
  session,
  team,
  user,
  vote,
} from '../import/store.ts';

const test = suite('export');

const store = await openTestStore();
test.after(() => store.close());
test.before.each(() => store.clear());

const linesIn = (text: string): string[] => text.split('\n').slice(0, -1);

/** Imports the lines, exports them, and checks that a second import gives the same export. Resolves to it. */
const roundTrip = async (lines: readonly string[]): Promise<string> => {
  await importLines(store.sql, lines);
  const first = await store.dump();
  await store.clear();
  await importLines(store.sql, linesIn(first));
  assert.is(await store.dump(), first);
  return first;
};

test('an export begins with its format, and of an empty store has nothing else', async () => {
  assert.is(await store.dump(), '{"kind":"export","format":1}\n');
});

test('the demo directory survives a round trip', async () => {
  const lines = readDemoLines(Date.UTC(2026, 3, 1));

  const text = await roundTrip(lines);

  const bots = lines.filter((line) => line.includes('"kind":"bot"'));
  assert.is(linesIn(text).length, 1 + lines.length + bots.length, 'each bot has a user record of its own');
});

const shortText = fc
  .string({ unit: 'binary', minLength: 3, maxLength: 30 })
  .filter((value) => value.isWellFormed() && !value.includes('\0'));
const refused = new RegExp(`[${refusedInNames}]`, 'g');
const shortName = fc
  .string({ unit: 'binary', maxLength: 25 })
  .filter((value) => value.isWellFormed())
  .map((value) => `Ann${value.replace(refused, '')}.`);
const time = fc.integer({ min: 0, max: Date.now() }).map((ms) => new Date(ms).toISOString());
const stat = fc.bigInt({ min: 0n, max: 18_446_744_073_709_552_000n }).map(String);
const counter = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const optionally = <Fields extends Record<string, fc.Arbitrary<unknown>>>(fields: Fields) =>
  fc.record(fields, { requiredKeys: [] });
const botFields = optionally({
  type: fc.constantFrom('pending', 'approved', 'certified', 'denied'),
  prefix: fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 10 }),
  tags: fc.uniqueArray(shortName, { minLength: 1, maxLength: 5 }),
  extra_links: fc.array(fc.record({ name: shortName, value: fc.constant('https://docs.example/a') }), {
    maxLength: 3,
  }),
  staff_note: fc.oneof(fc.constant(null), shortText),
  listed_since: fc.oneof(fc.constant(null), time),
  start_premium_period: time,
  premium_period_length: fc.integer({ min: 0, max: 10_000 }),
  created_at: time,
  clicks: fc.constant(Number.MAX_SAFE_INTEGER),
  upvotes: counter,
  downvotes: counter,
  servers: stat,
  users: stat,
  shard_list: fc.array(stat, { maxLength: 5 }),
  status: fc.constantFrom('', 'online', 'idle', 'dnd', 'offline'),
  last_stats_post: time,
  uptime_last_checked: time,
  nsfw: fc.boolean(),
});
const userFields = optionally({
  display_name: shortName,
  flags: fc.array(shortText, { maxLength: 3 }),
  extra_data: fc.dictionary(shortText, fc.oneof(shortText, fc.integer(), fc.boolean(), fc.constant(null)), {
    maxKeys: 3,
  }),
  banned: fc.boolean(),
  created_at: time,
});

test('a bot has each counted field in its record', async () => {
  const totals = Object.fromEntries(
    fields.flatMap(({ name, kind, record }): [string, unknown][] => {
      if (record === null) return [];
      const value = fullTotals[name];
      if (kind === 'time') return [[record, new Date(Number(value)).toISOString()]];
      if (kind === 'list') return [[record, [Number(value)]]];
      return [[record, kind === 'u64' ? Number(value) : value]];
    }),
  );
  const counted = { ...totals, clicks: Number(totals.unique_clicks) };

  const text = await roundTrip(linesOf(user(1), bot(50, counted)));

  const exported = linesIn(text).map((line) => JSON.parse(line) as Record<string, unknown>);
  const record = exported.find(({ kind }) => kind === 'bot') ?? {};
  assert.equal(Object.fromEntries(Object.keys(counted).map((name) => [name, record[name]])), counted);
});

test('any fields of a record survive a round trip', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(botFields, { maxLength: 6 }),
      fc.array(userFields, { maxLength: 4 }),
      async (bots, users) => {
        await store.clear();
        await roundTrip(
          linesOf(
            user(1),
            ...users.map((fields, index) => user(index + 2, fields)),
            ...bots.map((fields, index) => bot(index + 50, fields)),
          ),
        );
      },
    ),
    { numRuns: 20 },
  );
});

test('a record comes after those it refers to', async () => {
  const text = await roundTrip(
    linesOf(
      user(2),
      user(1),
      team('team-1', 1),
      bot(6),
      bot(5, { owner: undefined, team_owner: 'team-1' }),
      server(60),
      pack('starter'),
      vote(5, 2),
      session(),
    ),
  );

  const kinds = linesIn(text)
    .slice(1)
    .map((line) => JSON.parse(line).kind);
  assert.equal(kinds, ['user', 'user', 'team', 'server', 'bot', 'bot', 'pack', 'vote', 'session']);
  assert.ok(text.indexOf(platformId(6)) < text.indexOf(platformId(5)), 'bots in the order of their listing');
});

const question = {
  id: 'why',
  question: 'Why?',
  paragraph: 'In words.',
  placeholder: 'Because …',
  short: true,
};
const at = '2026-03-01T12:00:00.000Z';
const written = { created_at: at, created_by: platformId(1), last_updated: at, updated_by: platformId(1) };
/** Records of every kind of the operator's content, with every field, in the order of an export. */
const content: Record<string, unknown>[] = [
  { kind: 'tier', id: 'slab-a', target_type: 'bot', position: 0, votes: 100, cents: 10, created_at: at },
  { kind: 'tier', id: 'slab-b', target_type: 'bot', position: 1, votes: 100, cents: 10, created_at: at },
  {
    kind: 'benefit',
    id: 'fast',
    name: 'Fast',
    description: 'Votes\nsooner.',
    target_types: ['bot', 'server'],
  },
  {
    ...{
      kind: 'item',
      id: 'month',
      name: 'A month',
      cents: 499.5,
      description: 'x',
      duration: 720,
      ...written,
    },
    ...{ benefits: ['fast'], target_types: ['bot'] },
  },
  {
    ...{
      kind: 'coupon',
      id: 'spring',
      code: 'SPRING',
      cents: 0.000001,
      public: true,
      usable: false,
      ...written,
    },
    ...{ expiry: 24, max_uses: 3, reuse_wait_duration: 1, allowed_users: ['5'], applicable_items: ['month'] },
    ...{ requirements: ['certified'], target_types: ['server'] },
  },
  {
    ...{ kind: 'post', slug: 'later', title: 'Later', content: 'Words.\nMore “words”.', description: 'y' },
    ...{ tags: ['news'], draft: true, author: '5', created_at: at },
  },
  {
    ...{ kind: 'position', id: 'helper', name: 'Helper', ordinal: 3, info: 'New.', tags: ['and "more"'] },
    ...{ closed: true, hidden: true, cooldown: 12, questions: [question] },
  },
  {
    ...{
      kind: 'application',
      app_id: '11111111-2222-4333-8444-555555555555',
      user_id: '5',
      position: 'staff',
    },
    ...{ questions: [question], answers: { why: 'I like to.\nReally.' }, state: 'denied' },
    ...{ review_feedback: 'Not yet.', reviewed_at: at, created_at: at },
  },
  { kind: 'word', word: 'lantern', created_at: at },
];

test('every field of the content of an operator survives a round trip', async () => {
  const exported = linesIn(await roundTrip(linesOf(...content)))
    .slice(1)
    .map((line) => JSON.parse(line));

  const picked = exported.map((record, index) =>
    Object.fromEntries(Object.keys(content[index] ?? {}).map((name) => [name, record[name]])),
  );
  assert.equal(picked, content);
});

test('integers of 64 bits keep their digits', async () => {
  const line = JSON.stringify(bot(5)).replace(
    '{',
    '{"servers":18446744073709551557,"shard_list":[9007199254740993],',
  );

  const text = await roundTrip([...linesOf(user(1)), line]);

  assert.match(text, /"servers":18446744073709551557,"shard_list":\[9007199254740993\]/);
});

test('a vote that a reset made void is exported as a void vote', async () => {
  const at = new Date('2026-02-01T00:00:00.000Z');
  await importLines(
    store.sql,
    linesOf(
      user(1),
      bot(5),
      vote(5, 2),
      vote(5, 3, { immutable: true }),
      vote(5, 4, { created_at: '2026-02-02T00:00:00.000Z' }),
    ),
  );
  await store.sql`insert into vote_resets (scope, at, reason) values ('all', ${at}, 'monthly_reset')`;

  const votes = linesIn(await store.dump())
    .map((line) => JSON.parse(line))
    .filter(({ kind }) => kind === 'vote');

  const voided = votes.filter((entry) => entry.void);
  assert.is(votes.length, 3);
  assert.equal(
    voided.map((entry) => [entry.author, entry.void_reason, entry.voided_at]),
    [[platformId(2), 'monthly_reset', at.toISOString()]],
  );
});

test('votes of a deleted listing are exported and imported as votes of a former listing', async () => {
  await importLines(store.sql, linesOf(user(1), bot(5), bot(6), vote(5, 2), vote(6, 2)));
  await store.sql`update votes set incarnation = 999999 where target_id = ${platformId(5)}`;

  const former = linesIn(await roundTrip(linesIn(await store.dump()))).filter((line) =>
    line.includes('"former":true'),
  );

  assert.is(former.length, 1);
  assert.is(JSON.parse(former[0] ?? '').void_reason, 'deleted');
});

test('votes of a deleted listing have the time of the deletion, immutable ones too', async () => {
  const at = new Date('2026-02-03T00:00:00.000Z');
  await importLines(
    store.sql,
    linesOf(user(1), bot(5), bot(6), vote(5, 2, { immutable: true }), vote(5, 3), vote(6, 2)),
  );
  await store.sql`update votes set incarnation = 999999 where target_id = ${platformId(5)}`;
  await store.sql`
    insert into vote_resets (scope, at, reason, created_at) values ('999999', 'infinity', 'deleted', ${at})`;

  const former = linesIn(await store.dump())
    .map((line) => JSON.parse(line))
    .filter((entry) => entry.former);

  assert.equal(
    former.map((entry) => [entry.void, entry.void_reason, entry.voided_at]),
    [
      [true, 'deleted', at.toISOString()],
      [true, 'deleted', at.toISOString()],
    ],
  );
});

test('an inspection finds a pack by its url in capitals', async () => {
  await importLines(store.sql, linesOf(user(1), pack('starter')));
  const hot = { load: async () => [{ outcome: 'absent', generation: 0 } as const] };
  const { id, catalogue, totals } = await inspectEntity({ sql: store.sql, hot }, 'pack', 'Starter');
  assert.equal([id, catalogue?.url, totals?.entity_id], ['starter', 'starter', 'starter']);
});

test('the lines are counted without the time limit of requests', async () => {
  await importLines(store.sql, linesOf(user(1)));
  await store.sql.unsafe(`
    set statement_timeout = '5s';
    alter table reserved_words rename to kept_words;
    create view reserved_words as
      select word from generate_series(1, 2) as word where current_setting('statement_timeout') = '0'`);
  try {
    assert.is(await countLines(store.sql), 4);
  } finally {
    await store.sql.unsafe(`
      drop view reserved_words;
      alter table kept_words rename to reserved_words;
      reset statement_timeout`);
  }
});

test('pages of any size have each record once', async () => {
  await importLines(store.sql, linesOf(user(1), ...Array.from({ length: 9 }, (_, n) => bot(n + 5))));
  const whole = await store.dump();

  for (const pageRows of [1, 2, 3, 9, 10]) {
    let text = '';
    const sink = async (chunk: string) => {
      text += chunk;
    };
    const lines = await exportDirectory(store.sql, sink, { pageRows });
    assert.is(text, whole);
    assert.is(lines, 11);
  }
});

test.run();
