/**
 * The demo directory: its content, its tokens and its file, which newcomers and other tests rely on.
 */
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseToken } from '../../../engine/rules/token.ts';
import { type DemoFile, demoCast, prepareDemo, readDemoLines } from '../../../ops/demo/demo.ts';
import { formatWelcome, listDemoCommands } from '../../../ops/demo/welcome.ts';
import { checkLine } from '../../../storage/import/check.ts';
import {
  type ImportRecord,
  type KindName,
  kindNames,
  type RecordOfKind,
  recordKinds,
} from '../../../storage/import/kinds.ts';
import { openTestStore } from '../../storage/import/store.ts';
import { assertExcludes, assertIncludes } from '../../support/assert-includes.ts';

const test = suite('demo');
const nowMs = Date.UTC(2026, 5, 15, 12);
const hourMs = 3_600_000;

const store = await openTestStore();
test.after(() => store.close());
test.before.each(async () => {
  await store.clear();
  rmSync(join(store.folder, 'demo.json'), { force: true });
});

const addresses = {
  url: 'http://127.0.0.1:8080',
  admin_url: 'http://127.0.0.1:9090',
  admin_token: 'operator',
};
const prepare = (options: Partial<Parameters<typeof prepareDemo>[1]> = {}): Promise<DemoFile | null> =>
  prepareDemo(store.sql, { directory: store.folder, addresses, nowMs, ...options });

const records = readDemoLines(nowMs).flatMap((line) => checkLine(line).record ?? ([] as ImportRecord[]));
const listKind = <Name extends KindName>(name: Name) =>
  records.filter((record) => record.kind === name) as RecordOfKind<Name>[];
const bots = listKind('bot');
const votes = listKind('vote');

test('every line is a valid record, and every kind of listing and offer occurs', () => {
  const faults = readDemoLines(nowMs).map((line) => checkLine(line).fault);

  assert.equal(faults.filter(Boolean), []);
  const kinds = new Set(records.map(({ kind }) => kind));
  assert.equal(
    kindNames.filter((kind) => !kinds.has(kind)),
    ['session', 'position', 'application', 'word'],
  );
});

test('the totals equal the votes', () => {
  const count = (type: string, id: string, up: boolean): number =>
    votes.filter((vote) => vote.target_type === type && vote.target_id === id && vote.upvote === up).length;
  for (const record of [...bots, ...listKind('server'), ...listKind('pack'), ...listKind('team')]) {
    const id = String((record as Record<string, unknown>)[recordKinds[record.kind].key]);
    assert.equal(
      [record.upvotes ?? 0, record.downvotes ?? 0],
      [count(record.kind, id, true), count(record.kind, id, false)],
      `${record.kind} ${id}`,
    );
  }
});

test('two votes of a user are twelve hours apart, and no vote is from the last day', () => {
  const last = new Map<string, number>();
  for (const vote of votes) {
    const key = `${vote.author} ${vote.target_id}`;
    const atMs = Date.parse(vote.created_at);
    assert.ok(atMs - (last.get(key) ?? 0) > 12 * hourMs);
    assert.ok(nowMs - atMs >= 24 * hourMs);
    last.set(key, atMs);
  }
});

test('times move with the start, and the newest are of the last hour', () => {
  const posts = bots.flatMap(({ last_stats_post }) => (last_stats_post ? [Date.parse(last_stats_post)] : []));
  const later = readDemoLines(nowMs + 1).join('\n');

  assert.ok(posts.every((atMs) => atMs < nowMs && atMs > nowMs - hourMs));
  assert.is(
    Math.max(...bots.map((bot) => Date.parse(bot.uptime_last_checked ?? bot.created_at ?? ''))),
    nowMs,
  );
  assertIncludes(later, new Date(nowMs + 1).toISOString());
});

test('the cast has the expected relations', () => {
  const bot = bots.find(({ bot_id }) => bot_id === demoCast.bot);
  const team = listKind('team').find(({ id }) => id === demoCast.team);
  const pack = listKind('pack').find(({ url }) => url === demoCast.pack);
  const server = listKind('server').find(({ server_id }) => server_id === demoCast.server);
  const member = team?.members.find(({ user_id }) => user_id === demoCast.user);

  assert.equal(
    [bot?.team_owner, bot?.type, bot?.start_premium_period],
    [demoCast.team, 'approved', undefined],
  );
  assert.equal(
    [server?.team_owner, server?.state ?? 'public', server?.type],
    [demoCast.team, 'public', 'approved'],
  );
  assert.equal(member?.perms, ['owner']);
  assert.ok(pack?.owner === demoCast.user && pack.bot_ids?.includes(demoCast.bot));
  assert.not.ok(votes.some(({ author }) => author === demoCast.user || author === demoCast.secondUser));
  assert.ok(records.some((record) => record.kind === 'user' && record.id === demoCast.secondUser));
  assertExcludes(JSON.stringify(records.filter(({ kind }) => kind !== 'user')), demoCast.secondUser);
});

