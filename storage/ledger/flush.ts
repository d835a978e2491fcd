/**
 * The statements of a flush: guarded totals, and votes by their own id.
 *
 * The caller has locked the totals of all listings concerned in a fixed order, so that flushes of several
 * nodes wait for each other instead of deadlocking, and the votes of one listing are numbered one flush at a
 * time (vote-log.ts). A vote that arrives after a reset that voids it is void from the start, but the hot
 * store has counted it: an adjustment in the same transaction subtracts it again. A vote and its row in
 * `vote_origins` are one statement, so neither is there alone; votes without an origin have no such row.
 */
import type { CastVote } from '../../engine/entity/items.ts';
import type { DirtyEntity, OutboxVote } from '../../engine/ports.ts';
import { parseOrigin } from '../../engine/rules/vote-origin.ts';
import {
  createSerializationFailure,
  formatBooleans,
  formatNumbers,
  formatTexts,
  type Transaction,
} from '../sql/client.ts';
import { isUniqueViolation } from '../sql/errors.ts';
import { writeAdjustments } from './adjustments.ts';
import { writeTotals } from './totals.ts';
import { buildDeliveries, type DeliveryRules } from './webhook-deliveries.ts';

/** How many votes of a flush each listing gets, by incarnation. */
export type VoteCounts = ReadonlyMap<number, number>;

export const countVotes = (votes: readonly OutboxVote[]): VoteCounts => {
  const counts = new Map<number, number>();
  for (const { ref } of votes) counts.set(ref.incarnation, (counts.get(ref.incarnation) ?? 0) + 1);
  return counts;
};

/**
 * Writes absolute totals where (generation, version) is newer; deleted rows stay deleted. Also takes the
 * numbers of the listings' new votes, so that a row is written once: see `takeNumbers`.
 */
export const updateTotals = async (
  transaction: Transaction,
  entities: readonly DirtyEntity[],
  counts: VoteCounts,
): Promise<void> => {
  const rows = [...entities].sort((left, right) => left.ref.incarnation - right.ref.incarnation);
  const votesAdded = rows.map(({ ref }) => counts.get(ref.incarnation) ?? 0);
  const options = { votesAdded, returnsWritten: counts.size > 0 };
  const written = rows.length > 0 ? await writeTotals(transaction, rows, options) : [];
  await takeNumbers(transaction, counts, new Set(written));
};

/** Takes the numbers of listings whose totals this flush did not write: SQL has them, or newer ones. */
const takeNumbers = async (transaction: Transaction, counts: VoteCounts, written: ReadonlySet<number>) => {
  const others = [...counts].filter(([incarnation]) => !written.has(incarnation));
  if (others.length === 0) return;
  await transaction`
    update totals set votes_logged = votes_logged + added
    from unnest(
      (select ${formatNumbers(others.map(([incarnation]) => incarnation))}::bigint[]),
      (select ${formatNumbers(others.map(([, added]) => added))}::bigint[])
    ) as counts (incarnation, added)
    where totals.incarnation = counts.incarnation`;
};

/** Votes of one listing that reach SQL after a reset that voids them. */
export interface LateVotes {
  readonly incarnation: number;
  readonly upvotes: number;
  readonly downvotes: number;
  readonly voters: readonly CastVote[];
}

export interface InsertedVotes {
  /** Votes that got a number. */
  readonly logged: number;
  /** Those that are void from the start. */
  readonly late: readonly LateVotes[];
  /** How many webhook deliveries were written. */
  readonly deliveries: number;
}

export interface VoteRules {
  /** `null` writes no webhook deliveries. */
  readonly deliveries: DeliveryRules | null;
  /**
   * True: looks up which votes SQL already has, and takes numbers for the others. False: all votes are
   * expected to be new, and `updateTotals` has taken their numbers.
   */
  readonly skipsExisting: boolean;
}

