/**
 * Idempotency keys under concurrent repeats on a Postgres server, from two nodes. The embedded store runs one
 * transaction at a time, so only here do repeats meet.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { type Once, runOnce } from '../../../storage/catalogue/shared/once.ts';
import { upsertTier } from '../../../storage/catalogue/votes/credits.ts';
import { addBot, addUser, newSession } from '../catalogue/directory.ts';
import { addCountedVotes } from '../ledger/votes.ts';
import { openDatabase } from './database.ts';

const test = suite('idempotency keys on postgres');
const { sql, pools } = await openDatabase(test, 2);
const catalogues = pools.map((pool) => createCatalogue(pool));
await addUser(sql, 'robin');

const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
const buildOnce = (key: string): Once => ({
  scope: hash(key),
  caller: 'user robin',
  fingerprint: hash('same'),
});

/** Sends 200 repeats by both nodes at once. Resolves to their outcomes without the mark of a replay. */
const race = async (
  send: (
    catalogue: (typeof catalogues)[number],
  ) => Promise<{ readonly kind: string; readonly replayed?: true }>,
): Promise<{ readonly outcomes: readonly string[]; readonly first: number }> => {
  const both = [...catalogues, ...catalogues];
  const repeats = Array.from({ length: 50 }, () => both.map((catalogue) => send(catalogue))).flat();
  const outcomes = await Promise.all(repeats);
  const shown = outcomes.map(({ replayed: _, ...outcome }) => Object.entries(outcome).sort().join());
  return { outcomes: [...new Set(shown)], first: outcomes.filter(({ replayed }) => !replayed).length };
};

test('200 repeats create one team', async () => {
  const fields = { name: 'Raced', short: '', tags: [], extraLinks: [], nsfw: false };
  const creator = { userId: 'robin', ownedMax: 50, once: buildOnce('team') };
  const { outcomes, first } = await race((catalogue) => catalogue.teams.edits.create(creator, fields));

  assert.equal([outcomes.length, first], [1, 1]);
  assert.is((await sql`select from teams where name = 'Raced'`).length, 1);
});

test('200 repeats create one session', async () => {
  const rules = { apiSessionsMax: 100, once: buildOnce('session') };
  const target = { kind: 'user', id: 'robin' } as const;
  const { outcomes, first } = await race((catalogue) =>
    catalogue.sessions.insert(newSession({ target, name: 'raced' }), rules),
  );

  assert.equal([outcomes.length, first], [1, 1]);
  assert.is((await sql`select from sessions where name = 'raced'`).length, 1);
});

test('200 repeats redeem once', async () => {
  await upsertTier(sql, { id: 'bot-0', target_type: 'bot', position: 0, votes: 100, cents: 10 });
  const ref = await addBot(sql, 'raced', { counted: { upvotes: 30, downvotes: 0 } });
  await addCountedVotes(sql, ref, { upvotes: 30, downvotes: 0 });
  const request = { ref, kind: 'bot', votes: 10 } as const;
  const { outcomes, first } = await race((catalogue) =>
    catalogue.credits.redeem(request, buildOnce('redeem')),
  );

  assert.equal([outcomes.length, first], [1, 1]);
  assert.is((await sql`select from vote_redeems`).length, 1);
});

test('200 repeats send one application', async () => {
  const [row] = await sql<{ questions: { id: string }[] }[]>`
    select questions from app_positions where id = 'staff'`;
  const answers = Object.fromEntries((row?.questions ?? []).map(({ id }) => [id, 'x'.repeat(60)]));
  const request = { userId: 'robin', position: 'staff', answers, counts: null };
  const { outcomes, first } = await race((catalogue) =>
    catalogue.applications.send(request, buildOnce('application')),
  );

  assert.equal([outcomes.length, first], [1, 1]);
  assert.is((await sql`select from apps where user_id = 'robin'`).length, 1);
});

test('while the first request works, a repeat waits a second and is then refused', async () => {
  const once = buildOnce('slow');
  const isDone = () => true;
  const first = pools[0].begin((transaction) =>
    runOnce(transaction, once, { work: async () => (await sleep(2_500), { kind: 'done' }), isDone }),
  );
  await sleep(200);
  const repeat = () =>
    (pools[1] ?? sql).begin((transaction) =>
      runOnce(transaction, once, { work: async () => ({ kind: 'again' }), isDone }),
    );

  assert.equal(await repeat(), { kind: 'key_in_use' });
  await first;
  assert.equal(await repeat(), { kind: 'done', replayed: true });
});

test('a transaction that fails keeps neither its work nor its key', async () => {
  const once = buildOnce('failed');
  const fail = pools[0].begin(async (transaction) => {
    const work = async () => {
      await addUser(transaction as never, 'half');
      return { kind: 'done' };
    };
    await runOnce(transaction, once, { work, isDone: () => true });
    throw new Error('the node ends');
  });
  await fail.catch(() => undefined);

  assert.is((await sql`select from users where id = 'half'`).length, 0);
  assert.is((await sql`select from idempotency_keys where scope = ${once.scope}`).length, 0);
});

test.run();
