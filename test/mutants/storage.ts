/**
 * Guards of the catalogue and the ledger, each with its patch: statements, sessions.
 *
 * Every one must be killed by a test that is quick. What a mutant is: mutant.ts.
 */
import type { Mutant } from './mutant.ts';

const flush = 'storage/ledger/flush.ts';
const ledgerTest = 'test/storage/ledger/ledger.test.ts';
const postgresLedgerTest = 'test/storage/postgres/ledger.test.ts';
const sessionsTest = 'test/storage/catalogue/sessions.test.ts';
const reachTest = 'test/storage/catalogue/reach.stores.test.ts';

const ledgerMutants: readonly Mutant[] = [
  {
    name: 'an older flush overwrites a newer one',
    file: 'storage/ledger/totals.ts',
    find: `\n    and (totals.generation, totals.version) < (new.generation, new.version)`,
    replace: '',
    killers: [ledgerTest],
    why: 'a late round of another node would take totals back (I10)',
  },
  {
    name: 'a flush leaves out a field',
    file: 'storage/ledger/totals.ts',
    find: `...fields.map(({ column }) => column)];`,
    replace: `...fields.slice(1).map(({ column }) => column)];`,
    killers: [ledgerTest],
    why: 'a field that SQL forgets would be lost with the hot store (I10)',
  },
  {
    name: 'totals are inserted',
    file: 'storage/ledger/ledger.ts',
    find: `  const isPlain =`,
    replace: `  for (const { ref } of round.entities) {
      await state.sql\`
        insert into totals (incarnation, kind, entity_id, shard)
        values (\${ref.incarnation}, \${ref.kind}, \${ref.id}, \${ref.shard}) on conflict do nothing\`;
    }
  const isPlain =`,
    why: 'the flush of a deleted listing would bring it back (I12)',
  },
  {
    name: 'a round of an older generation is written',
    file: 'storage/ledger/generations.ts',
    find: `    where known.generation <= reached.generation\n`,
    replace: '',
    killers: [ledgerTest],
    why: 'an entity initialised under the new generation would read rows that do not agree',
  },
  {
    name: 'votes without their entities are flushed without a lock',
    file: 'storage/ledger/ledger.ts',
    find: '[...round.entities, ...round.votes].map(',
    replace: 'round.entities.map(',
    killers: [postgresLedgerTest],
    why: 'two flushes of the same votes would start over again and again, and give up',
  },
  {
    name: 'votes beside older totals take no number',
    file: flush,
    find: `filter(([incarnation]) => !written.has(incarnation))`,
    replace: `filter(() => written.size === 0)`,
    killers: [ledgerTest],
    why: 'two votes of a listing would get one number (W1)',
  },
  {
    name: 'a repeated vote takes a number',
    file: flush,
    find: 'select from votes where votes.itag = sent.itag and',
    replace: 'select from votes where false and',
    killers: [ledgerTest],
    why: 'a repeated flush would leave a hole in the numbers (W1)',
  },
  {
    name: 'a flush that begins again expects new votes once more',
    file: 'storage/ledger/ledger.ts',
    find: `skipsExisting: attempt > 1`,
    replace: `skipsExisting: attempt > 4`,
    killers: [ledgerTest],
    why: 'a repeated flush would fail each time, and its votes stay in the outbox (I11)',
  },
  {
    name: 'totals in the order of the round',
    file: flush,
    find: `[...entities].sort((left, right) => left.ref.incarnation - right.ref.incarnation)`,
    replace: `[...entities]`,
    killers: [ledgerTest],
    why: 'rounds of two nodes would deadlock',
  },
  {
    name: 'votes in the order of the round',
    file: flush,
    find: `      order by itag\n`,
    replace: ``,
    killers: [ledgerTest],
    why: 'rounds of two nodes would deadlock',
  },
  {
    name: 'a vote that is there already stops the round',
    file: flush,
    find: `if (!isUniqueViolation(error)) throw error;`,
    replace: `throw error;`,
    killers: [ledgerTest],
    why: 'votes of a repeated round would become dead letters (I11)',
  },
  {
    name: 'a vote that another node wrote meanwhile takes a number',
    file: flush,
    find: `      order by itag\n      returning`,
    replace: `      order by itag\n      on conflict do nothing\n      returning`,
    killers: [postgresLedgerTest],
    why: 'a round beside a node of an earlier version would leave a hole in the numbers (W1)',
  },
  {
    name: 'votes that come after their reset count',
    file: 'storage/ledger/ledger.ts',
    find: `if (inserted.late.length > 0) await adjustLateVotes(transaction, inserted.late);\n`,
    replace: `inserted.late.slice();\n`,
    why: 'totals and valid votes would disagree after a reset (I6)',
  },
];

