/**
 * Sends webhook deliveries: leases endpoints, sends what is due to each, records the outcomes.
 *
 * - *Order*: one node at a time serves an endpoint, in the order of its votes, up to eight requests at once.
 * - *Isolation*: a node serves a bounded number of endpoints side by side, so a slow receiver delays no
 *   other. Half of the places are reserved for endpoints that work, so silent receivers do not delay those.
 * - *When*: after each flush of this node that wrote deliveries, and once a second, for deliveries of other
 *   nodes and for repeats.
 * - *Leases* are renewed while their endpoints are served. The lease of a node that dies runs out; the next
 *   node sends again what was not recorded. It may have ended that node, so it is sent *carefully*: attempts
 *   are recorded before they are made, so the next death delays these alone; those that another death has
 *   delayed come last, one at a time.
 * - *What befalls a node* is no failure of a receiver: outcomes wait until SQL takes them, and an attempt
 *   that this node could not make, or slept through, is made again.
 *
 * Created by the composition root. stored-event.ts builds what is sent, health.ts judges the outcomes.
 */
import type { VoteWindows } from '../../../engine/entity/items.ts';
import { isStoreAway, toError } from '../../../engine/errors.ts';
import type { Target } from '../../../engine/ids.ts';
import type { Clock } from '../../../engine/ports.ts';
import type {
  DeliveryPage,
  DueDelivery,
  Lease,
  LeasedEndpoint,
  PageResult,
  WebhookQueue,
} from '../../../storage/catalogue/webhooks/queue.ts';
import type { SecretBox } from '../../../storage/catalogue/webhooks/secrets.ts';
import type { WebhookMeters } from '../../telemetry/counts.ts';
import { type OpenedSecrets, openSecrets, toWebhookBody, toWebhookHeaders } from './formats.ts';
import { type Attempted, computePauseMs, decideVerdict, triesMax } from './health.ts';
import type { WebhookConnection, WebhookSender } from './send.ts';
import { toWebhookEvent, type WebhookFormat } from './stored-event.ts';
import type { VoteTraces } from './traces.ts';

export interface WebhookDispatcherParts {
  readonly queue: WebhookQueue;
  readonly sender: Pick<WebhookSender, 'open'>;
  readonly secrets: Pick<SecretBox, 'unseal'>;
  readonly windows: VoteWindows;
  readonly traces: Pick<VoteTraces, 'find'>;
  readonly disableDays: number;
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs' | 'after'>;
  readonly meters: Pick<WebhookMeters, 'recordAttempt'>;
  /** Called after this node has disabled an endpoint. */
  readonly onDisabled: (disabled: DisabledEndpoint) => void;
  readonly onFailure: (error: Error) => void;
}

export interface DisabledEndpoint {
  readonly id: string;
  readonly target: Target;
  readonly reason: string;
}

export const webhookLimits = {
  /** Endpoints that one node serves at a time. */
  endpointsMax: 64,
  /** Of these, endpoints that never had a success or whose last attempt failed. */
  unprovenMax: 32,
  /** Another node takes over when a lease was not renewed for so long. */
  leaseMs: 8_000,
  renewMs: 2_500,
  /** It waits so long at most after that. */
  lapsePauseMs: 5_000,
  /** No page begins later than this in a lease, so that others get the place. */
  serveMs: 30_000,
  /** The pause before an endpoint is served again after a failure of SQL. */
  errorPauseMs: 10_000,
  /** Requests to one endpoint in flight. */
  requestsMax: 8,
  /** Deliveries read at a time once a page has arrived; what a node has not recorded is sent again. */
  pageMax: 32,
  /** No request of a page begins later than this in it, so an edit takes effect within a second. */
  pageMs: 1_000,
  /** Pause per delivery while an endpoint recovers: 20 per second. */
  slowPauseMs: 50,
} as const;

