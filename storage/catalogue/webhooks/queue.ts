/**
 * The queue of webhook deliveries, as senders use it: take an endpoint, read what is due, record the results.
 *
 * A sender takes a whole endpoint under a lease (leases.ts), so an endpoint has one sender in the fleet:
 * delivery is at least once. What is read and what is recorded is decided by SQL alone: a disabled, changed
 * or deleted endpoint takes effect at the next page. Times are the node's, ms.
 */
import type { EntityKind, Target } from '../../../engine/ids.ts';
import { deliveryKinds, failingFrom } from '../../../engine/rules/webhooks.ts';
import type { EventDetails, VoidedDetails } from '../../ledger/webhook-deliveries.ts';
import { formatBooleans, formatNumbers, formatTexts, type Queryable, type Sql } from '../../sql/client.ts';
import { bindStorage } from '../../sql/errors.ts';
import { buildListingNames, type EventPerson, toEventPerson } from '../shared/people.ts';
import { formatEpoch, type LogTimeline } from '../votes/vote-log.ts';
import { buildFigures, type VoterFigures } from '../votes/voters.ts';
import { type AttemptRow, buildSends, disableEndpoint } from './endpoints.ts';
import {
  beginAttempts,
  buildStillLeased,
  endLease,
  type Lease,
  releaseLease,
  renewLeases,
  takeLeases,
} from './leases.ts';

export type { VoidedDetails } from '../../ledger/webhook-deliveries.ts';
export type { Lease } from './leases.ts';

/** The newest attempts that are stored with each delivery. */
const attemptsKept = 16;

/** How well deliveries to an endpoint go. */
export interface EndpointHealth {
  readonly failures: number;
  readonly failingSinceMs: number;
  readonly waitUntilMs: number;
  readonly slowUntilMs: number;
}
/** The endpoint as it is now. */
export interface LeasedEndpoint extends EndpointHealth {
  readonly id: string;
  readonly incarnation: number;
  readonly url: string;
  readonly format: string;
  readonly secret: Buffer;
  readonly formerSecret: Buffer | null;
  readonly formerUntilMs: number;
  /** What receivers of the format `topgg` compare, sealed; `null` for the secret. */
  readonly authorization: Buffer | null;
  readonly revision: number;
  readonly signal: number;
}
/** The votes of the request that an event is about. */
export interface DeliveredVote {
  readonly itags: readonly string[];
  readonly upvote: boolean;
  readonly atMs: number;
  /** `''` for none. */
  readonly ref: string;
  readonly user: EventPerson;
  /** `null` where the format does not send it. */
  readonly voter: VoterFigures | null;
}
/** The listing that a delivery is about, as it is now. */
export interface DeliverySubject extends Target {
  readonly name: string;
  /** The epoch of its vote log. */
  readonly epoch: string;
  /** The end of its premium period, 0 for none. */
  readonly premiumUntilMs: number;
}
export interface DueDelivery {
  /** Its place in the queue; with the kind, its key. */
  readonly place: number;
  readonly kind: number;
  /** In the vote log of the subject; `null` for an event that is not about numbered votes. */
  readonly number: number | null;
  /** `null` when it was deleted. */
  readonly subject: DeliverySubject | null;
  /** The listing's total when it was written. */
  readonly votes: number;
  readonly tries: number;
  /** An attempt was recorded before it was made, and its outcome never: it may have ended its node. */
  readonly begun: boolean;
  /** Sent once more on request: its result changes nothing but its state. */
  readonly replay: boolean;
  /** What a failed attempt has sent, `null` for none. */
  readonly body: string | null;
  /** `null` when SQL no longer has the vote. */
  readonly vote: DeliveredVote | null;
  /** The decision about past votes that it reports, or another event; `null` for a vote. */
  readonly details: VoidedDetails | EventDetails | null;
  /** The user that `details` names, `null` for none. */
  readonly user: EventPerson | null;
  /** When the vote's row, the decision or the event was written. */
  readonly createdAt: Date;
}
export interface DeliveryPage {
  readonly endpoint: LeasedEndpoint;
  readonly deliveries: readonly DueDelivery[];
}
export interface DeliveryResult {
  readonly delivery: DueDelivery;
  readonly state: 'pending' | 'delivered' | 'expired';
  /** When it is tried again, if it is pending. */
  readonly nextAtMs: number;
  /** What was sent, if it will be sent again. */
  readonly body: string | null;
  readonly attempt: AttemptRow;
}
export interface PageResult {
  readonly endpoint: LeasedEndpoint;
  readonly results: readonly DeliveryResult[];
  /** After the page. */
  readonly health: EndpointHealth;
  readonly nowMs: number;
  /** All that was due is among the results. */
  readonly isLast: boolean;
}

