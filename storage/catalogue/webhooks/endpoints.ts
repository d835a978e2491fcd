/**
 * The webhook endpoints of a listing, as their owners edit them.
 *
 * Every edit locks the listing's row in `totals` first and then counts its enabled endpoints there: a flush,
 * which locks the same row, sees an endpoint wholly or not at all. Endpoints are deleted with their listing.
 * Secrets are sealed by the caller.
 */
import type { Target } from '../../../engine/ids.ts';
import { writeListingEvent } from '../../ledger/webhook-deliveries.ts';
import type { Queryable, Sql, Transaction } from '../../sql/client.ts';
import { hasRow, readFirst, readNumber } from '../../sql/rows.ts';
import { buildListingNames, type EventPerson, toEventPerson } from '../shared/people.ts';

/** One attempt, as its owner sees it. */
export interface AttemptRow {
  readonly at: string;
  readonly status: number;
  readonly milliseconds: number;
  /** `''` when it was delivered. */
  readonly error: string;
  readonly detail: string;
  readonly response: string;
}
/** The endpoint as its owners see it. */
export interface EndpointRow {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly format: string;
  readonly scope: string;
  readonly up_only: boolean;
  readonly enabled: boolean;
  readonly disabled_reason: string;
  readonly created_at: Date;
  readonly last_delivered_at: Date | null;
  readonly failing_since_ms: number;
  readonly pending: number;
  /** When a sender looks next, `null` for never. */
  readonly due_at_ms: number | null;
  readonly last_attempt: AttemptRow | null;
  readonly secret_hint: string;
}
/** An endpoint with what is needed to send to it. */
export interface SealedEndpoint extends EndpointRow {
  readonly incarnation: number;
  readonly secret: Buffer;
  readonly former_secret: Buffer | null;
  readonly former_until_ms: number;
  readonly authorization_text: Buffer | null;
  /** The user who created it, `''` when a token of the listing did. */
  readonly created_by: string;
}
export interface EndpointFields extends Pick<EndpointRow, 'name' | 'url' | 'events' | 'format'> {
  readonly upOnly: boolean;
}
export interface SealedSecret {
  readonly sealed: Buffer;
  readonly hint: string;
}
export interface NewEndpoint extends EndpointFields {
  readonly id: string;
  /** `owned`: of a team, for all that it owns. Never changes. */
  readonly scope?: 'listing' | 'owned';
  readonly secret: SealedSecret;
  /** Sealed; `null` for the secret. */
  readonly authorization?: Buffer | null;
  readonly createdBy: string;
}
export interface EndpointChanges extends Partial<EndpointFields> {
  /** Sealed; `null` removes it. */
  readonly authorization?: Buffer | null;
  readonly enabled?: boolean;
  /** Replaces the secret at once: the former one signs no more. */
  readonly secret?: SealedSecret;
}
export interface NewSecret extends SealedSecret {
  /** Until then the former secret signs, too. */
  readonly formerUntilMs: number;
}

const buildColumns = (sql: Queryable) => sql`
  endpoint.id, endpoint.name, endpoint.url, endpoint.events, endpoint.format, endpoint.scope,
  endpoint.up_only, endpoint.enabled, endpoint.disabled_reason, endpoint.created_at,
  endpoint.last_delivered_at,
  endpoint.failing_since_ms, endpoint.pending, endpoint.due_at_ms, endpoint.last_attempt,
  endpoint.secret_hint`;

/** Lists the endpoints of a listing, oldest first. */
const listEndpoints = (sql: Queryable, { kind, id }: Target): Promise<readonly EndpointRow[]> =>
  sql<EndpointRow[]>`
    select ${buildColumns(sql)} from webhook_endpoints as endpoint join totals using (incarnation)
    where totals.kind = ${kind} and totals.entity_id = ${id} order by endpoint.created_at, endpoint.id`;

/** Finds an endpoint of this listing with its secrets; `null` when there is none. */
const findEndpoint = (
  sql: Queryable,
  { kind, id }: Target,
  endpointId: string,
): Promise<SealedEndpoint | null> =>
  readFirst(sql<SealedEndpoint[]>`
    select ${buildColumns(sql)}, incarnation, secret, former_secret, former_until_ms, authorization_text,
      endpoint.created_by
    from webhook_endpoints as endpoint join totals using (incarnation)
    where totals.kind = ${kind} and totals.entity_id = ${id} and endpoint.id = ${endpointId}`);

/** The listing's name and a user, as an event shows them. */
export interface EventPeople {
  readonly name: string;
  readonly user: EventPerson;
}

/** Reads what an event shows; unknown users and listings are shown by their ids. */
const describeEvent = async (sql: Queryable, incarnation: number, userId: string): Promise<EventPeople> => {
  const [row] = await sql<(EventPerson & { name: string })[]>`
    select coalesce(named.name, totals.entity_id) as name, users.username, users.display_name, users.avatar
    from totals ${buildListingNames(sql)} left join users on users.id = ${userId}
    where totals.incarnation = ${incarnation}`;
  return { name: row?.name ?? '', user: toEventPerson(userId, row ?? {}) };
};

