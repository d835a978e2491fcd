/**
 * Finds what looks wrong about votes: marks them with flags, and keeps the figures that say why.
 *
 * Nothing here changes what counts; with `VOTE_PROOF=flagged` suspects must give a proof of a human. Many
 * honest voters may share an address, so its share of a listing's votes in a day is compared with its share
 * of all votes. An address with more than half of all votes is taken for a proxy that `TRUSTED_PROXIES`
 * lacks: then this comparison is left out. A listing is compared with its own past. Judging again changes
 * nothing. Called by ops/jobs.
 */
import type { OutboxVote } from '../../engine/ports.ts';
import { packHash, voteFlags } from '../../engine/rules/vote-origin.ts';
import { buildRows, formatNumbers, type Queryable, type Sql } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';

/** Accounts known for less are new. */
export const youngSeconds = 3_600;
export const flagRules = {
  listingAccountsMin: 5,
  /** At least one of so many of the address's accounts voted on the listing. */
  listingShareMin: 10,
  directoryAccountsMin: 30,
  rhythmVotesMin: 10,
  /** The standard deviation of the intervals, in units of their mean; by chance it is about 1. */
  rhythmVariationMax: 0.2,
  surgeVotesMin: 20,
  surgeFactor: 6,
  pastDays: 14,
} as const;

const pairFlags = formatNumbers([voteFlags.listing, voteFlags.young, voteFlags.rhythm]);
const pairFlagsSum = voteFlags.listing + voteFlags.young + voteFlags.rhythm;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export interface VoteCount {
  readonly votes: number;
  /** Votes of new accounts. */
  readonly young: number;
}

/** Adds votes to what is usual. *Ledger* when it resolves. */
export const addVoteCount = (sql: Sql, { votes, young }: VoteCount, atMs: number): Promise<void> =>
  asStorage('flags.count', async () => {
    const hour = new Date(Math.floor(atMs / hourMs) * hourMs);
    await sql`
      insert into vote_counts (hour, votes, young) values (${hour}, ${votes}, ${young})
      on conflict (hour) do update set votes = vote_counts.votes + excluded.votes,
        young = vote_counts.young + excluded.young`;
  });

/** Builds a join that finds, for a `totals` row, the number of the listing's first vote since a time. */
const joinFirstVote = (sql: Queryable, name: string, since: Date) => sql`
  left join lateral (
    select log_number from votes
    where target_type = totals.kind and target_id = totals.entity_id and created_at >= ${since}
      and votes.incarnation = totals.incarnation
    order by created_at, log_number limit 1
  ) as ${sql(name)} on true`;

/** Builds the test for "far more than chance": twice the expected number, and four deviations above it. */
const isMore = (sql: Queryable, [number, expected]: readonly [string, string]) =>
  sql.unsafe(`${number} >= 2 * (${expected}) and ${number} > ${expected} + 4 * sqrt(${expected}) + 1`);

/** Builds the conditions that a pair (an address and a listing) must meet by its own figures alone. */
const canBeFlagged = (sql: Queryable) => ({
  listing: sql`accounts * ${flagRules.listingShareMin} >= all_accounts`,
  young: sql`young >= ${flagRules.listingAccountsMin} and 2 * young >= accounts`,
  rhythm: sql`votes >= ${flagRules.rhythmVotesMin} and deviation < ${flagRules.rhythmVariationMax} * gap`,
});

