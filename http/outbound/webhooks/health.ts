/**
 * What follows from the outcomes of webhook attempts: when a delivery is tried again, and whether its
 * endpoint is healthy, failing, or to be disabled.
 *
 * A failing endpoint waits as a whole, so that a receiver that is down gets one request per pause and not one
 * per vote. A success makes it healthy at once; for a minute its backlog is then sent slowly. Pure but for
 * the jitter that is passed in.
 */

import { failingFrom } from '../../../engine/rules/webhooks.ts';
import type { AttemptRow } from '../../../storage/catalogue/webhooks/endpoints.ts';
import type {
  DeliveryResult,
  DueDelivery,
  EndpointHealth,
  LeasedEndpoint,
} from '../../../storage/catalogue/webhooks/queue.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Pauses after each failed attempt, as Standard Webhooks recommends: three days in all. */
const pausesMs = [
  5_000,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  14 * hourMs,
  20 * hourMs,
  24 * hourMs,
] as const;
export const triesMax = pausesMs.length + 1;
const retryAfterMaxMs = dayMs;
/** Pauses vary by a fifth, so that deliveries that failed together are not repeated together. */
const jitter = 0.2;
const slowMs = minuteMs;

/** The outcome of one request; `WebhookOutcome` with an error of any name. */
export interface AttemptOutcome extends Omit<AttemptRow, 'at'> {
  readonly retryAfterMs: number | undefined;
}
/** One delivery and its outcome, which is `null` when there was nothing to send. */
export interface Attempted {
  readonly delivery: DueDelivery;
  readonly body: string;
  readonly outcome: AttemptOutcome | null;
}
export interface JudgeContext {
  readonly nowMs: number;
  /** At least 0 and less than 1. */
  readonly chance: () => number;
  readonly disableDays: number;
}
export interface Verdict {
  readonly results: readonly DeliveryResult[];
  readonly health: EndpointHealth;
  /** Why the endpoint is disabled from now on, `''` while it is not. */
  readonly disabledReason: string;
}

const isDelivered = ({ outcome }: Attempted): boolean => outcome?.error === '';

export const computePauseMs = (step: number, chance: () => number): number => {
  const pauseMs = pausesMs[Math.min(step, pausesMs.length - 1)] as number;
  return Math.round(pauseMs * (1 - jitter + 2 * jitter * chance()));
};

const toRequestedMs = ({ outcome }: Attempted): number =>
  Math.min(outcome?.retryAfterMs ?? 0, retryAfterMaxMs);

const toResult = (attempted: Attempted, { nowMs, chance }: JudgeContext): DeliveryResult => {
  const { delivery, outcome, body } = attempted;
  const { status = 0, milliseconds = 0, error = 'vote_missing', detail = '', response = '' } = outcome ?? {};
  const failed = error !== '';
  const attempt = {
    at: new Date(nowMs).toISOString(),
    status,
    milliseconds,
    error,
    detail,
    response: failed ? response : '',
  };
  const isLast = outcome === null || delivery.tries + 1 >= triesMax;
  const state = failed ? (isLast ? 'expired' : 'pending') : 'delivered';
  const pauseMs = Math.max(computePauseMs(delivery.tries, chance), toRequestedMs(attempted));
  return { delivery, state, nextAtMs: nowMs + pauseMs, body: state === 'pending' ? body : null, attempt };
};

/** Computes the endpoint's health after a page. Replays do not affect it. */
const computeHealth = (
  endpoint: LeasedEndpoint,
  attempts: readonly Attempted[],
  { nowMs, chance }: JudgeContext,
): EndpointHealth => {
  const counted = attempts.filter(({ delivery, outcome }) => !delivery.replay && outcome !== null);
  const { failures, failingSinceMs, slowUntilMs } = endpoint;
  if (counted.length === 0)
    return { failures, failingSinceMs, waitUntilMs: endpoint.waitUntilMs, slowUntilMs };
  if (counted.some(isDelivered)) {
    const wasFailing = failures >= failingFrom;
    const untilMs = wasFailing ? nowMs + slowMs : slowUntilMs;
    return { failures: 0, failingSinceMs: 0, waitUntilMs: 0, slowUntilMs: untilMs };
  }
  // A page counts as one failure, because its requests were sent together and probably failed for one reason.
  const failed = failures + 1;
  const pauseMs = failed >= failingFrom ? computePauseMs(failed - failingFrom, chance) : 0;
  const waitMs = Math.max(pauseMs, ...counted.map(toRequestedMs));
  return {
    failures: failed,
    failingSinceMs: failingSinceMs === 0 ? nowMs : failingSinceMs,
    waitUntilMs: waitMs === 0 ? 0 : nowMs + waitMs,
    slowUntilMs,
  };
};

const findDisabledReason = (
  endpoint: LeasedEndpoint,
  attempts: readonly Attempted[],
  { health, context }: { health: EndpointHealth; context: JudgeContext },
): string => {
  const counted = attempts.filter(({ delivery }) => !delivery.replay);
  const gone = endpoint.format === 'discord' ? [404, 410] : [410];
  if (counted.some(({ outcome }) => gone.includes(outcome?.status ?? 0))) return 'gone';
  // The requests of a page share one judgement of the address.
  const isRefused = counted.some(({ outcome }) => outcome?.error === 'address_refused');
  if (isRefused && endpoint.failures > 0) return 'address_refused';
  const failingMs = health.failures < failingFrom ? 0 : context.nowMs - health.failingSinceMs;
  return failingMs >= context.disableDays * dayMs ? 'failing' : '';
};

/** Judges the outcomes of one page of deliveries. */
export const decideVerdict = (
  endpoint: LeasedEndpoint,
  attempts: readonly Attempted[],
  context: JudgeContext,
): Verdict => {
  const health = computeHealth(endpoint, attempts, context);
  return {
    results: attempts.map((attempted) => toResult(attempted, context)),
    health,
    disabledReason: findDisabledReason(endpoint, attempts, { health, context }),
  };
};