/**
 * Inserts and numbers new votes, and writes their webhook deliveries.
 *
 * Throws a serialization failure when SQL already has one of the votes and `skipsExisting` is false. That
 * happens in a repeated flush. `on conflict do nothing` is no way out: it would cost a search and a log
 * record for each vote, and the number of an ignored row would be missing.
 */
export const insertVotes = async (
  transaction: Transaction,
  votes: readonly OutboxVote[],
  rules: VoteRules,
): Promise<InsertedVotes> => {
  try {
    return await insertFresh(transaction, votes, rules);
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw createSerializationFailure('SQL had one of these votes already');
  }
};

/** Builds the parts `target` and `sent` from the votes. A listing's fields are sent once, not per vote. */
const readSent = (sql: Transaction, votes: readonly OutboxVote[]) => {
  const targets = [...new Map(votes.map(({ ref }) => [ref.incarnation, ref])).values()];
  return sql`
    target as (
      select * from unnest(
        (select ${formatNumbers(targets.map(({ incarnation }) => incarnation))}::bigint[]),
        (select ${formatTexts(targets.map(({ kind }) => kind))}::text[]),
        (select ${formatTexts(targets.map(({ id }) => id))}::text[])
      ) as target (incarnation, target_type, target_id)
    ), sent as (
      select * from unnest(
        (select ${formatTexts(votes.map(({ itag }) => itag))}::uuid[]),
        (select ${formatNumbers(votes.map(({ atMs }) => atMs))}::bigint[]),
        (select ${formatNumbers(votes.map(({ ref }) => ref.incarnation))}::bigint[]),
        (select ${formatTexts(votes.map(({ user }) => user))}::text[]),
        (select ${formatBooleans(votes.map(({ upvote }) => upvote))}::boolean[]),
        (select ${formatNumbers(votes.map(({ voteNumber }) => voteNumber))}::smallint[])
        ${hasSources(votes) ? buildSourceColumn(sql, votes) : sql``}
        ${hasOrigins(votes) ? buildOriginColumns(sql, votes) : sql``}
      ) as sent (itag, at_ms, incarnation, author, upvote, vote_num ${hasSources(votes) ? sql`, ref` : sql``}
        ${hasOrigins(votes) ? sql`, address_hash, network_hash, agent_hash, account_age` : sql``})
    )`;
};

/**
 * Builds `fresh`, the votes to insert, and `counted`, with each listing's last number `before` them. The
 * votes of one request, those of one user at one time, are neighbours.
 */
const numberFresh = (sql: Transaction, skipsExisting: boolean) => sql`
    fresh as (
      select *, to_timestamp(at_ms / 1000.0) as created_at,
        row_number() over (partition by incarnation order by at_ms, author collate "C", itag) as position
      from ${skipsExisting ? selectMissing(sql) : sql`sent`} join target using (incarnation)
    ), sums as (
      select incarnation, count(*) as added from fresh group by incarnation
    ), counted as (${skipsExisting ? takeMissing(sql) : readTaken(sql)}
    )`;

/** Builds the insertion, in the order of the itags, so that all flushes lock rows in one order. */
const writeFresh = (sql: Transaction, hasRef: boolean) => sql`
    written as (
      insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num,
        log_number ${hasRef ? sql`, ref` : sql``})
      select itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num,
        before + position ${hasRef ? sql`, nullif(ref, '')` : sql``}
      from fresh left join counted using (incarnation)
      order by itag
      returning incarnation, created_at, author, upvote, log_number
    )`;

/** Builds `late`: votes cast before the last reset of their listing, or of all; void from the start. */
const findLate = (sql: Transaction) => sql`
    reset as (
      select incarnation, max(at) as at
      from target join vote_resets on scope = incarnation::text group by incarnation
    ), late as (
      select incarnation, count(*) filter (where upvote) as upvotes,
        count(*) filter (where not upvote) as downvotes,
        jsonb_agg(jsonb_build_object(
          'user', author, 'atMs', (extract(epoch from created_at) * 1000)::bigint)) as voters
      from written left join reset using (incarnation)
      where created_at < greatest(reset.at, (select max(at) from vote_resets where scope = 'all'))
      group by incarnation
    )`;

