/**
 * The table of stored times has each time of the schema and of the records of a hot store, and no other; and
 * what lies ahead is set, by record and by row, also when a run is cut off.
 */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  emptyFacts,
  emptyTotals,
  type HotState,
  type Part,
  type PartsTable,
} from '../../../engine/entity/state.ts';
import { limits } from '../../../engine/limits.ts';
import { setRecordTimes, setTimes } from '../../../storage/clock/accept.ts';
import { findTimesAhead } from '../../../storage/clock/look-up.ts';
import { hotTimes, sqlTimes } from '../../../storage/clock/times.ts';
import type { HotRecord } from '../../../storage/move/records.ts';
import { openStores, type Stores } from '../../../storage/open.ts';
import { makeFolder } from '../../support/folder.ts';
import { makeBareFolder } from '../../support/sql-template.ts';

const test = suite('stored times');
const dataDir = join(makeFolder('rollcall-times-'), 'data');
const nowMs = Date.UTC(2026, 10, 29, 12);
const aheadMs = Date.UTC(2036, 2, 5);

const state = { stores: null as unknown as Stores };
test.before(async () => {
  await makeBareFolder(dataDir);
  const options = { clock: () => aheadMs, onWarning: () => {} };
  state.stores = await openStores({ dataDir, redisUrl: [], databaseUrl: '' }, options);
});
test.after(() => state.stores.close());

test('each column of time has a row in the table, and each row has a column', async () => {
  const rows = await state.stores.sql<{ place: string }[]>`
    select relname || '.' || attname as place
    from pg_attribute join pg_class on pg_class.oid = attrelid
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
      and attnum > 0 and not attisdropped and relname <> 'schema_versions'
      and (format_type(atttypid, null) in ('timestamp with time zone', 'date')
        or attname ~ '(_ms|_at)$' or attname in ('at', 'hour', 'day', 'edition'))`;
  const named = Object.entries(sqlTimes).flatMap(([table, columns]) =>
    Object.keys(columns).map((column) => `${table}.${column}`),
  );

  assert.equal(named.sort(), rows.map(({ place }) => place).sort());
  assert.ok(named.length >= 80, String(named.length));
});

const table: PartsTable = {
  shardCount: 2,
  sinceMs: aheadMs,
  seen: 1,
  servers: 1,
  users: 1,
  live: [1, 0, 0, 0],
};
const part: Part = { atMs: aheadMs, servers: 1, users: 1, status: 'online', live: true, cluster: '' };
const hot: Required<HotState> = {
  ...emptyTotals,
  facts: emptyFacts,
  flushedVotes: 0,
  version: 1,
  parts: { current: table, building: table, replaced: 0, dueMs: aheadMs },
};
const listing = { address: 'b:1' as never, incarnation: 1 as never };
const records: readonly HotRecord[] = [
  { kind: 'state', ...listing, state: hot },
  { kind: 'votes', ...listing, user: 'u', votes: [{ atMs: aheadMs, flag: 'cast' }] },
  { kind: 'part', ...listing, shardCount: 2, id: 1, part },
];

const listTimes = (value: unknown, path = ''): string[] => {
  if (Array.isArray(value)) return value.flatMap((one) => listTimes(one, path));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, one]) =>
      listTimes(one, path === '' ? name : `${path}.${name}`),
    );
  return path.endsWith('Ms') ? [path] : [];
};

test('each time of a record has a row in the table, and each row has a time', () => {
  const marks = ['producers.seenMs'];

  assert.equal([...new Set(listTimes(records)), ...marks].sort(), Object.keys(hotTimes).sort());
});

test('a record without a time ahead stays as it is; ends of premium and "never" may lie ahead', () => {
  const facts = { ...emptyFacts, premiumUntilMs: aheadMs };
  const { parts } = hot;
  const past = { ...table, sinceMs: nowMs };
  const never = { ...parts, current: past, building: null, dueMs: limits.counterMax };
  const planned: HotState = { ...hot, lastStatsPostMs: nowMs, facts, parts: never };

  assert.is(setRecordTimes({ kind: 'state', ...listing, state: planned }, nowMs), null);
  assert.is(setRecordTimes({ kind: 'state', ...listing, state: null }, nowMs), null);
});

test('what lies ahead is set; votes that have one time then are one vote', () => {
  const times = { lastStatsPostMs: aheadMs, uptimeCheckedMs: aheadMs, releasedBeforeMs: aheadMs };
  const mended = setRecordTimes({ kind: 'state', ...listing, state: { ...hot, ...times } }, nowMs);
  const set = (mended as HotRecord & { state: HotState }).state;
  const votes = [nowMs - 5, aheadMs, aheadMs + 5].map((atMs) => ({ atMs, flag: 'cast' as const }));

  assert.equal(
    [
      set.lastStatsPostMs,
      set.uptimeCheckedMs,
      set.releasedBeforeMs,
      set.parts?.dueMs,
      set.parts?.current?.sinceMs,
    ],
    new Array(5).fill(nowMs),
  );
  assert.equal(setRecordTimes({ kind: 'votes', ...listing, user: 'u', votes }, nowMs), {
    ...{ kind: 'votes', ...listing, user: 'u' },
    votes: [nowMs - 5, nowMs].map((atMs) => ({ atMs, flag: 'cast' })),
  });
});