/** Builds the votes of the addresses, and the figures of each listing with many accounts of one address. */
const measurePairs = (sql: Queryable, addresses: readonly string[], since: Date) => sql`
  cast_vote as materialized (
    select address_hash, incarnation, author, at, account_age from vote_origins
    where address_hash = any(${formatNumbers(addresses)}::bigint[]) and at > ${since}
  ), usual as (
    select coalesce(sum(votes), 0)::float8 as usual_votes,
      coalesce(sum(young) / nullif(sum(votes), 0), 0)::float8 as young_share
    from vote_counts where hour > ${since}
  ), address as (
    select address_hash, sum(votes)::float8 as all_votes, count(*) as all_accounts
    from (select address_hash, count(*) as votes from cast_vote group by address_hash, author) as voter
    group by address_hash
  ), timed as (
    select *, extract(epoch from
      at - lag(at) over (partition by address_hash, incarnation order by at))::float8 as gap
    from cast_vote
  ), pair as (
    select address_hash, incarnation, count(*) as votes, count(distinct author) as accounts,
      count(distinct author) filter (where account_age < ${youngSeconds}) as young,
      min(at) as first_at, max(at) as last_at, avg(gap) as gap, stddev_samp(gap) as deviation
    from timed group by address_hash, incarnation
    having count(distinct author) >= ${flagRules.listingAccountsMin}
  )`;

/** Builds the flags of each pair. Looks up the listing's votes only for pairs that can have a flag. */
const judgePairs = (sql: Queryable, since: Date) => {
  const { listing, young, rhythm } = canBeFlagged(sql);
  return sql`
  candidate as (
    select pair.*, all_accounts, all_votes from pair join address using (address_hash)
    where ${listing} or ${young} or ${rhythm}
  ), measured as (
    select candidate.*, 2 * all_votes <= usual_votes as is_comparable,
      all_accounts * least(1,
        greatest(0, votes_logged + 1 - coalesce(first.log_number, votes_logged + 1) - candidate.votes)
        / greatest(1, usual_votes - all_votes)) as expected,
      accounts * young_share as young_expected
    from candidate join totals using (incarnation) cross join usual ${joinFirstVote(sql, 'first', since)}
  ), judged as (
    select *,
      case when is_comparable and ${listing} and ${isMore(sql, ['accounts', 'expected'])}
        then ${voteFlags.listing} else 0 end
      + case when ${young} and ${isMore(sql, ['young', 'young_expected'])} then ${voteFlags.young} else 0 end
      + case when ${rhythm} then ${voteFlags.rhythm} else 0 end as flags
    from measured
  )`;
};

/** Builds the findings about pairs: one row for each flag, with the pair's figures. */
const listFound = (sql: Queryable) => sql`
  found as (
    select kind, incarnation, address_hash, first_at, last_at, jsonb_build_object(
      'votes', votes, 'accounts', accounts, 'all_accounts', all_accounts,
      'expected', round(expected::numeric, 1), 'young', young,
      'young_expected', round(young_expected::numeric, 1),
      'seconds', round(gap::numeric, 1), 'deviation', round(deviation::numeric, 1)) as figures
    from judged
    cross join unnest((select ${pairFlags}::smallint[])) as kind
    where flags & kind <> 0
  )`;

/** Builds the statement that stores the newest figures of `found`, in one row per unit of time. */
const keepFound = (sql: Queryable, unitMs: number) => sql`
  insert into vote_suspects (kind, at, incarnation, address_hash, first_at, last_at, figures)
  select kind,
    to_timestamp(floor(extract(epoch from last_at) * 1000 / ${unitMs}) * ${unitMs / 1_000}::float8),
    incarnation, address_hash, first_at, last_at, figures
  from found
  on conflict (kind, at, incarnation, address_hash) do update set
    first_at = least(vote_suspects.first_at, excluded.first_at), last_at = excluded.last_at,
    figures = excluded.figures`;

/** What was found of an address. */
export interface AddressFinding {
  /** Its hash. */
  readonly address: string;
  /** 0 for a finding about all votes of the address. */
  readonly incarnation: number;
  readonly flags: number;
}

/** Finds pairs with flags, and keeps their figures. */
const findPairs = (sql: Sql, addresses: readonly string[], since: Date) =>
  sql<(AddressFinding & { readonly all_accounts: number })[]>`
    with ${measurePairs(sql, addresses, since)}, ${judgePairs(sql, since)}, ${listFound(sql)},
    kept as (${keepFound(sql, dayMs)})
    select address_hash::text as address, incarnation, flags, all_accounts from judged where flags > 0`;