test('popularity is skewed and every state occurs', () => {
  const clicks = bots.map((bot) => bot.clicks ?? 0).sort((a, b) => b - a);
  const sum = (counts: number[]): number => counts.reduce((total, clicked) => total + clicked, 0);

  assert.ok(sum(clicks.slice(0, 4)) > sum(clicks) / 2, 'a tenth of the bots has most of the clicks');
  assert.equal([...new Set(bots.map(({ type }) => type))].sort(), [
    'approved',
    'certified',
    'denied',
    'pending',
  ]);
  assert.ok(bots.some(({ start_premium_period }) => start_premium_period !== undefined));
  assert.is(new Set(bots.map(({ user }) => user?.username)).size, bots.length);
});

test('the first start loads it and writes a private file with valid tokens', async () => {
  const demo = (await prepare()) as DemoFile;

  const path = join(store.folder, 'demo.json');
  assert.equal(JSON.parse(readFileSync(path, 'utf8')), demo);
  assert.is(statSync(path).mode & 0o777, 0o600);
  for (const [kind, { id, token }] of [
    ['user', demo.user],
    ['user', demo.second_user],
    ['bot', demo.bot],
    ['server', demo.server],
    ['team', demo.team],
  ] as const) {
    assert.equal(parseToken(token), { kind, id });
    const hash = createHash('sha256').update(token).digest();
    const rows = await store.sql`
      select type, target_id, expiry > ${new Date(nowMs + 9 * 365 * 24 * hourMs)} as long_lived
      from sessions where token_hash = ${hash}`;
    assert.equal([...rows], [{ type: kind === 'user' ? 'login' : 'api', target_id: id, long_lived: true }]);
  }
});

test('the blog has posts of the first user, and a draft', async () => {
  await prepare();
  const posts = await store.sql<{ slug: string; draft: boolean; known: boolean }[]>`
    select slug, draft, exists (select from users where id = author_id) as known
    from blog_posts order by slug`;

  assert.ok(posts.every(({ known }) => known));
  assert.equal(
    posts.map(({ slug, draft }) => [slug, draft]),
    [
      ['how-votes-count', false],
      ['next-season', true],
      ['posting-statistics', false],
      ['welcome', false],
    ],
  );
});

test('charts are full at the first look: 30 days, 8 days by hours, a day by minutes', async () => {
  const { bot } = (await prepare()) as DemoFile;
  const { sql } = store;
  const read = async (level: 'days' | 'hours' | 'fine') => {
    const [times] = await sql<{ times: number }[]>`
      select count(*) as times from history_times where level = ${level}`;
    const rows = await sql<{ clicks: number; servers: number; votes: number }[]>`
      select history.clicks, history.servers, history.votes
      from ${sql(`history_${level}`)} as history join totals using (incarnation)
      where totals.kind = 'bot' and totals.entity_id = ${bot.id} order by at`;
    return { times: times?.times, rows };
  };
  const [days, hours, fine] = [await read('days'), await read('hours'), await read('fine')];

  assert.equal([days.times, hours.times, fine.times], [31, 193, 289]);
  for (const { rows } of [days, hours, fine]) {
    assert.ok(rows.length >= 12, String(rows.length));
    for (const [index, { clicks, servers, votes }] of rows.entries()) {
      assert.ok(clicks >= (rows[index - 1]?.clicks ?? 0) && servers > 0 && votes >= 0);
    }
  }
});

test('the shards of the printed command have users, so that they do not become 0', async () => {
  const demo = (await prepare()) as DemoFile;
  const [, command = ''] = listDemoCommands(addresses.url, demo).at(-1) ?? [];
  const { shards } = JSON.parse(/-d '(.*)'/.exec(command)?.[1] ?? '');

  assert.is(
    shards.reduce((sum: number, { users }: { users: number }) => sum + users, 0),
    56_789,
  );
});