/** Creates the work of a sender: leases of endpoints, their due deliveries, and the results. */
export const createWebhookQueue = (sql: Sql) =>
  bindStorage('webhooks', sql, {
    take: takeLeases,
    renew: renewLeases,
    begin: beginAttempts,
    readPage,
    record,
    release: releaseLease,
    hand: endLease,
    disable: disableEndpoint,
  });

export type WebhookQueue = ReturnType<typeof createWebhookQueue>;

type PageRow = LeasedEndpoint &
  LogTimeline &
  Omit<DueDelivery, 'place' | 'subject' | 'user' | 'vote'> & {
    /** `null` when nothing is due. */
    readonly place: number | null;
    readonly subjectIncarnation: number;
    readonly subjectKind: EntityKind | null;
    readonly subjectId: string;
    readonly subjectName: string;
    readonly premiumUntilMs: number;
    readonly itags: readonly string[] | null;
    readonly upvote: boolean;
    readonly atMs: number;
    readonly ref: string;
    readonly voter: VoterFigures | null;
    readonly person: string | null;
    readonly username: string | null;
    readonly display_name: string | null;
    readonly avatar: string | null;
  };

/**
 * Builds the joins of the vote that a delivery is about, and of what its voter had done by then: once,
 * because every attempt says the same.
 */
const joinVote = (sql: Queryable) => sql`
    left join lateral (
      select first.author, first.upvote, (extract(epoch from first.created_at) * 1000)::bigint as at_ms,
        coalesce(first.ref, '') as ref, array(
          select itag from votes
          where votes.incarnation = first.incarnation and votes.log_number >= first.log_number
            and votes.created_at = first.created_at and votes.author = first.author
          order by votes.log_number limit due.weight) as itags
      from votes as first
      where first.incarnation = subject.incarnation
        and first.log_number = case
          when due.subject is null then due.log_number else due.subject_number end
      offset 0
    ) as vote on true
    left join lateral (
      select * from summarise_voter(subject.incarnation, subject.kind, subject.entity_id, vote.author,
        case when due.subject is null then due.log_number else due.subject_number end,
        to_timestamp(vote.at_ms / 1000.0))
      where due.kind = ${deliveryKinds['vote.created']} and leased.format = 'standard' and due.voter is null
      offset 0
    ) as voter on true`;

/**
 * Reads at most `limit` due deliveries, in the order of the votes; `null` when the lease or the endpoint is
 * gone. By `offset 0` each delivery's listing and vote are found by an index, not by a join with all others.
 */