/** Flags the votes of the pairs. Also passes the addresses as an array, so that any plan uses the index. */
const markPairs = (sql: Sql, found: readonly AddressFinding[], since: Date) => sql`
  update vote_origins as origin set flags = origin.flags | found.flags
  from ${buildRows(sql, found, { address: 'bigint', incarnation: 'bigint', flags: 'smallint' })}
    as found (address_hash, incarnation, flags)
  where origin.address_hash = any(${formatNumbers(found.map(({ address }) => address))}::bigint[])
    and origin.at > ${since} and origin.address_hash = found.address_hash
    and origin.incarnation = found.incarnation and origin.flags | found.flags <> origin.flags`;

/** Finds addresses with many accounts where most accounts have another flag, and marks all their votes. */
const findWide = (sql: Sql, addresses: readonly string[], since: Date) => sql<AddressFinding[]>`
  with wide as materialized (
    select address_hash, min(at) as first_at, max(at) as last_at, count(*) as votes,
      count(distinct author) as accounts, count(distinct incarnation) as listings,
      count(distinct author) filter (where flags & ${pairFlagsSum} <> 0) as flagged
    from vote_origins where address_hash = any(${formatNumbers(addresses)}::bigint[]) and at > ${since}
    group by address_hash
  ), found as (
    select ${voteFlags.directory}::smallint as kind, 0 as incarnation, address_hash, first_at, last_at,
      jsonb_build_object(
        'votes', votes, 'accounts', accounts, 'flagged', flagged, 'listings', listings) as figures
    from wide where accounts >= ${flagRules.directoryAccountsMin} and 2 * flagged >= accounts
  ), kept as (${keepFound(sql, dayMs)}), marked as (
    update vote_origins as origin set flags = origin.flags | ${voteFlags.directory}::smallint from found
    where origin.address_hash = any(${formatNumbers(addresses)}::bigint[]) and origin.at > ${since}
      and origin.address_hash = found.address_hash and origin.flags & ${voteFlags.directory} = 0
  )
  select address_hash::text as address, 0 as incarnation, kind as flags from found`;

/**
 * Judges addresses, given as their hashes, by their votes of the last day, and flags these. Resolves to what
 * was found. *Ledger* when it resolves; what fails halfway is completed by judging again.
 */
export const judgeAddresses = (
  sql: Sql,
  addresses: readonly string[],
  atMs: number,
): Promise<readonly AddressFinding[]> =>
  asStorage('flags.addresses', async () => {
    const since = new Date(atMs - dayMs);
    const pairs = await findPairs(sql, addresses, since);
    if (pairs.length === 0) return [];
    await markPairs(sql, pairs, since);
    const large = pairs.filter(({ all_accounts: accounts }) => accounts >= flagRules.directoryAccountsMin);
    if (large.length === 0) return pairs;
    const wide = await findWide(sql, [...new Set(large.map(({ address }) => address))], since);
    return [...pairs, ...wide];
  });

/** A vote, the hash of its address, and the flags that it gets. */
export interface MarkedVote extends Pick<OutboxVote, 'itag' | 'atMs'> {
  readonly address: string;
  readonly flags: number;
}

/** Flags single votes. *Ledger* when it resolves. */
export const markVotes = (sql: Sql, votes: readonly MarkedVote[]): Promise<void> =>
  asStorage('flags.votes', async () => {
    await sql`
      update vote_origins as origin set flags = origin.flags | marked.flags
      from ${buildRows(sql, votes, { itag: 'uuid', atMs: 'bigint', address: 'bigint', flags: 'smallint' })}
        as marked (itag, at_ms, address_hash, flags)
      where origin.address_hash = marked.address_hash and origin.itag = marked.itag
        and origin.at = to_timestamp(marked.at_ms / 1000.0)
        and origin.flags | marked.flags <> origin.flags`;
  });