test('a second start keeps the tokens and the directory, and corrects addresses', async () => {
  const first = (await prepare()) as DemoFile;
  const before = await store.dump();

  const second = await prepare({
    addresses: { ...addresses, url: 'http://127.0.0.1:9999' },
    nowMs: nowMs + hourMs,
  });

  assert.equal(second, { ...first, url: 'http://127.0.0.1:9999' });
  assert.is(await store.dump(), before);
});

test('a lost or damaged file gets new tokens, and the old ones become invalid', async () => {
  const first = (await prepare()) as DemoFile;
  writeFileSync(join(store.folder, 'demo.json'), '{"user":');

  const second = (await prepare()) as DemoFile;

  assert.is(second.bot.id, first.bot.id);
  assert.is.not(second.bot.token, first.bot.token);
  const [row] = await store.sql`select count(*) from sessions`;
  assert.is(row?.count, 5);
});

test('the next start completes an unfinished load', async () => {
  await prepare();
  const whole = (await store.dump()).split('\n').filter((line) => !line.includes('"kind":"session"'));
  await store.sql`delete from votes`;
  await store.sql`delete from packs`;
  await store.sql`delete from totals where kind = 'pack'`;
  await store.sql`update settings set value = replace(value, 'loaded', 'begun') where name = 'demo'`;

  await prepare({ nowMs: nowMs + 5 * hourMs });

  const again = (await store.dump()).split('\n').filter((line) => !line.includes('"kind":"session"'));
  assert.is(again.join('\n'), whole.join('\n'));
});

test('a store with another directory is not changed', async () => {
  await store.sql`insert into users (id, username, display_name) values ('1', 'own', 'Own')`;

  assert.is(await prepare(), null);
  assert.is((await store.dump()).split('\n').length - 1, 2);
});

const deleteListing = async (kind: 'bot' | 'server', id: string): Promise<void> => {
  await store.sql`delete from sessions where target_id = ${id}`;
  await store.sql`delete from ${store.sql(`${kind}s`)} where ${store.sql(`${kind}_id`)} = ${id}`;
  await store.sql`delete from totals where entity_id = ${id}`;
};

test('without a deleted server the tokens of the others stay', async () => {
  const first = (await prepare()) as DemoFile;
  await deleteListing('server', first.server.id);
  const before = await store.dump();

  assert.equal(await prepare(), first);
  assert.is(await store.dump(), before);
});

test('a lost file gets new tokens without a deleted server, too, and keeps them', async () => {
  const { server } = (await prepare()) as DemoFile;
  await deleteListing('server', server.id);
  rmSync(join(store.folder, 'demo.json'));

  const second = (await prepare()) as DemoFile;

  assert.equal(await prepare(), second);
});

test('a deleted bot stays deleted: no samples, no new tokens, and the other ones stay valid', async () => {
  const first = (await prepare()) as DemoFile;
  await deleteListing('bot', first.bot.id);
  const before = await store.dump();

  assert.is(await prepare(), null);
  assert.is(await store.dump(), before);
  assert.equal(JSON.parse(readFileSync(join(store.folder, 'demo.json'), 'utf8')), first);
});

test('the welcome shows addresses and commands, and has no colours outside a terminal', async () => {
  const demo = (await prepare()) as DemoFile;
  const options = {
    url: demo.url,
    adminUrl: demo.admin_url,
    version: '0.1.0 (42335a2c0a1b)',
    stores: [['Data', './data']] as const,
    dataDirectory: './data',
    demo,
  };

  const plain = formatWelcome({ ...options, isTerminal: false });
  const coloured = formatWelcome({ ...options, isTerminal: true });

  assertIncludes(plain, 'Rollcall 0.1.0 (42335a2c0a1b) is ready.');
  assert.ok(plain.includes('http://127.0.0.1:8080/docs') && plain.includes('./data/demo.json'));
  assertIncludes(plain, `${demo.url}/badges/bots/${demo.bot.id}/card.svg`);
  for (const [, command] of listDemoCommands(demo.url, demo)) assertIncludes(plain, `\n  ${command}\n`);
  // Some shells take the brackets of http://[::1]:8080 for a pattern.
  for (const [, command] of listDemoCommands('http://[::1]:8080', demo))
    assertIncludes(command, " 'http://[::1]");
  assertExcludes(plain, '\x1b');
  assertIncludes(coloured, '\x1b[1m');
  assertExcludes(formatWelcome({ ...options, demo: null, isTerminal: false }), 'curl');
});

test.run();
