/**
 * Rate limits of this node: one bounded table per limit, and the header lines that report the remaining quota
 * to clients.
 *
 * Keys are client addresses, or session ids (stats). A full table evicts the least recently used keys. Where
 * several nodes share a store, all limits but stats, badge and feed are counted there (`takeShared`), and
 * here only while it is unreachable. On the hot limit (stats) a reply carries only `RateLimit` while more
 * than a fifth of the burst is left.
 *
 * The algorithm is that of generic cell rates (GCRA): one number per key; time is passed in. The number is
 * the theoretical arrival time (TAT), at which the whole burst is available again. An allowed request
 * advances it by one interval. A request is rejected when that would move the TAT further ahead than the
 * burst allows; a rejected request changes nothing, so early retries are not punished.
 */
import { DomainError } from '../../engine/errors.ts';
import {
  createTwoGenerationCache,
  type TwoGenerationCache,
} from '../../engine/tools/two-generation-cache.ts';

export interface LimitPolicy {
  readonly name: string;
  /** Requests that may arrive at once. */
  readonly burst: number;
  /** Ms until one more request becomes available. */
  readonly intervalMs: number;
}

interface RateDecision {
  readonly allowed: boolean;
  /** The new TAT to store for the key when allowed. */
  readonly tatMs: number;
  /** Whole requests that may still arrive at once. */
  readonly remaining: number;
  /** Ms until the next request is allowed, 0 when this one is. */
  readonly retryAfterMs: number;
  /** Ms until the whole burst is available again. */
  readonly resetMs: number;
}

/**
 * Decides one request at `nowMs` for a key whose stored theoretical arrival time (TAT) is `lastTatMs`; 0 if
 * none is stored. It counts as `cost` requests.
 */
export const decideRate = (policy: LimitPolicy, lastTatMs: number, nowMs: number, cost = 1): RateDecision => {
  const toleranceMs = policy.burst * policy.intervalMs;
  const startMs = Math.max(lastTatMs, nowMs);
  const nextMs = startMs + policy.intervalMs * cost;
  const allowed = nextMs - nowMs <= toleranceMs + 1e-6;
  const tatMs = allowed ? nextMs : startMs;
  return {
    allowed,
    tatMs,
    remaining: Math.max(0, Math.floor((toleranceMs - (tatMs - nowMs)) / policy.intervalMs + 1e-9)),
    retryAfterMs: allowed ? 0 : nextMs - nowMs - toleranceMs,
    resetMs: tatMs - nowMs,
  };
};

/** Settings of one limit: `requests` per `seconds`, and at most `burst` at once. */
export interface LimitSetting {
  readonly requests: number;
  readonly seconds: number;
  readonly burst: number;
}

/** The rate limits by their names (docs/behaviour.md, "Rate limits"). */
export const defaultLimits = {
  login: { requests: 5, seconds: 60, burst: 5 },
  bot_create: { requests: 5, seconds: 60, burst: 5 },
  bot_meta: { requests: 10, seconds: 60, burst: 10 },
  auth_test: { requests: 60, seconds: 60, burst: 60 },
  stats: { requests: 1_000, seconds: 1, burst: 2_000 },
  vote_log: { requests: 10, seconds: 1, burst: 20 },
  bot_shards: { requests: 10, seconds: 1, burst: 20 },
  webhook_edit: { requests: 60, seconds: 60, burst: 60 },
  webhook_test: { requests: 5, seconds: 60, burst: 5 },
  webhook_view: { requests: 10, seconds: 1, burst: 20 },
  badge: { requests: 100, seconds: 1, burst: 500 },
  history: { requests: 20, seconds: 1, burst: 40 },
  search: { requests: 5, seconds: 1, burst: 25 },
  feed: { requests: 5, seconds: 1, burst: 25 },
} as const satisfies Readonly<Record<string, LimitSetting>>;
export type LimitName = keyof typeof defaultLimits;
export type LimitSettings = Readonly<Record<LimitName, LimitSetting>>;

/** Rate limits counted in the store that all nodes share. */
export interface SharedRates {
  /**
   * Counts one request if it is allowed. `aheadMs` is how far the key's TAT then lies ahead of now. Rejects
   * when the store is unreachable or slow.
   */
  take(policy: LimitPolicy, key: string): Promise<{ readonly allowed: boolean; readonly aheadMs: number }>;
}

/** The error of a 429, with the header lines beside the error body. */
const createRateLimitedError = (decision: RateDecision, headers: string): DomainError => {
  const seconds = Math.max(1, Math.ceil(decision.retryAfterMs / 1_000));
  return new DomainError(
    'rate_limited',
    `Too many requests. Please wait ${seconds} s.`,
    {},
    seconds,
    headers,
  );
};

interface RateTable {
  readonly policy: LimitPolicy;
  readonly policyText: string;
  readonly hot: boolean;
  readonly states: TwoGenerationCache<RateState>;
  /** The last brief line: nearly all clients of a hot limit have the same remaining quota. */
  readonly brief: { remaining: number; resetSeconds: number; line: string };
}

/** The TAT of one key. Changed in place, so that a request needs one look-up in the table. */
interface RateState {
  tatMs: number;
}

/** Keys of each limit that are never evicted early; at most twice as many are stored. */
const keysMax = 50_000;

const toResetSeconds = (decision: RateDecision): number => Math.ceil(decision.resetMs / 1_000);

const renderRateLimitHeader = (
  { policy }: Pick<RateTable, 'policy'>,
  remaining: number,
  resetSeconds: number,
): string => `\r\nRateLimit: "${policy.name}";r=${remaining};t=${resetSeconds}`;