const otherMutants: readonly Mutant[] = [
  {
    name: 'any secret opens a session',
    file: 'storage/catalogue/people/sessions.ts',
    find: `byHash.get(hash) ?? null`,
    replace: `byHash.get(hash) ?? byHash.values().next().value ?? null`,
    killers: [sessionsTest],
    why: 'kind and id of a token are public',
  },
  {
    name: 'a demoted member keeps the sessions they minted',
    file: 'storage/catalogue/teams/team-members.ts',
    find: `permissions === null ? [] : await endExcessSessions`,
    replace: `permissions !== undefined ? [] : await endExcessSessions`,
    killers: [reachTest],
    why: 'a demoted owner would take the team back by a token',
  },
  {
    name: 'a session grants more than its minter has',
    file: 'storage/catalogue/people/sessions.ts',
    find: `(cardinality(\${limits}) > 0 and`,
    replace: `(cardinality(\${limits}) >= 0 and`,
    killers: [reachTest],
    why: 'a session without limits grants everything',
  },
  {
    name: 'a server keeps its sessions in another team',
    file: 'storage/catalogue/bots/listing-edits.ts',
    find: `server.team !== fields.teamId`,
    replace: `server.team === ''`,
    killers: [reachTest],
    why: 'members of the old team would go on acting as the server',
  },
  {
    name: 'the result of a key is not kept',
    file: 'storage/catalogue/shared/once.ts',
    find: `  if (!isDone(result)) return result;\n`,
    replace: `  return result;\n`,
    killers: ['test/http/api/idempotency.test.ts'],
    why: 'a repeat would redeem votes, or create a team, once more (K1)',
  },
  {
    name: 'a key fits every request',
    file: 'storage/catalogue/shared/once.ts',
    find: `once.fingerprint.equals(kept.fingerprint)`,
    replace: `once.fingerprint.length === kept.fingerprint.length`,
    killers: ['test/http/api/idempotency.test.ts'],
    why: 'a client that reuses a key would take the result of another request for its own',
  },
  {
    name: 'the cap of sessions',
    file: 'storage/catalogue/people/sessions.ts',
    find: `  return rows.length === 1 ? 'created' : 'limit_reached';`,
    replace: `  return rows.length < 2 ? 'created' : 'limit_reached';`,
    killers: [sessionsTest],
    why: 'a token would be handed out that was never written',
  },
  {
    name: 'no delivery from before the endpoint',
    file: 'storage/ledger/webhook-deliveries.ts',
    find: `          and (event.created_at >= endpoint.created_at or not \${isLate}::boolean)`,
    replace: '',
    killers: ['test/storage/ledger/ledger.test.ts'],
    why: 'an import of old votes would flood receivers',
  },
  {
    name: 'a delivery that is there already stops the round',
    file: 'storage/ledger/webhook-deliveries.ts',
    find: `      on conflict do nothing\n      returning endpoint_id\n    ), signalled`,
    replace: `      returning endpoint_id\n    ), signalled`,
    killers: ['test/storage/ledger/ledger.test.ts'],
    why: 'votes would stay out of SQL because of a row that only a webhook needs (I11)',
  },
  {
    name: 'the votes of one request are one delivery',
    file: 'storage/ledger/webhook-deliveries.ts',
    find: `group by incarnation, author, created_at`,
    replace: `group by incarnation, author, created_at, log_number`,
    killers: ['test/storage/ledger/ledger.test.ts'],
    why: 'a double vote would be rewarded as two',
  },
  {
    name: 'void votes only where they are wanted',
    file: 'storage/ledger/webhook-deliveries.ts',
    find: '${type}::text = any (endpoint.events)',
    replace: 'true',
    killers: ['test/storage/ledger/ledger.test.ts'],
    why: 'receivers would get events that their owners did not choose',
  },
  {
    name: 'the team of a listing hears of its votes',
    file: 'storage/ledger/vote-log.ts',
    find: `
      or exists (select from webhook_endpoints where scope = 'owned' and enabled) as watched`,
    replace: ` as watched`,
    killers: ['test/storage/ledger/ledger.test.ts'],
    why: 'a webhook for all that a team owns would miss votes',
  },
  {
    name: 'a number of its own for each reset',
    file: 'storage/ledger/adjust.ts',
    find: `max(votes.log_number) as number`,
    replace: `max(totals.votes_logged) as number`,
    killers: ['test/storage/ledger/ledger.test.ts'],
    why: 'the second of two resets would not be reported',
  },
  {
    name: 'a total with open adjustments',
    file: 'storage/ledger/webhook-deliveries.ts',
    find: `              and sequence > totals.adjustment), 0) as votes`,
    replace: `              and sequence > totals.adjustment + 99), 0) as votes`,
    killers: ['test/storage/ledger/ledger.test.ts'],
    why: 'receivers would see the total from before the decision',
  },
  {
    name: 'a replay sends votes alone',
    file: 'storage/catalogue/webhooks/deliveries.ts',
    find: `delivery.endpoint_id = \${id} and delivery.kind = \${deliveryKinds['vote.created']}`,
    replace: `delivery.endpoint_id = \${id}`,
    killers: ['test/storage/ledger/ledger.test.ts'],
    why: 'an event of void votes would make a replay send votes that were delivered',
  },
  {
    name: 'a replay outlives its endpoint being disabled',
    file: 'storage/catalogue/webhooks/endpoints.ts',
    find: `due_at_ms = case when \${hasReplays(transaction)} then due_at_ms end,`,
    replace: `due_at_ms = null,`,
    killers: ['test/storage/ledger/ledger.test.ts'],
    why: 'a replay that was accepted would never be sent',
  },
  {
    name: 'one sender per endpoint',
    file: 'storage/catalogue/webhooks/leases.ts',
    find: `due_at_ms <= \${nowMs} and \${buildLeaseOver(sql, lapsePausesMs)}`,
    replace: `due_at_ms <= \${nowMs}`,
    killers: ['test/storage/ledger/ledger.test.ts'],
    why: 'every node would send the same deliveries',
  },
  {
    name: 'places for endpoints that work',
    file: 'storage/catalogue/webhooks/leases.ts',
    find: `order by due_at_ms limit \${unprovenLimit} for update`,
    replace: `order by due_at_ms limit \${limit + unprovenLimit} for update`,
    killers: ['test/storage/ledger/ledger.test.ts'],
    why: 'silent receivers would take all places of a node',
  },
  {
    name: 'new work while a sender ends',
    file: 'storage/catalogue/webhooks/leases.ts',
    find: `\${buildHeld(sql, lease)} and signal = \${signal} returning id`,
    replace: `\${buildHeld(sql, lease)} and \${signal}::bigint >= 0 returning id`,
    killers: ['test/storage/ledger/ledger.test.ts'],
    why: 'a vote could wait for hours',
  },
  {
    name: 'a changed migration starts',
    file: 'storage/sql/migrate.ts',
    find: `    if (md5 && md5 !== file.md5) {`,
    replace: `    if (md5 === '') {`,
    why: 'a database would silently differ from its history',
  },
  {
    name: 'requests whose time is over keep their turn',
    file: 'storage/sql/admission.ts',
    find: `  refuseLate(state);\n`,
    replace: '',
    why: 'SQL would do only work that no client waits for, as long as a flood lasts',
  },
  {
    name: 'the session of each token that is looked up',
    file: 'storage/catalogue/people/sessions.ts',
    find: `byHash.get(hash) ?? null`,
    replace: `byHash.values().next().value ?? null`,
    killers: [sessionsTest],
    why: 'a client would act as another one',
  },
];

export const storageMutants: readonly Mutant[] = [...ledgerMutants, ...otherMutants];