/** Inserts the votes in one statement, whose steps are above. */
const insertFresh = async (
  transaction: Transaction,
  votes: readonly OutboxVote[],
  { deliveries: rules, skipsExisting }: VoteRules,
): Promise<InsertedVotes> => {
  const [row] = await transaction<InsertedVotes[]>`
    with ${readSent(transaction, votes)}, ${numberFresh(transaction, skipsExisting)},
      ${writeFresh(transaction, hasSources(votes))}, ${findLate(transaction)}
    ${hasOrigins(votes) ? writeOrigins(transaction) : transaction``}
    ${rules === null ? transaction`` : buildDeliveries(transaction, rules)}
    select (select count(log_number) from written) as logged,
      (select coalesce(jsonb_agg(late order by incarnation), '[]') from late) as late,
      ${rules === null ? transaction`0` : transaction`(select count(*) from delivery)`} as deliveries`;
  return row as InsertedVotes;
};

const selectMissing = (transaction: Transaction) => transaction`(
  select distinct on (itag) * from sent
  where not exists (
    select from votes where votes.itag = sent.itag and votes.created_at = to_timestamp(sent.at_ms / 1000.0))
) as missing`;

const takeMissing = (transaction: Transaction) => transaction`
  update totals set votes_logged = votes_logged + added from sums where totals.incarnation = sums.incarnation
  returning totals.incarnation, votes_logged - added as before`;

const readTaken = (transaction: Transaction) => transaction`
  select incarnation, votes_logged - added as before from totals join sums using (incarnation)`;

/** Subtracts late votes from the totals and releases their voters. */
export const adjustLateVotes = async (transaction: Transaction, late: readonly LateVotes[]) => {
  const changes = late.map(({ incarnation, upvotes, downvotes, voters }) => {
    return { incarnation, upvotes: -upvotes, downvotes: -downvotes, release: voters };
  });
  await writeAdjustments(transaction, changes);
};

const hasSources = (votes: readonly OutboxVote[]): boolean =>
  votes.some(({ source }) => source !== undefined);

const buildSourceColumn = (sql: Transaction, votes: readonly OutboxVote[]) => sql`,
  (select ${formatTexts(votes.map(({ source = '' }) => source))}::text[])`;

const noOrigin = { addressHash: 'NULL', networkHash: 'NULL', agentHash: 'NULL', accountAge: 'NULL' };

export const hasOrigins = (votes: readonly Pick<OutboxVote, 'origin'>[]): boolean =>
  votes.some(({ origin }) => origin !== undefined);

/** Builds the columns of the votes' origins: address_hash, network_hash, agent_hash, account_age. */
export const buildOriginColumns = (sql: Transaction, votes: readonly OutboxVote[]) => {
  const origins = votes.map(({ origin }) => (origin === undefined ? noOrigin : parseOrigin(origin)));
  return sql`,
    (select ${formatNumbers(origins.map(({ addressHash }) => addressHash))}::bigint[]),
    (select ${formatNumbers(origins.map(({ networkHash }) => networkHash))}::bigint[]),
    (select ${formatNumbers(origins.map(({ agentHash }) => agentHash))}::integer[]),
    (select ${formatNumbers(origins.map(({ accountAge }) => accountAge))}::integer[])`;
};

/** Builds a further step of the statement, after `fresh`. */
export const writeOrigins = (sql: Transaction) => sql`, origin as (
  insert into vote_origins (itag, at, incarnation, author, address_hash, network_hash, agent_hash,
    account_age)
  select itag, created_at, incarnation, author, address_hash, network_hash, agent_hash, account_age
  from fresh where address_hash is not null
)`;