/** Only `RateLimit`. */
const renderBriefHeader = (table: RateTable, decision: RateDecision): string => {
  const { brief } = table;
  const resetSeconds = toResetSeconds(decision);
  if (brief.remaining !== decision.remaining || brief.resetSeconds !== resetSeconds) {
    brief.remaining = decision.remaining;
    brief.resetSeconds = resetSeconds;
    brief.line = renderRateLimitHeader(table, decision.remaining, resetSeconds);
  }
  return brief.line;
};

/**
 * `RateLimit` and its policy (draft-ietf-httpapi-ratelimit-headers-11), and the common `X-RateLimit-*`. Not
 * used of the draft: `qu`, because all quotas are of requests, and `pk`, which would be a hash of a token or
 * an address, and tell a client with one token nothing.
 */
const renderLimitHeaders = (table: RateTable, decision: RateDecision): string => {
  const resetSeconds = toResetSeconds(decision);
  return (
    renderRateLimitHeader(table, decision.remaining, resetSeconds) +
    `\r\nRateLimit-Policy: ${table.policyText}` +
    `\r\nX-RateLimit-Limit: ${table.policy.burst}\r\nX-RateLimit-Remaining: ${decision.remaining}` +
    `\r\nX-RateLimit-Reset: ${resetSeconds}`
  );
};

const createRateTable = (name: string, setting: LimitSetting): RateTable => {
  const intervalMs = (setting.seconds * 1_000) / setting.requests;
  const windowSeconds = Math.ceil((setting.burst * intervalMs) / 1_000);
  return {
    policy: { name, burst: setting.burst, intervalMs },
    policyText: `"${name}";q=${setting.burst};w=${windowSeconds}`,
    hot: name === 'stats',
    states: createTwoGenerationCache(keysMax),
    brief: { remaining: -1, resetSeconds: -1, line: '' },
  };
};

const getRateState = ({ states }: RateTable, key: string): RateState => {
  const existing = states.get(key);
  if (existing !== undefined) return existing;
  const state: RateState = { tatMs: 0 };
  states.set(key, state);
  return state;
};

const take = (table: RateTable, key: string, nowMs: number, cost = 1): string => {
  const state = getRateState(table, key);
  const decision = decideRate(table.policy, state.tatMs, nowMs, cost);
  if (!decision.allowed) throw createRateLimitedError(decision, renderLimitHeaders(table, decision));
  state.tatMs = decision.tatMs;
  const isBrief = table.hot && decision.remaining * 5 > table.policy.burst;
  return isBrief ? renderBriefHeader(table, decision) : renderLimitHeaders(table, decision);
};

const toRateDecision = (
  { burst, intervalMs }: LimitPolicy,
  answer: { readonly allowed: boolean; readonly aheadMs: number },
  nowMs: number,
): RateDecision => {
  const leftMs = burst * intervalMs - answer.aheadMs;
  return {
    allowed: answer.allowed,
    tatMs: nowMs + answer.aheadMs,
    remaining: Math.max(0, Math.floor(leftMs / intervalMs + 1e-9)),
    retryAfterMs: answer.allowed ? 0 : Math.max(0, intervalMs - leftMs),
    resetMs: answer.aheadMs,
  };
};

interface SharedLimit {
  readonly table: RateTable;
  readonly rates: SharedRates;
}

/** This node's own count can reject without asking the store; only the store can allow. */
const takeShared = ({ table, rates }: SharedLimit, key: string, nowMs: number): Promise<string> => {
  const state = getRateState(table, key);
  const own = decideRate(table.policy, state.tatMs, nowMs);
  if (!own.allowed) throw createRateLimitedError(own, renderLimitHeaders(table, own));
  return rates.take(table.policy, key).then(
    (answer) => {
      const decision = toRateDecision(table.policy, answer, nowMs);
      if (!decision.allowed) throw createRateLimitedError(decision, renderLimitHeaders(table, decision));
      state.tatMs = own.tatMs;
      return renderLimitHeaders(table, decision);
    },
    // The store is unreachable: each node counts alone, so a client gets at most the limit of every node.
    () => take(table, key, nowMs),
  );
};

/** Creates one limit of this node alone. */
export const createLimit = (name: string, setting: LimitSetting) => {
  const table = createRateTable(name, setting);
  return {
    /** Counts as `cost` requests, 0 to ask only. Returns header lines or throws `rate_limited`. */
    take: (key: string, nowMs: number, cost?: number) => take(table, key, nowMs, cost),
    /** Counts what has happened already: the limit may be passed by `cost`, and the key then waits for it. */
    charge: (key: string, nowMs: number, cost: number) => {
      const { burst, intervalMs } = table.policy;
      const state = getRateState(table, key);
      const latestMs = nowMs + (burst + cost) * intervalMs;
      state.tatMs = Math.min(Math.max(state.tatMs, nowMs) + cost * intervalMs, latestMs);
    },
  };
};

/** Creates one table per limit. */
export const createLimiter = (settings: LimitSettings, rates?: SharedRates) => {
  const tables = Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => [name, createRateTable(name, setting)]),
  ) as Record<LimitName, RateTable>;
  return {
    /** Counts one request. Returns header lines; throws `rate_limited` carrying them in `headers`. */
    take: (limit: LimitName, key: string, nowMs: number) => take(tables[limit], key, nowMs),
    /**
     * Like `take`, over all nodes that share the store. Synchronous without a shared store; throws at once
     * when this node alone has reached the limit.
     */
    takeShared: (limit: LimitName, key: string, nowMs: number) => {
      const table = tables[limit];
      return rates === undefined ? take(table, key, nowMs) : takeShared({ table, rates }, key, nowMs);
    },
  };
};
export type Limiter = ReturnType<typeof createLimiter>;