/**
 * Locks the listing, and of a team all that it owns, in the order of a flush: it writes deliveries of any of
 * them. `null` when there is no such listing.
 */
const lockListing = async (transaction: Transaction, { kind, id }: Target): Promise<number | null> => {
  const owned = transaction`
    union all select incarnation from bots where team_id = (select ${id}::text)
    union all select incarnation from servers where team_id = (select ${id}::text)`;
  const rows = await transaction<{ incarnation: number; own: boolean }[]>`
    select incarnation, kind = ${kind} and entity_id = ${id} as own from totals
    where incarnation in (
      select incarnation from totals
      where kind = (select ${kind}::text) and entity_id = (select ${id}::text)
      ${kind === 'team' ? owned : transaction``})
    order by incarnation for no key update`;
  return rows.find(({ own }) => own)?.incarnation ?? null;
};

const countEnabled = (transaction: Transaction, incarnation: number): Promise<unknown> => transaction`
  update totals set webhooks = (
    select count(*) from webhook_endpoints where incarnation = ${incarnation} and enabled)
  where incarnation = ${incarnation}`;

/** Whether such events have no number in a vote log, so that the places of deliveries are from a sequence. */
const needSequence = (events: readonly string[]): boolean =>
  events.some((type) => type !== 'vote.created' && type !== 'vote.voided');

/** Inserts an endpoint; ledger when it resolves. */
export const insertEndpoint = (
  sql: Sql,
  target: Target,
  { endpoint, max }: { endpoint: NewEndpoint; max: number },
): Promise<'created' | 'limit_reached' | 'not_found'> =>
  sql.begin(async (transaction) => {
    const incarnation = await lockListing(transaction, target);
    if (incarnation === null) return 'not_found';
    const existing = await readNumber(transaction`
      select count(*) from webhook_endpoints where incarnation = ${incarnation}`);
    if (existing >= max) return 'limit_reached';
    const { id, name, url, format, events, upOnly, secret, createdBy, authorization = null } = endpoint;
    const { scope = 'listing' } = endpoint;
    const sequenced = scope === 'owned' || needSequence(events);
    await transaction`
      insert into webhook_endpoints
        (id, incarnation, name, url, format, scope, sequenced, events, up_only, secret, secret_hint,
          authorization_text, created_by)
      values (${id}, ${incarnation}, ${name}, ${url}, ${format}, ${scope}, ${sequenced},
        ${[...events]}::text[], ${upOnly}, ${secret.sealed}, ${secret.hint}, ${authorization}, ${createdBy})`;
    await countEnabled(transaction, incarnation);
    return 'created';
  });

/**
 * Changes an endpoint; ledger when it resolves. Enabling it, or another url, ends its failure: what waits is
 * sent now. For another format the bodies are built again. False when the listing has no such endpoint.
 */
export const updateEndpoint = (
  sql: Sql,
  target: Target,
  { id, changes, nowMs }: { id: string; changes: EndpointChanges; nowMs: number },
): Promise<boolean> =>
  sql.begin(async (transaction) => {
    const incarnation = await lockListing(transaction, target);
    if (incarnation === null) return false;
    const { name = null, url = null, format = null, events = null, upOnly = null, enabled = null } = changes;
    const { sealed = null, hint = null } = changes.secret ?? {};
    const retries = enabled === true || url !== null;
    if (retries) await endDelays(transaction, { id, incarnation });
    if (format !== null) await dropBodies(transaction, { id, incarnation, format });
    const rows = await transaction`
      update webhook_endpoints set
        name = coalesce(${name}, name), url = coalesce(${url}, url), format = coalesce(${format}, format),
        events = coalesce(${events as string[] | null}::text[], events),
        sequenced = sequenced or ${needSequence(events ?? [])}, up_only = coalesce(${upOnly}, up_only),
        revision = revision + 1, signal = signal + 1,
        secret = coalesce(${sealed}, secret), secret_hint = coalesce(${hint}, secret_hint),
        former_secret = case when ${sealed === null}::boolean then former_secret end,
        authorization_text = case when ${changes.authorization !== undefined}::boolean
          then ${changes.authorization ?? null}::bytea else authorization_text end,
        enabled = coalesce(${enabled}, enabled),
        disabled_reason = case ${enabled}::boolean when true then '' when false then 'owner'
          else disabled_reason end,
        failures = case when ${retries} then 0 else failures end,
        failing_since_ms = case when ${retries} then 0 else failing_since_ms end,
        wait_until_ms = case when ${retries} then 0 else wait_until_ms end,
        due_at_ms = case when ${hasReplays(transaction)} then ${nowMs}::bigint
          when ${enabled}::boolean is null and disabled_reason = ${transferred} then due_at_ms
          when not coalesce(${enabled}, enabled) then null
          when ${retries} and pending > 0 then ${nowMs}::bigint else due_at_ms end
      where id = ${id} and incarnation = ${incarnation} returning id`;
    await countEnabled(transaction, incarnation);
    return rows.length > 0;
  });