interface DispatcherState extends WebhookDispatcherParts {
  readonly serving: Map<Lease, Promise<void>>;
  /** Ends the timer of the next renewal; `null` while nothing is served. */
  cancelRenewal: (() => void) | null;
  readonly connections: Set<WebhookConnection>;
  /** The number of served endpoints that never had a success, or failed last. */
  unproven: number;
  looking: Promise<void> | null;
  /** Something may have become due since the last look began. */
  lookAgain: boolean;
  closing: boolean;
  cancelPauses: Set<() => void>;
}

export const createWebhookDispatcher = (parts: WebhookDispatcherParts) => {
  const state: DispatcherState = {
    ...parts,
    serving: new Map(),
    cancelRenewal: null,
    connections: new Set(),
    unproven: 0,
    looking: null,
    lookAgain: false,
    closing: false,
    cancelPauses: new Set(),
  };
  return {
    /** Call when deliveries may be due now. Returns at once. */
    wake: () => void look(state).catch(state.onFailure),
    /** Takes what is due and starts to send it. Resolves when it is taken; rejects when SQL fails. */
    look: () => look(state),
    /** Takes no more, waits for attempts in flight at most `waitMs`, then ends them. */
    close: (waitMs: number) => close(state, waitMs),
  };
};
export type WebhookDispatcher = ReturnType<typeof createWebhookDispatcher>;

const look = (state: DispatcherState): Promise<void> => {
  state.lookAgain = true;
  state.looking ??= takeWhileDue(state).finally(() => {
    state.looking = null;
  });
  return state.looking;
};

const takeWhileDue = async (state: DispatcherState): Promise<void> => {
  while (state.lookAgain && !state.closing) {
    const limit = webhookLimits.endpointsMax - state.serving.size;
    // All places are taken. The next endpoint that is finished looks again.
    if (limit === 0) return;
    state.lookAgain = false;
    const nowMs = state.clock.nowMs();
    const unprovenLimit = webhookLimits.unprovenMax - state.unproven;
    const { leaseMs, lapsePauseMs } = webhookLimits;
    const leases = await state.queue.take({ nowMs, leaseMs, limit, unprovenLimit, lapsePauseMs });
    for (const lease of leases) startServing(state, lease);
    if (leases.length === limit) state.lookAgain = true;
  }
};

const startServing = (state: DispatcherState, lease: Lease): void => {
  if (lease.unproven) state.unproven += 1;
  const served = serve(state, lease)
    .catch((error) => handBack(state, lease, error))
    .finally(() => {
      state.serving.delete(lease);
      const others = lease.unproven && state.unproven === webhookLimits.unprovenMax;
      if (lease.unproven) state.unproven -= 1;
      if (state.lookAgain || others) look(state).catch(state.onFailure);
    });
  state.serving.set(lease, served);
  scheduleRenewal(state);
};

/** Releases a lease after an error. Where SQL cannot be reached for that, the lease ends by itself. */
const handBack = async (state: DispatcherState, lease: Lease, error: Error): Promise<void> => {
  state.onFailure(error);
  await state.queue.hand(lease, state.clock.nowMs() + webhookLimits.errorPauseMs).catch(state.onFailure);
};

/** Renews the leases that are served until none is. */
const scheduleRenewal = (state: DispatcherState): void => {
  state.cancelRenewal ??= state.clock.after(webhookLimits.renewMs, () => {
    state.cancelRenewal = null;
    if (state.serving.size === 0) return;
    state.queue
      .renew([...state.serving.keys()], webhookLimits.leaseMs)
      .catch(state.onFailure)
      .finally(() => scheduleRenewal(state));
  });
};

const close = async (state: DispatcherState, waitMs: number): Promise<void> => {
  state.closing = true;
  for (const cancel of state.cancelPauses) cancel();
  const cancel = state.clock.after(waitMs, () => {
    for (const connection of state.connections) connection.close();
  });
  await state.looking?.catch(state.onFailure);
  await Promise.all(state.serving.values());
  state.cancelRenewal?.();
  cancel();
};

/** The connection of one lease; another url of the endpoint opens another one. */
interface OpenConnection {
  readonly url: string;
  readonly connection: WebhookConnection;
}

