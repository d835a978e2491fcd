/**
 * Notices of changes: which changes write them, and how a node without any message learns of them.
 */
import { createHash, randomBytes } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatToken } from '../../../engine/rules/token.ts';
import { createSessionCache } from '../../../http/auth/sessions.ts';
import { systemClock } from '../../../ops/clock.ts';
import { createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { createNotices, purgeNotices } from '../../../storage/catalogue/shared/notices.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { until } from '../../support/until.ts';
import { addBot, addServer, addTeam, addUser, newSession, openDirectory } from './directory.ts';

const test = suite('notices');

const directory = await openDirectory();
const { sql } = directory;
test.after(() => directory.close());
for (const user of ['robin', 'wren']) await addUser(sql, user);
await addTeam(sql, 'team1');
await addBot(sql, 'bot1');
await addBot(sql, 'bot2', { owner_id: 'wren' });
await addServer(sql, 'server1', { team_id: 'team1' });

/** Writes a session as a login or an import does. */
const addSession = async (
  id: number,
  target: { readonly kind: 'user' | 'bot' | 'team'; readonly id: string },
  expiry = new Date(Date.now() + 60_000),
) => {
  const tokenHash = Buffer.alloc(32, id);
  const { id: sessionId } = newSession({ target, tokenHash });
  await sql`insert into sessions ${sql({
    id: sessionId,
    target_type: target.kind,
    target_id: target.id,
    type: 'api',
    name: 'a token',
    token_hash: tokenHash,
    minted_by: 'wren',
    expiry,
  })}`;
  return `session ${tokenHash.toString('hex')}`;
};
const [ofUser, ofBot, ofTeam] = [
  await addSession(1, { kind: 'user', id: 'robin' }),
  await addSession(2, { kind: 'bot', id: 'bot1' }),
  await addSession(3, { kind: 'team', id: 'team1' }),
];

/** Reads what `change` announces, sorted. */
const readNotices = async (change: () => Promise<unknown>): Promise<readonly string[]> => {
  const received: string[] = [];
  const notices = createNotices(sql);
  notices.subscribe(({ kind, id }) => received.push(`${kind} ${id}`));
  assert.is(await notices.update(), true);
  await change();
  assert.is(await notices.update(), true);
  return received.sort();
};

test('every edit of a profile is announced, and of the person or the code in it', async () => {
  const edits: readonly (readonly [() => Promise<unknown>, readonly string[]])[] = [
    [() => sql`update bots set short = 'edited' where bot_id = 'bot1'`, ['bot bot1']],
    [() => sql`update servers set state = 'private'`, ['server server1']],
    [() => sql`update teams set name = 'edited'`, ['team team1']],
    [() => sql`update vanity set code = 'lantern' where target_id = 'bot2'`, ['bot bot2']],
    [() => sql`update users set username = 'edited' where id = 'wren'`, ['bot bot2']],
    [() => addUser(sql, 'bot1', { bot: true }), ['bot bot1']],
    [() => sql`update users set avatar = 'edited' where id = 'bot1'`, ['bot bot1']],
    [() => sql`update users set avatar = avatar`, []],
    [() => addUser(sql, 'new'), []],
  ];
  for (const [edit, expected] of edits) assert.equal(await readNotices(edit), expected, `${edit}`);
});

test('whatever ends or bans a session is announced', async () => {
  const changes: readonly (readonly [() => Promise<unknown>, readonly string[]])[] = [
    [() => sql`update users set banned = true where id = 'robin'`, ['bot bot1', ofUser, ofBot]],
    [() => sql`update users set vote_banned = true where id = 'wren'`, ['bot bot2', ofUser, ofBot, ofTeam]],
    [() => sql`update bots set owner_id = 'wren' where bot_id = 'bot1'`, ['bot bot1', ofBot]],
    [() => sql`update bots set owner_id = 'robin' where bot_id = 'bot1'`, ['bot bot1', ofBot]],
    [() => sql`update sessions set perm_limits = '{edit_team}' where target_type = 'team'`, [ofTeam]],
    [() => sql`delete from sessions where target_type = 'team'`, [ofTeam]],
  ];
  for (const [change, expected] of changes) {
    assert.equal(await readNotices(change), [...expected].sort(), `${change}`);
  }
});

test('what is rolled back, or was expired, is not announced', async () => {
  await addSession(4, { kind: 'team', id: 'team1' }, new Date(Date.now() - 1_000));
  const announced = await readNotices(async () => {
    await sql`delete from sessions where expiry < now()`;
    await sql
      .begin(async (transaction) => {
        await transaction`update teams set name = 'never'`;
        throw new Error('no');
      })
      .catch(() => undefined);
  });

  assert.equal(announced, []);
});

/** Counts the statements that read profiles. */
const countReads = (): { readonly sql: Sql; readonly count: () => number } => {
  let reads = 0;
  const counting = new Proxy(sql, {
    apply: (target, self, args) => {
      if (Array.isArray(args[0]) && args[0].join('').includes('as owner')) reads += 1;
      return Reflect.apply(target, self, args);
    },
  });
  return { sql: counting, count: () => reads };
};

test('a cached profile is read again only after it has changed', async () => {
  const counting = countReads();
  const { bots } = createCatalogue(counting.sql);
  const before = await bots.find('bot2');
  const endMs = performance.now() + 2_500;
  while (performance.now() < endMs) {
    assert.is(await bots.find('bot2'), before);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.is(counting.count(), 1);

  const changedMs = performance.now();
  await sql`update bots set short = 'edited by another node' where bot_id = 'bot2'`;
  let readMs = changedMs;
  while ((await bots.find('bot2')) === before) {
    readMs = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.is(counting.count(), 2);
  assert.ok(readMs - changedMs < 1_000, 'the last reading of the old one');
});

test('a cached session is read again only after it has changed', async () => {
  const token = formatToken({ kind: 'bot', id: 'bot2' }, randomBytes(32));
  const tokenHash = createHash('sha256').update(token).digest();
  const { notices, sessions } = createCatalogue(sql);
  const session = newSession({ target: { kind: 'bot', id: 'bot2' }, tokenHash, mintedBy: 'wren' });
  assert.is((await sessions.insert(session, { apiSessionsMax: 10_000 })).kind, 'created');
  let reads = 0;
  const byTokenHash = (hash: Buffer) => {
    reads += 1;
    return sessions.byTokenHash(hash);
  };
  // Without notices it would be read again each time.
  const options = { source: { byTokenHash }, clock: systemClock, entriesMax: 10, freshMs: 0, notices };
  await notices.update();
  const cache = createSessionCache(options);
  for (let look = 0; look < 60; look++) {
    assert.ok(await cache.find(token));
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
  assert.is(reads, 1);

  await sql`delete from sessions where id = ${session.id}`;
  await until('it is dead', async () => (await cache.find(token)) === null, 1_100);
});

test('old notices are deleted', async () => {
  await sql`update bots set short = 'old' where bot_id = 'bot1'`;
  await sql`update notices set at = now() - interval '2 hours'`;
  await sql`update bots set short = 'new' where bot_id = 'bot2'`;
  await purgeNotices(sql);

  assert.equal([...(await sql`select id from notices`)], [{ id: 'bot2' }]);
});

test.run();
