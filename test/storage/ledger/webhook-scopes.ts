/**
 * The contract of webhooks of a team for all that it owns, and of events that are not about numbered votes.
 * Run on both kinds of SQL.
 */
import * as assert from 'uvu/assert';
import type { EntityRef } from '../../../engine/ids.ts';
import { enqueueReplay, listDeliveries } from '../../../storage/catalogue/webhooks/deliveries.ts';
import {
  deleteEndpoint,
  insertEndpoint,
  updateEndpoint,
} from '../../../storage/catalogue/webhooks/endpoints.ts';
import { createWebhookQueue } from '../../../storage/catalogue/webhooks/queue.ts';
import { listWatched } from '../../../storage/catalogue/webhooks/upkeep.ts';
import { writeListingEvent } from '../../../storage/ledger/webhook-deliveries.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { addBot, addServer, addTeam, addUser } from '../catalogue/directory.ts';
import { addEndpoint, type Claims, nowMs, places, readPending, takeOne, wanted } from './webhooks.ts';
import { itagOf, type RealWorld, vote } from './world.ts';

const at = Date.UTC(2026, 10, 20, 12);
let endpoints = 0;

const addOwned = async (sql: Sql, team: EntityRef, events: readonly string[]): Promise<string> => {
  const id = `00000000-0000-7000-8001-${String(++endpoints).padStart(12, '0')}`;
  const secret = { sealed: Buffer.from('sealed'), hint: '' };
  const fields = { name: 'x', url: 'https://example.org/', events, format: 'standard', upOnly: false };
  const endpoint = { ...fields, id, scope: 'owned', secret, createdBy: 'owner' } as const;
  assert.is(await insertEndpoint(sql, team, { endpoint, max: 10 }), 'created');
  return id;
};

/** A team with two bots and a server, and another one. */
const listTeams = async (sql: Sql, name: string) => {
  await addUser(sql, 'robin').catch(() => {});
  const team = await addTeam(sql, `${name}-team`);
  const other = await addTeam(sql, `${name}-other`);
  const bots = [];
  for (const bot of ['a', 'b']) {
    bots.push(await addBot(sql, `${name}-${bot}`, { team_id: team.id }));
  }
  const server = await addServer(sql, `${name}-s`, { team_id: team.id });
  return { team, other, server, bots: bots as [EntityRef, EntityRef] };
};

/** All that is known of an endpoint's deliveries, in the order of their places. */
const readAll = async (sql: Sql, id: string) => {
  const queue = createWebhookQueue(sql);
  const leases = await queue.take({ nowMs, ...places });
  const lease = leases.find((one) => one.id === id);
  const page = lease && (await queue.readPage(lease, { ...wanted, limit: 100 }));
  for (const one of leases) await queue.hand(one, 0);
  return (page?.deliveries ?? []).map(({ subject, number, vote: shown }) => [
    subject?.id,
    number,
    shown?.itags[0],
  ]);
};

const registerOwnedTests = (test: Claims, open: () => RealWorld): void => {
  test('webhooks: an endpoint for all that a team owns gets each vote once, with its listing', async () => {
    const { ledger, sql } = open();
    const { team, other, server, bots } = await listTeams(sql, 'owned');
    const [a, b] = bots;
    const id = await addOwned(sql, team, ['vote.created']);
    const foreign = await addOwned(sql, other, ['vote.created']);
    const own = await addEndpoint(sql, a);
    const votes = [vote(a, 64_001), vote(b, 64_002), vote(server, 64_003), vote(team, 64_004)];
    for (let round = 0; round < 2; round++) await ledger.flush({ entities: [], votes });
    await ledger.flush({ entities: [], votes: [vote(a, 64_005, { atMs: at + 1 })] });

    const found = await readAll(sql, id);
    assert.equal(found.slice(0, 4).toSorted(), [
      [a.id, 1, itagOf(64_001)],
      [b.id, 1, itagOf(64_002)],
      [server.id, 1, itagOf(64_003)],
      [team.id, 1, itagOf(64_004)],
    ]);
    assert.equal(found.slice(4), [[a.id, 2, itagOf(64_005)]]);
    assert.equal(await readPending(sql, id), [5, 5]);
    assert.equal(
      [await readPending(sql, own), await readPending(sql, foreign)],
      [
        [2, 2],
        [0, 0],
      ],
    );
    const watched = (await listWatched(sql, 10_000)).map((listing) => listing.id);
    assert.equal(
      [team, a, b, server].filter((ref) => !watched.includes(ref.id)),
      [],
    );
  });

  test('webhooks: when a bot changes teams, the new team gets its later events', async () => {
    const { ledger, sql } = open();
    const { team, other, bots } = await listTeams(sql, 'moved');
    const [a] = bots;
    const before = await addOwned(sql, team, ['vote.created']);
    const after = await addOwned(sql, other, ['vote.created']);
    await ledger.flush({ entities: [], votes: [vote(a, 64_101)] });
    await sql`update bots set team_id = ${other.id} where bot_id = ${a.id}`;
    await ledger.flush({ entities: [], votes: [vote(a, 64_102, { atMs: at + 1 })] });

    assert.equal(await readAll(sql, before), [[a.id, 1, itagOf(64_101)]]);
    assert.equal(await readAll(sql, after), [[a.id, 2, itagOf(64_102)]]);
  });
};