/** Rows as a node ten years ahead leaves them. */
const fillAhead = async ({ sql }: Stores): Promise<void> => {
  await sql`
    insert into totals (incarnation, kind, entity_id, shard, last_stats_post_ms)
    values (1, 'bot', '1', 0, ${aheadMs})`;
  await sql`insert into fleet values ('n', ${new Date(aheadMs)})`;
  await sql`insert into outages values (${new Date(nowMs - 9e6)}, ${new Date(aheadMs)})`;
  for (const month of [1, 2])
    await sql`
      insert into vote_resets (scope, at, reason)
      values ('all', ${new Date(Date.UTC(2036, month))}, 'monthly_reset')`;
  await sql`insert into vote_resets (scope, at, reason) values ('2', 'infinity', 'deleted')`;
  const votes = [nowMs - 9e6, Date.UTC(2036, 0, 3), Date.UTC(2036, 2, 4)];
  for (const [index, atMs] of votes.entries())
    await sql`
      insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num)
      values (gen_random_uuid(), ${new Date(atMs)}, 1, 'bot', '1', ${String(index)}, true, 0)`;
  await sql`
    insert into adjustments (incarnation, kind, entity_id, action, sequence, payload)
    values (1, 'bot', '1', 'adjust', 1, ${sql.json({
      releaseBeforeMs: aheadMs,
      release: [{ user: '1', atMs: aheadMs }],
      pinned: [],
    })})`;
  await sql`
    insert into sessions (id, target_type, target_id, type, name, token_hash, created_at, expiry)
    values (gen_random_uuid(), 'bot', '1', 'login', '', '\\x00', ${new Date(aheadMs)},
      ${new Date(aheadMs + 3_600_000)})`;
  await sql`
    insert into job_runs (name, due_at, node, lease_until, finished_at)
    select 'monthly_reset', at, 'n', at, at from (values (${new Date(Date.UTC(2026, 10))}::timestamptz),
      (${new Date(aheadMs)}::timestamptz)) as runs (at)`;
  await sql`update history_state set at = ${aheadMs / 60_000}, hour = ${aheadMs / 60_000}`;
  await sql`insert into vote_months_archived values ('2026-10-01', true), ('2026-11-01', true)`;
};

const readAll = async ({ sql }: Stores): Promise<unknown> => {
  const [row] = await sql`
    select
      (select array_agg(void order by author) from vote_rows) as void,
      (select array_agg(created_at::text order by author) from votes) as cast_at,
      (select array_agg(at::text order by at) from vote_resets) as resets,
      (select array_agg(due_at::text) from job_runs) as runs,
      (select array_agg(seen_at::text) from fleet) as fleet,
      (select array_agg(to_at::text) from outages) as outages,
      (select array_agg(month::text) from vote_months_archived) as months,
      (select array_agg(expiry::text) from sessions) as expiry,
      (select array_agg(payload) from adjustments) as payload,
      (select max(last_stats_post_ms) from totals) as post,
      (select at from history_state) as sample`;
  return { ...row };
};

test('a run that is cut off goes on with the same time, and leaves no time ahead', async () => {
  const { stores } = state;
  const { sql } = stores;
  await fillAhead(stores);
  const found = await findTimesAhead(stores, nowMs);
  const places = [
    'outages.to_at',
    'fleet.seen_at',
    'job_runs.due_at',
    'history_state.at',
    'votes.created_at',
  ];
  assert.equal(
    places.filter((place) => !found.some((time) => time.place === place)),
    [],
  );
  const cutOff = new Proxy(sql, {
    get: (target, name) =>
      name === 'begin' ? () => Promise.reject(new Error('cut off')) : Reflect.get(target, name),
  });
  const report = (): void => {};
  await setTimes({ sql: cutOff, hot: stores.hot, nowMs, report }).then(
    () => assert.unreachable(),
    (error: Error) => assert.is(error.message, 'cut off'),
  );

  const lines: string[] = [];
  await setTimes({ ...stores, nowMs: nowMs + 60_000, report: (line) => lines.push(line) });

  const now = '2026-11-29 12:00:00+00';
  assert.equal(await readAll(stores), {
    void: [true, true, false],
    cast_at: ['2026-11-29 09:30:00+00', now, now],
    resets: [now, 'infinity'],
    runs: ['2026-11-01 00:00:00+00'],
    fleet: null,
    outages: [now],
    months: ['2026-10-01'],
    expiry: ['2026-11-29 13:00:00+00'],
    payload: [{ releaseBeforeMs: nowMs, release: [{ user: '1', atMs: nowMs }], pinned: [] }],
    post: nowMs,
    sample: nowMs / 60_000,
  });
  assert.match(
    lines.join('\n'),
    /set to 2026-11-29T12:00:00.000Z.*votes \(created_at, voided_at\): 2 rows set/s,
  );
  assert.equal(await findTimesAhead(stores, nowMs), []);
});

test.run();