/** Sends the deliveries of one endpoint until none is due, its time is over, or the node stops. */
const serve = async (state: DispatcherState, lease: Lease): Promise<void> => {
  const untilMs = state.clock.monotonicMs() + webhookLimits.serveMs;
  let open: OpenConnection | null = null;
  let limit: number = webhookLimits.requestsMax;
  // As many as the dead node may have been sending.
  let careful: number = lease.lapsed ? webhookLimits.pageMax : 0;
  try {
    for (;;) {
      if (careful > 0) limit = webhookLimits.pageMax;
      let page = await state.queue.readPage(lease, { nowMs: state.clock.nowMs(), limit });
      if (page === null) return;
      if (page.deliveries.length === 0) {
        if (await state.queue.release(lease, page.endpoint.signal)) return;
        continue;
      }
      if (state.closing || state.clock.monotonicMs() > untilMs) {
        await state.queue.hand(lease, state.clock.nowMs());
        return;
      }
      if (careful > 0 || page.deliveries.some(({ begun }) => begun)) {
        page = { ...page, deliveries: await beginCarefully(state, lease, page.deliveries) };
        limit = page.deliveries.length;
        careful -= limit;
      }
      open = openConnection(state, page.endpoint.url, open);
      const sent = await sendPage(state, lease, { page, limit, connection: open.connection });
      if (sent === 'ended') return;
      const isSlow = page.endpoint.slowUntilMs > state.clock.nowMs();
      limit = sent === 'delivered' && !isSlow ? webhookLimits.pageMax : webhookLimits.requestsMax;
      if (isSlow) await pause(state, page.deliveries.length * webhookLimits.slowPauseMs);
    }
  } finally {
    if (open !== null) closeConnection(state, open);
  }
};

/**
 * Records attempts before they are made, because one of the deliveries may have ended the node that sent it
 * last. Should this node end as well, these alone wait. Resolves to what is to be sent now: those that were
 * not begun before, else one.
 */
const beginCarefully = async (
  state: DispatcherState,
  lease: Lease,
  deliveries: readonly DueDelivery[],
): Promise<readonly DueDelivery[]> => {
  const fresh = deliveries.filter(({ begun }) => !begun).slice(0, webhookLimits.requestsMax);
  const chosen = fresh.length > 0 ? fresh : deliveries.slice(0, 1);
  const attempts = chosen.map(({ place, kind, tries, replay }) => {
    const nextAtMs = state.clock.nowMs() + computePauseMs(tries, Math.random);
    return { place, kind, replay: replay ? (1 as const) : (0 as const), nextAtMs };
  });
  await state.queue.begin(lease, { attempts, triesMax });
  return chosen;
};

/** Disables the endpoint and ends the lease. An endpoint that was edited meanwhile stays enabled. */
const disable = async (
  state: DispatcherState,
  lease: Lease,
  { endpoint, reason }: { endpoint: LeasedEndpoint; reason: string },
): Promise<void> => {
  const target = await state.queue.disable(endpoint, reason);
  if (target !== null) state.onDisabled({ id: endpoint.id, target, reason });
  else await state.queue.hand(lease, state.clock.nowMs());
};

const openConnection = (state: DispatcherState, url: string, open: OpenConnection | null): OpenConnection => {
  if (open?.url === url) return open;
  if (open !== null) closeConnection(state, open);
  const connection = state.sender.open(url);
  state.connections.add(connection);
  return { url, connection };
};

const closeConnection = (state: DispatcherState, { connection }: OpenConnection): void => {
  state.connections.delete(connection);
  connection.close();
};

const pause = (state: DispatcherState, milliseconds: number): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      cancel();
      state.cancelPauses.delete(end);
      resolve();
    };
    const cancel = state.clock.after(milliseconds, end);
    state.cancelPauses.add(end);
  });

interface PageToSend {
  readonly page: DeliveryPage;
  /** How many deliveries the page could have. */
  readonly limit: number;
  readonly connection: WebhookConnection;
}