const readPage = async (
  sql: Queryable,
  lease: Lease,
  { nowMs, limit }: { readonly nowMs: number; readonly limit: number },
): Promise<DeliveryPage | null> => {
  const rows = await sql<PageRow[]>`
    with leased as (
      select *, ${buildSends(sql)} as sends from webhook_endpoints where ${buildStillLeased(sql, lease)}
    ), due as (
      (select delivery.* from leased, lateral (
        select * from webhook_deliveries where endpoint_id = ${lease.id} and state = 0 and not replay
          and next_at_ms <= ${nowMs}
        order by log_number limit case when leased.failures >= ${failingFrom} then 1 else ${limit}::bigint end
      ) as delivery where leased.sends and leased.wait_until_ms <= ${nowMs})
      union all
      (select * from webhook_deliveries where endpoint_id = ${lease.id} and replay
      order by log_number limit ${limit})
      limit ${limit}
    )
    select leased.id, leased.incarnation, leased.url, leased.format,
      leased.secret, leased.former_secret as "formerSecret", leased.former_until_ms as "formerUntilMs",
      leased.authorization_text as authorization, leased.revision, leased.signal, leased.failures,
      leased.failing_since_ms as "failingSinceMs", leased.wait_until_ms as "waitUntilMs",
      leased.slow_until_ms as "slowUntilMs", due.log_number as place, due.kind,
      case when due.subject is null then due.log_number else due.subject_number end as number,
      due.votes, due.tries, due.tries > jsonb_array_length(due.attempts) as begun,
      due.replay, due.body, due.details, due.created_at as "createdAt",
      subject.incarnation as "subjectIncarnation", subject.kind as "subjectKind",
      subject.entity_id as "subjectId", subject.name as "subjectName", lineage.origin,
      lineage.revisions as timeline,
      coalesce((select (extract(epoch from premium_until) * 1000)::bigint from facts
        where facts.incarnation = subject.incarnation), 0) as "premiumUntilMs",
      vote.itags, vote.upvote, vote.at_ms as "atMs", vote.ref,
      coalesce(due.voter, case when voter.times is not null then ${buildFigures(sql)} end) as voter,
      coalesce(vote.author, due.details ->> 'user') as person,
      users.username, users.display_name, users.avatar
    from leased cross join lineage left join due on true
    left join lateral (
      select totals.incarnation, totals.kind, totals.entity_id, named.name
      from totals ${buildListingNames(sql)}
      where totals.incarnation = coalesce(due.subject, leased.incarnation) offset 0
    ) as subject on true
    ${joinVote(sql)}
    left join users on users.id = coalesce(vote.author, due.details ->> 'user')
    order by due.log_number, due.kind`;
  const [endpoint] = rows;
  return endpoint === undefined ? null : { endpoint, deliveries: rows.flatMap(toDelivery) };
};

const toDelivery = (row: PageRow): readonly DueDelivery[] => {
  const { place, kind, number, votes, tries, begun, replay, body, details, createdAt } = row;
  if (place === null) return [];
  const fields = { kind, number, votes, tries, begun, replay, body, details, createdAt };
  const user = row.person === null ? null : toEventPerson(row.person, row);
  return [{ place, ...fields, subject: toSubject(row), vote: toVote(row, user), user }];
};

const toSubject = (row: PageRow): DeliverySubject | null => {
  const { subjectKind: kind, subjectId: id, subjectName: name, premiumUntilMs } = row;
  const epoch = formatEpoch(row, row.subjectIncarnation);
  return kind === null ? null : { kind, id, name, epoch, premiumUntilMs };
};

const toVote = (
  { itags, upvote, atMs, ref, voter }: PageRow,
  user: EventPerson | null,
): DeliveredVote | null =>
  itags === null || user === null ? null : { itags, upvote, atMs, ref, user, voter };

const states = { pending: 0, delivered: 1, expired: 2 } as const;

/** Builds the list of attempts with the new one; the oldest beyond `attemptsKept` is dropped. */
const appendAttempt = (sql: Queryable) => sql`
  case when jsonb_array_length(attempts) < ${attemptsKept} then attempts else attempts - 0 end
    || result.attempt::jsonb`;

const toVoterText = ({ delivery: { vote } }: DeliveryResult): string => JSON.stringify(vote?.voter ?? null);

