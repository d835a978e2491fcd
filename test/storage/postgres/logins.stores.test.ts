/**
 * Logins and applications under concurrent requests on a Postgres server, from two nodes with a pool each.
 * The embedded store runs one transaction at a time.
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
import { addUser } from '../catalogue/directory.ts';
import { openDatabase } from './database.ts';

const test = suite('logins and applications on postgres');
const { sql, pools } = await openDatabase(test, 2);
const rounds = 10;
const atOnce = 20;
const catalogues = pools.map((pool) => createCatalogue(pool)) as [Catalogue, Catalogue];

/** Runs `task` many times at once, alternating between both nodes. */
const fromBoth = <Result>(task: (catalogue: Catalogue, index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: atOnce }, (_, index) => task(catalogues[index % 2] as Catalogue, index)));
const makeSignIn = (id: string, fields: Partial<SignIn> = {}): SignIn => ({
  profile: { id, username: id, displayName: id, avatar: '' },
  banExempt: false,
  session: { id: randomUUID(), tokenHash: randomBytes(32), lastsSeconds: 600 },
  ...fields,
});
const readCount = async (rows: PromiseLike<readonly { count: number }[]>): Promise<number> =>
  (await rows)[0]?.count ?? -1;
const countKinds = (outcomes: readonly { readonly kind: string }[]): Record<string, number> =>
  Object.fromEntries(
    Object.entries(Object.groupBy(outcomes, ({ kind }) => kind)).map(([kind, all]) => [
      kind,
      all?.length ?? 0,
    ]),
  );

test('of concurrent claims of a code one succeeds, and a released code is free again', async () => {
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

test('concurrent logins of a new user create one user and a session each', async () => {
  for (let round = 0; round < rounds; round++) {
    const id = `new-${round}`;
    const outcomes = await fromBoth(({ logins }) => logins.signIn(makeSignIn(id)));

    assert.equal(
      outcomes.filter((outcome) => outcome !== 'signed_in'),
      [],
    );
    assert.is(await readCount(sql`select count(*) from users where id = ${id}`), 1);
    assert.is(await readCount(sql`select count(*) from sessions where target_id = ${id}`), atOnce);
  }
});

test('logins concurrent with a ban either come before it or are refused', async () => {
  for (let round = 0; round < rounds; round++) {
    const id = `banned-${round}`;
    await addUser(sql, id);
    const ban = sql`update users set banned = true where id = ${id}`.execute();
    const outcomes = await fromBoth(({ logins }) => logins.signIn(makeSignIn(id)));
    await ban;

    const signedIn = outcomes.filter((outcome) => outcome === 'signed_in').length;
    assert.is(outcomes.filter((outcome) => outcome === 'banned').length, atOnce - signedIn);
    assert.is(await readCount(sql`select count(*) from sessions where target_id = ${id}`), signedIn);
    assert.is(await catalogues[0].logins.signIn(makeSignIn(id)), 'banned');
    assert.is(await catalogues[1].logins.signIn(makeSignIn(id, { banExempt: true })), 'signed_in');
  }
});

test('an unknown user cannot sign in as banned', async () => {
  const outcomes = await fromBoth(({ logins }) => logins.signIn(makeSignIn('unknown', { banExempt: true })));

  assert.equal(
    outcomes.filter((outcome) => outcome !== 'not_banned'),
    [],
  );
  assert.is(await readCount(sql`select count(*) from users where id = 'unknown'`), 0);
});

test('concurrent purges on two nodes share the work and delete only what is due', async () => {
  await sql`delete from login_uses`;
  await sql`
    insert into login_uses (kind, hash, used_at)
    select 'code', sha256(n::text::bytea), now() - make_interval(days => 1 + n % 2, mins => -30)
    from generate_series(1, 12000) as n`;
  const purged = await Promise.all(pools.map((pool) => purgeLogins(pool, Date.now())));

  assert.is(
    purged.reduce((sum, { uses }) => sum + uses, 0),
    6_000,
  );
  assert.is(await readCount(sql`select count(*) from login_uses`), 6_000);
});

const long = 'x'.repeat(50);
const apply = (catalogue: Catalogue, userId: string) =>
  catalogue.applications.send({
    userId,
    position: 'partners',
    answers: { project: long, idea: long, link: 'x' },
    counts: null,
  });

test('of many concurrent applications one is accepted', async () => {
  for (let round = 0; round < rounds; round++) {
    const outcomes = await fromBoth((catalogue) => apply(catalogue, `applicant-${round}`));
    assert.equal(countKinds(outcomes), { sent: 1, pending: atOnce - 1 });
  }
});

test('of concurrent reviews of an application one decides; the next application has to wait', async () => {
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
        reviewApplication(pools[index % 2] ?? sql, app?.app_id ?? '', {
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

test('applications during the deletion of their position come before it or are refused', async () => {
  const outcomes = await Promise.all([
    fromBoth((catalogue, index) => apply(catalogue, `late-${index}`)),
    deletePosition(sql, 'partners'),
  ]);
  const { sent = 0, no_position: refused = 0 } = countKinds(outcomes[0]);

  assert.is(sent + refused, atOnce);
  assert.is(await readCount(sql`select count(*) from apps where user_id like 'late-%'`), sent);
});

test.run();