/** Sends a page and records the outcomes. Resolves to whether the lease has ended or a request has failed. */
const sendPage = async (state: DispatcherState, lease: Lease, { page, limit, connection }: PageToSend) => {
  const { endpoint, deliveries } = page;
  const sent = await sendInOrder(state, page, connection);
  // Attempts that this node itself ended say nothing about the receiver. Their deliveries stay due.
  const attempts = sent.filter(({ outcome }) => outcome?.error !== 'closed');
  for (const { outcome } of attempts) state.meters.recordAttempt(outcome?.error ?? 'vote_missing');
  const nowMs = state.clock.nowMs();
  const context = { nowMs, chance: Math.random, disableDays: state.disableDays };
  const { results, health, disabledReason } = decideVerdict(endpoint, attempts, context);
  const isLast = deliveries.length < limit && attempts.length === deliveries.length;
  const ended = await recordPage(state, lease, { endpoint, results, health, nowMs, isLast });
  if (disabledReason !== '') {
    await disable(state, lease, { endpoint, reason: disabledReason });
    return 'ended';
  }
  if (ended) return 'ended';
  const own = sent.find((one) => !attempts.includes(one));
  if (own !== undefined && !state.closing) throw new Error(own.outcome?.detail);
  return attempts.some(hasFailed) ? 'failed' : 'delivered';
};

/** Waits for SQL while it is away: the outcomes are known, so nothing is sent again for its sake. */
const recordPage = async (state: DispatcherState, lease: Lease, page: PageResult): Promise<boolean> => {
  for (;;) {
    try {
      return await state.queue.record(lease, page);
    } catch (error) {
      if (!isStoreAway(error) || state.closing) throw error;
      state.onFailure(toError(error));
      await pause(state, webhookLimits.renewMs);
    }
  }
};

const hasFailed = ({ outcome }: Attempted): boolean => outcome !== null && outcome.error !== '';

/** Sends until one fails, the time of a page is over, or the node stops; the others stay due. */
const sendInOrder = async (
  state: DispatcherState,
  { endpoint, deliveries }: DeliveryPage,
  connection: WebhookConnection,
): Promise<readonly Attempted[]> => {
  const untilMs = state.clock.monotonicMs() + webhookLimits.pageMs;
  const secrets = openSecrets(state.secrets, endpoint, state.clock.nowMs());
  const waiting = deliveries.values();
  const sent: Attempted[] = [];
  let isOver = false;
  const send = async (): Promise<void> => {
    for (const delivery of waiting) {
      const attempted = await attempt(state, { endpoint, delivery, secrets, connection });
      sent.push(attempted);
      isOver ||= hasFailed(attempted) || state.closing || state.clock.monotonicMs() > untilMs;
      if (isOver) return;
    }
  };
  await Promise.all(Array.from({ length: webhookLimits.requestsMax }, send));
  return sent;
};

interface AttemptParts {
  readonly endpoint: LeasedEndpoint;
  readonly delivery: DueDelivery;
  /** `null` when they cannot be read. */
  readonly secrets: OpenedSecrets | null;
  readonly connection: WebhookConnection;
}

const attempt = async (state: DispatcherState, { endpoint, delivery, secrets, connection }: AttemptParts) => {
  const event = toWebhookEvent(endpoint.id, delivery, state.windows);
  if (event === null) return { delivery, body: '', outcome: null };
  const { id } = event;
  const format = endpoint.format as WebhookFormat;
  const body = delivery.body ?? toWebhookBody(format, event);
  if (body === undefined) return { delivery, body: '', outcome: null };
  if (secrets === null) return { delivery, body, outcome: sealedOutcome };
  const sentAtSeconds = Math.floor(state.clock.nowMs() / 1_000);
  const traceparent = state.traces.find(event);
  const headers = toWebhookHeaders({ format, id, sentAtSeconds, body, ...secrets, traceparent });
  return { delivery, body, outcome: await connection.post(headers, body) };
};

const sealedOutcome = {
  error: 'secret_unreadable',
  detail:
    'The secret or `authorization` cannot be read: the operator has changed SECRETS_KEY. ' +
    'Create a new secret, and set `authorization` again if the webhook has one.',
  status: 0,
  milliseconds: 0,
  response: '',
  retryAfterMs: undefined,
} as const;