/** Builds the part `result`: the results as rows. */
const readResults = (sql: Queryable, results: PageResult['results']) => sql`
    result as (
      select * from unnest(
        (select ${formatNumbers(results.map(({ delivery }) => delivery.place))}::bigint[]),
        (select ${formatNumbers(results.map(({ delivery }) => delivery.kind))}::smallint[]),
        (select ${formatNumbers(results.map(({ state }) => states[state]))}::smallint[]),
        (select ${formatNumbers(results.map(({ nextAtMs }) => nextAtMs))}::bigint[]),
        (select ${formatTexts(results.map(({ body }) => body ?? ''))}::text[]),
        (select ${formatTexts(results.map(({ attempt }) => JSON.stringify(attempt)))}::text[]),
        (select ${formatBooleans(results.map(({ delivery }) => delivery.replay))}::boolean[]),
        (select ${formatNumbers(results.map(({ delivery }) => delivery.tries + 1))}::smallint[]),
        (select ${formatTexts(results.map(toVoterText))}::text[])
      ) as result (log_number, kind, state, next_at_ms, body, attempt, is_replay, tries, voter)
    )`;

/** Builds the update of pending deliveries. A replay changes their state only if it was delivered. */
const recordPending = (sql: Queryable, { id }: Lease) => sql`
    recorded as (
      update webhook_deliveries as delivery set
        state = case when not is_replay or result.state = 1 then result.state else delivery.state end,
        tries = case when is_replay then delivery.tries else result.tries end,
        next_at_ms = case when is_replay then delivery.next_at_ms else result.next_at_ms end,
        replay = delivery.replay and not is_replay,
        body = nullif(result.body, ''), voter = nullif(result.voter, 'null')::jsonb,
        attempts = ${appendAttempt(sql)}
      from result
      where delivery.endpoint_id = ${id} and delivery.log_number = result.log_number
        and delivery.kind = result.kind and delivery.state = 0
      returning delivery.state
    ), sums as (
      select (select count(*) from recorded where state <> 0) as finished
    )`;

/** Builds the update of finished deliveries that were replayed. */
const recordReplays = (sql: Queryable, { id }: Lease) => sql`
    replayed as (
      update webhook_deliveries as delivery set
        state = case when result.state = 1 then 1 else delivery.state end, replay = false,
        attempts = ${appendAttempt(sql)}
      from result
      where delivery.endpoint_id = ${id} and delivery.log_number = result.log_number
        and delivery.kind = result.kind and delivery.state <> 0
    )`;

/** Builds the assignments of the endpoint's health. What an edit has reset meanwhile stays reset. */
const setHealth = (sql: Queryable, { endpoint, health }: PageResult) => sql`
      failures = case when revision = ${endpoint.revision} then ${health.failures} else failures end,
      failing_since_ms = case when revision = ${endpoint.revision} then ${health.failingSinceMs}
        else failing_since_ms end,
      wait_until_ms = case when revision = ${endpoint.revision} then ${health.waitUntilMs}
        else wait_until_ms end,
      slow_until_ms = ${health.slowUntilMs}`;

/** Builds the end of the lease: after the last page, if it is still ours and no work has come since. */
const endDoneLease = (sql: Queryable, lease: Lease, { endpoint, isLast }: PageResult) => {
  const isDone = sql`lease_number = ${lease.number} and ${isLast} and pending = finished
        and signal = ${endpoint.signal}`;
  return sql`
      lease_until_ms = case when ${isDone} then 0 else lease_until_ms end,
      due_at_ms = case when ${isDone} then null else due_at_ms end`;
};

/** Records results; ledger when it resolves: to true when nothing is left, which ends the lease. */
const record = async (sql: Queryable, lease: Lease, page: PageResult): Promise<boolean> => {
  const { results, nowMs } = page;
  const delivered = results.some(({ state }) => state === 'delivered');
  const [row] = await sql<{ ended: boolean }[]>`
    with ${readResults(sql, results)}, ${recordPending(sql, lease)}, ${recordReplays(sql, lease)}
    update webhook_endpoints as endpoint set pending = pending - finished, ${setHealth(sql, page)},
      last_delivered_at = case when ${delivered} then ${new Date(nowMs)}::timestamptz
        else last_delivered_at end,
      last_attempt = coalesce(${JSON.stringify(results.at(-1)?.attempt ?? null)}::text::jsonb, last_attempt),
      ${endDoneLease(sql, lease, page)}
    from sums
    where endpoint.id = ${lease.id}
    returning lease_until_ms = 0 as ended`;
  return row === undefined || row.ended;
};