const endDelays = (
  transaction: Transaction,
  { id, incarnation }: { id: string; incarnation: number },
): Promise<unknown> => transaction`
  update webhook_deliveries set next_at_ms = 0
  where endpoint_id = ${id} and state = 0 and next_at_ms > 0
    and exists (select from webhook_endpoints where id = ${id} and incarnation = ${incarnation})`;

const dropBodies = (
  transaction: Transaction,
  endpoint: { readonly id: string; readonly incarnation: number; readonly format: string },
): Promise<unknown> => transaction`
  update webhook_deliveries set body = null
  where endpoint_id = ${endpoint.id} and state = 0 and body is not null
    and exists (
      select from webhook_endpoints
      where id = ${endpoint.id} and incarnation = ${endpoint.incarnation}
        and format <> ${endpoint.format})`;

const transferred = 'transferred';

/** Builds the condition that what waits is sent: votes from before a transfer are the old owner's. */
export const buildSends = (sql: Queryable) => sql`(enabled or disabled_reason = ${transferred})`;

/**
 * Disables the endpoints of a listing that gets another owner, in that transaction: they get no later vote.
 * What waits is sent.
 */
export const disableTransferred = async (transaction: Transaction, target: Target): Promise<void> => {
  const incarnation = await lockListing(transaction, target);
  if (incarnation === null) return;
  await transaction`
    update webhook_endpoints set enabled = false, disabled_reason = ${transferred},
      revision = revision + 1, signal = signal + 1
    where incarnation = ${incarnation} and enabled`;
  await countEnabled(transaction, incarnation);
};

/** Replays are sent even while the endpoint is disabled. */
const hasReplays = (transaction: Transaction) => transaction`exists (
  select from webhook_deliveries where endpoint_id = webhook_endpoints.id and replay)`;

/**
 * Deletes an endpoint; ledger when it resolves: nothing more is sent. Its deliveries are purged later. False
 * when the listing has no such endpoint.
 */
export const deleteEndpoint = (sql: Sql, target: Target, id: string): Promise<boolean> =>
  sql.begin(async (transaction) => {
    const incarnation = await lockListing(transaction, target);
    if (incarnation === null) return false;
    const rows = await transaction`
      delete from webhook_endpoints where id = ${id} and incarnation = ${incarnation} returning id`;
    await countEnabled(transaction, incarnation);
    return rows.length > 0;
  });

/** Replaces the secret; ledger when it resolves. False when the listing has no such endpoint. */
const replaceSecret = (
  sql: Queryable,
  { kind, id }: Target,
  { endpointId, secret }: { endpointId: string; secret: NewSecret },
): Promise<boolean> =>
  hasRow(sql`
    update webhook_endpoints as endpoint set
      former_secret = secret, former_until_ms = ${secret.formerUntilMs}, secret = ${secret.sealed},
      secret_hint = ${secret.hint}, revision = revision + 1
    from totals
    where totals.incarnation = endpoint.incarnation and totals.kind = ${kind} and totals.entity_id = ${id}
      and endpoint.id = ${endpointId} returning endpoint.id`);

/**
 * Disables an endpoint for a reason that its sender found, unless its owner has edited it since, and writes
 * the event for the listing's other endpoints. Ledger when it resolves: to the endpoint's listing, or to
 * `null` when it was not disabled.
 */
export const disableEndpoint = (
  sql: Sql,
  { id, incarnation, revision }: { id: string; incarnation: number; revision: number },
  reason: string,
): Promise<Target | null> =>
  sql.begin(async (transaction) => {
    const [target = null] = await transaction<Target[]>`
      select kind, entity_id as id from totals where incarnation = ${incarnation} for no key update`;
    // In the order of a flush, since other endpoints of the listing may get the event.
    await transaction`
      select from webhook_endpoints where incarnation = ${incarnation} order by id for no key update`;
    const [disabled] = await transaction<{ name: string; disabled_reason: string }[]>`
      update webhook_endpoints set enabled = false,
        disabled_reason = case when enabled then ${reason} else disabled_reason end,
        due_at_ms = case when ${hasReplays(transaction)} then due_at_ms end,
        revision = revision + 1, signal = signal + 1, lease_until_ms = 0
      where id = ${id} and revision = ${revision} and ${buildSends(transaction)}
      returning name, disabled_reason`;
    await countEnabled(transaction, incarnation);
    if (disabled === undefined) return null;
    if (disabled.disabled_reason !== reason) return target;
    const details = { webhook_id: id, name: disabled.name, reason };
    await writeListingEvent(transaction, { type: 'webhook.disabled', incarnation, details });
    return target;
  });

/** What owners do with endpoints; every edit is ledger when it resolves. */
export const endpointFunctions = {
  list: listEndpoints,
  find: findEndpoint,
  describe: describeEvent,
  insert: insertEndpoint,
  update: updateEndpoint,
  remove: deleteEndpoint,
  replaceSecret,
};