/** Finds surges: listings with far more votes in the last hour than in an hour of the days before. */
export const judgeListings = (sql: Sql, incarnations: readonly number[], atMs: number): Promise<void> =>
  asStorage('flags.listings', async () => {
    const [hour, past] = [new Date(atMs - hourMs), new Date(atMs - hourMs - flagRules.pastDays * dayMs)];
    await sql`
      with measured as (
        select incarnation, votes_logged + 1 - hour.log_number as votes,
          (hour.log_number - past.log_number) / ${flagRules.pastDays * 24}::float8 as mean
        from totals ${joinFirstVote(sql, 'hour', hour)} ${joinFirstVote(sql, 'past', past)}
        where incarnation = any(${formatNumbers(incarnations)}::bigint[])
      ), found as (
        select ${voteFlags.surge}::smallint as kind, incarnation, 0 as address_hash,
          ${hour}::timestamptz as first_at, ${new Date(atMs)}::timestamptz as last_at,
          jsonb_build_object('votes', votes, 'mean', round(mean::numeric, 2)) as figures
        from measured
        where votes > greatest(${flagRules.surgeVotesMin}, ${flagRules.surgeFactor} * mean)
      )
      ${keepFound(sql, hourMs)}`;
  });

const suspectsMax = 100_000;

/**
 * Reads who votes under suspicion: `address <packed hash>` and `user <id>` of what was found within a day,
 * and `<kind> <id>` of listings with a surge within the hour.
 */
export const readSuspects = (sql: Sql, atMs: number): Promise<readonly string[]> =>
  asStorage('flags.suspects', async () => {
    const [day, hour] = [new Date(atMs - dayMs), new Date(atMs - hourMs)];
    const rows = await sql<{ name: string | null; address: string | null }[]>`
      with recent as (
        select distinct address_hash from vote_suspects
        where last_at > ${day} and address_hash <> 0 limit ${suspectsMax}
      )
      select null as name, address_hash::text as address from recent
      union all (
        select distinct 'user ' || author, null from recent join vote_origins using (address_hash)
        where at > ${day} and flags > 0 limit ${suspectsMax})
      union all (
        select kind || ' ' || entity_id, null from totals where incarnation in (
          select incarnation from vote_suspects where kind = ${voteFlags.surge} and last_at > ${hour}))`;
    return rows.map(({ name, address }) => name ?? `address ${packHash(address ?? '0')}`);
  });

/** Page views of one listing in an hour, and those that a filter would take off. */
export interface ViewMarks {
  readonly incarnation: number;
  readonly views: number;
  readonly repeated: number;
  readonly robots: number;
}

const viewColumns = { incarnation: 'bigint', views: 'bigint', repeated: 'bigint', robots: 'bigint' } as const;

/** Adds what this node counted of an hour that begins at a time. *Ledger* when it resolves. */
export const addViewMarks = (sql: Sql, marks: readonly ViewMarks[], atMs: number): Promise<void> =>
  asStorage('flags.views', async () => {
    const [hour, end] = [new Date(atMs), new Date(atMs + hourMs)];
    await sql`
      insert into vote_suspects (kind, at, incarnation, address_hash, first_at, last_at, figures)
      select ${voteFlags.views}, ${hour}, incarnation, 0, ${hour}, ${end},
        jsonb_build_object('views', views, 'repeated', repeated, 'robots', robots)
      from ${buildRows(sql, marks, viewColumns)} as marks (incarnation, views, repeated, robots)
      on conflict (kind, at, incarnation, address_hash) do update set figures = (
        select jsonb_object_agg(name, coalesce((vote_suspects.figures ->> name)::bigint, 0) + value::bigint)
        from jsonb_each_text(excluded.figures) as added (name, value))`;
  });
