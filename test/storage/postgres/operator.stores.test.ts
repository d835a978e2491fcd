/**
 * The operator's edits under concurrent requests on a Postgres server. The embedded store runs one
 * transaction at a time, so only here can two decisions be concurrent.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ServerFields } from '../../../storage/catalogue/bots/listing-edits.ts';
import { createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { addBot, addMember, addTeam, addUser, newSession } from '../catalogue/directory.ts';
import { openDatabase } from './database.ts';

const test = suite('operators on postgres');
const { sql } = await openDatabase(test);
let count = 0;
const rounds = 8;

const catalogue = createCatalogue(sql);
await addUser(sql, 'robin');
await addTeam(sql, 'team1');
const harbour: ServerFields = {
  teamId: 'team1',
  name: 'Harbour',
  avatar: '',
  short: 'Where ships meet.',
  long: '',
  invite: '',
  tags: [],
  nsfw: false,
  state: 'public',
  totalMembers: 0,
  onlineMembers: 0,
};
const makeServerId = (): string => `7586413730744${String(++count).padStart(5, '0')}`;
const put = (id: string, name: string) => catalogue.operator.listings.putServer(id, { ...harbour, name });
const mint = async (kind: 'bot' | 'user', id: string) => {
  const type = kind === 'user' ? 'login' : 'api';
  const session = newSession({ target: { kind, id }, type, mintedBy: '', onlyIfThere: true });
  const { kind: outcome } = await catalogue.sessions.insert(session, { apiSessionsMax: 100 });
  return { outcome, tokenHash: session.tokenHash };
};

test('of concurrent puts of one new server one adds it, and all others change it', async () => {
  for (let round = 0; round < rounds; round++) {
    const id = makeServerId();
    const outcomes = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => put(id, name)));
    const rows = await sql`
      select from servers join totals on totals.incarnation = servers.incarnation
      join vanity on vanity.itag = servers.vanity_ref where server_id = ${id}`;

    assert.equal(outcomes.sort(), ['added', ...Array(4).fill('changed')]);
    assert.is(rows.length, 1);
  }
});

test('a server that is put and deleted at once exists completely or not at all', async () => {
  for (let round = 0; round < rounds; round++) {
    const id = makeServerId();
    await put(id, 'first');
    const [outcome, removed] = await Promise.all([
      put(id, 'second'),
      catalogue.operator.listings.remove({ kind: 'server', id }),
    ]);
    const [left] = await sql<{ servers: number; totals: number; codes: number }[]>`
      select (select count(*) from servers where server_id = ${id}) as servers,
        (select count(*) from totals where kind = 'server' and entity_id = ${id}) as totals,
        (select count(*) from vanity where target_type = 'server' and target_id = ${id}) as codes`;

    assert.ok(removed);
    const expected = outcome === 'added' ? 1 : 0;
    assert.equal(left, { servers: expected, totals: expected, codes: expected });
  }
});

test('a session created while its user is banned is banned, in either order', async () => {
  for (let round = 0; round < rounds; round++) {
    const user = `user-${++count}`;
    const [{ outcome, tokenHash }, { stranger }] = await Promise.all([
      mint('user', user),
      catalogue.operator.people.setBan(user, { ban: 'banned', value: true }),
    ]);
    const found = await catalogue.sessions.byTokenHash(tokenHash);

    assert.equal([outcome, stranger, found?.banned], ['created', true, true]);
  }
});

test('a session created while its bot is deleted does not stay', async () => {
  for (let round = 0; round < rounds; round++) {
    const bot = `bot-${++count}`;
    await addBot(sql, bot);
    const [removed, ...minted] = await Promise.all([
      catalogue.operator.listings.remove({ kind: 'bot', id: bot }),
      ...Array.from({ length: 4 }, () => mint('bot', bot)),
    ]);
    const left = await sql`select from sessions where target_type = 'bot' and target_id = ${bot}`;

    assert.ok(removed);
    assert.equal([left.length, (await mint('bot', bot)).outcome], [0, 'refused']);
    for (const { outcome } of minted) assertIncludes(['created', 'refused'], outcome);
  }
});

test('a session created while its server changes teams does not stay', async () => {
  for (let round = 0; round < rounds; round++) {
    const id = makeServerId();
    const [old, next] = [`from-${round}`, `to-${round}`];
    for (const team of [old, next]) await addTeam(sql, team);
    await catalogue.operator.listings.putServer(id, { ...harbour, teamId: old });
    await addMember(sql, old, { user: 'robin', permissions: ['owner'] });
    const mintAsMember = async () => {
      const session = newSession({ target: { kind: 'server', id } });
      return (await catalogue.sessions.insert(session, { apiSessionsMax: 100 })).kind;
    };
    assert.is(await mintAsMember(), 'created');
    await Promise.all([
      mintAsMember(),
      catalogue.operator.listings.putServer(id, { ...harbour, teamId: next }),
      mintAsMember(),
      mintAsMember(),
    ]);
    const left = await sql`select from sessions where target_type = 'server' and target_id = ${id}`;

    assert.is(left.length, 0);
    assert.is(await mintAsMember(), 'refused');
  }
});

test('concurrent audit entries are all stored, each with its own outcome', async () => {
  const { audit } = catalogue.operator;
  const ids = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      audit.begin({ operator: 'admin', operation: 'users ban', target: `user ${index}`, details: {} }),
    ),
  );
  await Promise.all(ids.map((id, index) => audit.end(id, index % 2 === 0 ? 'done' : 'not_found')));
  const { rows: entries } = await audit.page({ page: 1, rowsMax: 50 });

  assert.is(new Set(ids).size, 20);
  assert.is(entries.filter(({ outcome }) => outcome === 'done').length, 10);
});

test.run();
