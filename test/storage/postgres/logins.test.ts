/**
 * Logins and applications while many connections of a Postgres server ask at once: two nodes, each with a
 * pool of its own, in the place of the embedded store's one line.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Catalogue, createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import {
  deletePosition,
  reviewApplication,
  upsertPosition,
} from '../../../storage/catalogue/content/applications.ts';
import { purgeLogins, type SignIn } from '../../../storage/catalogue/people/logins.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { addUser } from '../catalogue/directory.ts';

const test = suite('logins and applications on postgres');
const server = await startPostgres();
const url = await server.database('logins');
const nodes = [await openServerSql(url), await openServerSql(url)] as const;
const { sql } = nodes[0];
let catalogues: readonly [Catalogue, Catalogue];
const rounds = 10;
const atOnce = 20;

test.before(async () => {
  await migrate(sql);
  catalogues = [createCatalogue(nodes[0].sql), createCatalogue(nodes[1].sql)];
});
test.after(async () => {
  for (const node of nodes) await node.close();
  await server.close();
});

/** The same from both nodes, turn about, all at once. */
const fromBoth = <Result>(task: (catalogue: Catalogue, index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: atOnce }, (_, index) => task(catalogues[index % 2] as Catalogue, index)));
const signIn = (id: string, fields: Partial<SignIn> = {}): SignIn => ({
  profile: { id, username: id, displayName: id, avatar: '' },
  banExempt: false,
  session: { id: randomUUID(), tokenHash: randomBytes(32), lastsSeconds: 600 },
  ...fields,
});
const countOf = async (rows: PromiseLike<readonly { count: number }[]>): Promise<number> =>
  (await rows)[0]?.count ?? -1;
const kinds = (outcomes: readonly { readonly kind: string }[]): Record<string, number> =>
  Object.fromEntries(
    Object.entries(Object.groupBy(outcomes, ({ kind }) => kind)).map(([kind, all]) => [
      kind,
      all?.length ?? 0,
    ]),
  );

test('of many who claim a code on two nodes one does, and it is free again when it is released', async () => {
  for (let round = 0; round < rounds; round++) {
    const hash = randomBytes(32);
    for (let again = 0; again < 2; again++) {
      const claims = await fromBoth(({ logins }) => logins.claim('code', hash));
      assert.is(claims.filter((won) => won).length, 1);
      await catalogues[1].logins.release('code', hash);
    }
    assert.is(await catalogues[0].logins.claim('state', hash), true);
  }
});

test('a new user who logs in many times at once is one user with as many sessions', async () => {
  for (let round = 0; round < rounds; round++) {
    const id = `new-${round}`;
    const outcomes = await fromBoth(({ logins }) => logins.signIn(signIn(id)));

    assert.ok(outcomes.every((outcome) => outcome === 'signed_in'));
    assert.is(await countOf(sql`select count(*) from users where id = ${id}`), 1);
    assert.is(await countOf(sql`select count(*) from sessions where target_id = ${id}`), atOnce);
  }
});

test('logins beside a ban are all from before it, or refused', async () => {
  for (let round = 0; round < rounds; round++) {
    const id = `banned-${round}`;
    await addUser(sql, id);
    const ban = sql`update users set banned = true where id = ${id}`.execute();
    const outcomes = await fromBoth(({ logins }) => logins.signIn(signIn(id)));
    await ban;

    const signedIn = outcomes.filter((outcome) => outcome === 'signed_in').length;
    assert.is(outcomes.filter((outcome) => outcome === 'banned').length, atOnce - signedIn);
    assert.is(await countOf(sql`select count(*) from sessions where target_id = ${id}`), signedIn);
    assert.is(await catalogues[0].logins.signIn(signIn(id)), 'banned');
    assert.is(await catalogues[1].logins.signIn(signIn(id, { banExempt: true })), 'signed_in');
  }
});

test('nobody new signs in exempt, however often it is tried', async () => {
  const outcomes = await fromBoth(({ logins }) => logins.signIn(signIn('nobody', { banExempt: true })));

  assert.ok(outcomes.every((outcome) => outcome === 'not_banned'));
  assert.is(await countOf(sql`select count(*) from users where id = 'nobody'`), 0);
});

test('purges on two nodes at once share the work and leave what lives', async () => {
  await sql`delete from login_uses`;
  await sql`
    insert into login_uses (kind, hash, used_at)
    select 'code', sha256(n::text::bytea), now() - make_interval(days => 1 + n % 2, mins => -30)
    from generate_series(1, 12000) as n`;
  const purged = await Promise.all(nodes.map((node) => purgeLogins(node.sql, Date.now())));

  assert.is(
    purged.reduce((sum, { uses }) => sum + uses, 0),
    6_000,
  );
  assert.is(await countOf(sql`select count(*) from login_uses`), 6_000);
});

const long = 'x'.repeat(50);
const apply = (catalogue: Catalogue, userId: string) =>
  catalogue.applications.send({
    userId,
    position: 'partners',
    answers: { project: long, idea: long, link: 'x' },
    counts: null,
  });

test('of many applications at once one is taken', async () => {
  for (let round = 0; round < rounds; round++) {
    const outcomes = await fromBoth((catalogue) => apply(catalogue, `applicant-${round}`));
    assert.equal(kinds(outcomes), { sent: 1, pending: atOnce - 1 });
  }
});

test('an application is decided once by many who review it; the next waits its time', async () => {
  const [partners] = (await catalogues[0].applications.listPositions()).rows.filter(
    ({ id }) => id === 'partners',
  );
  assert.ok(partners !== undefined);
  await upsertPosition(sql, { ...partners, ordinal: 40, cooldown_hours: 1 });
  for (let round = 0; round < rounds; round++) {
    const user = `applicant-${round}`;
    const [app] = await catalogues[0].applications.listOfUser(user);
    const [verdicts, sent] = await Promise.all([
      fromBoth((_, index) =>
        reviewApplication((nodes[index % 2] ?? nodes[0]).sql, app?.app_id ?? '', {
          state: index % 3 === 0 ? 'approved' : 'denied',
          feedback: String(index),
        }),
      ),
      fromBoth((catalogue) => apply(catalogue, user)),
    ]);
    assert.is(verdicts.filter((verdict) => verdict === 'done').length, 1);
    assert.ok(sent.every(({ kind }) => kind === 'pending' || kind === 'wait'));
    const [decided, ...others] = await catalogues[1].applications.listOfUser(user);
    assert.is(others.length, 0);
    assert.is(decided?.state, Number(decided?.review_feedback) % 3 === 0 ? 'approved' : 'denied');
  }
});

test('applications beside the end of their position are sent before it, or refused', async () => {
  const outcomes = await Promise.all([
    fromBoth((catalogue, index) => apply(catalogue, `late-${index}`)),
    deletePosition(sql, 'partners'),
  ]);
  const { sent = 0, no_position: refused = 0 } = kinds(outcomes[0]);

  assert.is(sent + refused, atOnce);
  assert.is(await countOf(sql`select count(*) from apps where user_id like 'late-%'`), sent);
});

test.run();