const registerQueueTests = (test: Claims, open: () => RealWorld): void => {
  test('webhooks: flushes of two bots of a team that race leave counters and rows equal', async () => {
    const { ledger, sql } = open();
    const { team, bots } = await listTeams(sql, 'race');
    const ids = [await addOwned(sql, team, ['vote.created']), await addOwned(sql, team, ['vote.created'])];
    const rounds = Array.from({ length: 30 }, (_, index) =>
      ledger.flush({ entities: [], votes: [vote(bots[index % 2] as EntityRef, 64_200 + index)] }),
    );
    await Promise.all([...rounds, updateEndpoint(sql, team, { id: ids[0] as string, changes: {}, nowMs })]);

    for (const id of ids) assert.equal(await readPending(sql, id), [30, 30]);
  });

  test('webhooks: a replay of all that a team owns selects by time', async () => {
    const { ledger, sql } = open();
    const { team, bots } = await listTeams(sql, 'again');
    const [a, b] = bots;
    await ledger.flush({ entities: [], votes: [vote(a, 64_301), vote(b, 64_302)] });
    const id = await addOwned(sql, team, ['vote.created']);
    await ledger.flush({ entities: [], votes: [vote(a, 64_303, { atMs: at + 5 })] });
    const range = { since: new Date(at), until: new Date(at + 10), failedOnly: false };
    const { incarnation } = team;
    const request = { id, incarnation, format: 'standard', scope: 'owned', upOnly: false, range, nowMs };

    assert.is(await enqueueReplay(sql, request), 3);
    assert.is(await enqueueReplay(sql, request), 0);
    assert.is(await enqueueReplay(sql, { ...request, range: { ...range, failedOnly: true } }), 0);
    const page = { state: null, before: null, limit: 10 };
    const rows = await listDeliveries(sql, { id, incarnation }, page);
    assert.equal(rows.map((row) => [row.target_id, row.number, row.replay, row.source]).toSorted(), [
      [a.id, 1, true, itagOf(64_301)],
      [a.id, 2, true, itagOf(64_303)],
      [b.id, 1, true, itagOf(64_302)],
    ]);
  });
};

const registerEventTests = (test: Claims, open: () => RealWorld): void => {
  test('webhooks: other events than votes go to the endpoints that chose them, and are listed', async () => {
    const { ledger, sql } = open();
    const { team, bots } = await listTeams(sql, 'event');
    const [a] = bots;
    const events = ['vote.created', 'listing.updated', 'webhook.disabled'];
    const ids = [await addOwned(sql, team, events), await addEndpoint(sql, a, false, events)];
    const none = await addEndpoint(sql, a);
    await ledger.flush({ entities: [], votes: [vote(a, 64_401)] });
    const details = { fields: ['short'] };
    const event = { type: 'listing.updated', incarnation: a.incarnation, details } as const;
    for (let round = 0; round < 2; round++)
      assert.is(await sql.begin((transaction) => writeListingEvent(transaction, event)), 2);

    for (const id of ids) {
      assert.equal(await readAll(sql, id), [
        [a.id, 1, itagOf(64_401)],
        [a.id, null, undefined],
        [a.id, null, undefined],
      ]);
      assert.equal(await readPending(sql, id), [3, 3]);
    }
    assert.equal(await readPending(sql, none), [1, 1]);
    const queue = createWebhookQueue(sql);
    const page = await queue.readPage(await takeOne(sql, none), wanted);
    const disabled = await queue.disable((page as NonNullable<typeof page>).endpoint, 'gone');
    assert.equal(disabled, { kind: 'bot', id: a.id });
    assert.equal(await readPending(sql, ids[0] as string), [4, 4]);
    const rows = await listDeliveries(
      sql,
      { id: ids[1] as string, incarnation: a.incarnation },
      {
        state: 'pending',
        before: null,
        limit: 10,
      },
    );
    assert.equal(
      rows.map(({ kind, number }) => [kind, number]),
      [
        [5, null],
        [4, null],
        [4, null],
        [1, 1],
      ],
    );
    await deleteEndpoint(sql, team, ids[0] as string);
  });
};

const registerLaterTests = (test: Claims, open: () => RealWorld): void => {
  test('webhooks: an endpoint that later chooses other events keeps the order of its queue', async () => {
    const { ledger, sql } = open();
    const { bots } = await listTeams(sql, 'later');
    const [a] = bots;
    const id = await addEndpoint(sql, a);
    await ledger.flush({ entities: [], votes: [vote(a, 64_501)] });
    await updateEndpoint(sql, a, { id, changes: { events: ['vote.created', 'listing.updated'] }, nowMs });
    await ledger.flush({ entities: [], votes: [vote(a, 64_502, { atMs: at + 1 })] });
    const { incarnation } = a;
    const range = { fromNumber: 1, toNumber: 2 };
    const request = { id, incarnation, format: 'standard', scope: 'listing', upOnly: false, range, nowMs };
    assert.equal(await readAll(sql, id), [
      [a.id, 1, itagOf(64_501)],
      [a.id, 2, itagOf(64_502)],
    ]);

    assert.is(await enqueueReplay(sql, request), 2);
    assert.equal(await readPending(sql, id), [2, 2]);
  });
};

export const registerWebhookScopeTests: typeof registerEventTests = (test, open) => {
  registerOwnedTests(test, open);
  registerQueueTests(test, open);
  registerEventTests(test, open);
  registerLaterTests(test, open);
};
