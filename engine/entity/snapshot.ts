/**
 * Checks every state that enters or leaves a store.
 *
 * The checks throw (an assertion, a bug) and never repair: storing a wrong number is worse than refusing a
 * call. Called when an `init` brings in a row, and by adapters after a load.
 */
import assert from 'node:assert/strict';
import type { Facts, HotState, Totals } from './state.ts';
import { presenceStatuses } from './state.ts';

const counters = [
  'clicks',
  'uniqueClicks',
  'inviteClicks',
  'upvotes',
  'downvotes',
  'lastStatsPostMs',
  'uptime',
  'totalUptime',
  'uptimeCheckedMs',
  'releasedBeforeMs',
  'adjustment',
] as const satisfies readonly (keyof Totals)[];

const posted = ['servers', 'shards', 'users'] as const satisfies readonly (keyof Totals)[];

const isCounter = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const digits = /^\d{1,20}$/;
const isDigits = (value: unknown): boolean => typeof value === 'string' && digits.test(value);

/** Builds the message only for a wrong value: this runs for every state that is loaded. */
const checkCounter = (name: string, value: unknown): void => {
  if (!isCounter(value)) assert.fail(`${name} is ${value}`);
};

/** Field by field for speed, because every loaded state passes here; `checkTotals` finds the wrong field. */
const hasValidCounters = (totals: Totals): boolean =>
  isCounter(totals.clicks) &&
  isCounter(totals.uniqueClicks) &&
  isCounter(totals.inviteClicks) &&
  isCounter(totals.upvotes) &&
  isCounter(totals.downvotes) &&
  isCounter(totals.lastStatsPostMs) &&
  isCounter(totals.uptime) &&
  isCounter(totals.totalUptime) &&
  isCounter(totals.uptimeCheckedMs) &&
  isCounter(totals.releasedBeforeMs) &&
  isCounter(totals.adjustment);

/** Throws unless all counters are safe integers ≥ 0 and all posted values are valid for a post. */
export const checkTotals = (totals: Totals): void => {
  if (!hasValidCounters(totals)) for (const name of counters) checkCounter(name, totals[name]);
  if (!isDigits(totals.servers) || !isDigits(totals.shards) || !isDigits(totals.users)) {
    for (const name of posted) if (!isDigits(totals[name])) assert.fail(`${name} is ${totals[name]}`);
  }
  if (typeof totals.shardList !== 'string') assert.fail('shardList is not text');
  const { status, uptime, totalUptime } = totals;
  if (status !== '' && !presenceStatuses.includes(status)) assert.fail(`status is ${status}`);
  if (uptime > totalUptime) assert.fail(`uptime ${uptime} of ${totalUptime} checks`);
};

/** Throws unless revision and times are safe integers ≥ 0. */
export const checkFacts = (facts: Facts): void => {
  checkCounter('facts revision', facts.revision);
  checkCounter('premiumUntilMs', facts.premiumUntilMs);
  checkCounter('listedSinceMs', facts.listedSinceMs);
};

/** Throws unless totals, facts, flushed votes and version are valid. */
export const checkState = (state: HotState): void => {
  checkTotals(state);
  checkFacts(state.facts);
  if (!Number.isSafeInteger(state.flushedVotes)) assert.fail(`flushedVotes is ${state.flushedVotes}`);
  checkCounter('version', state.version);
};
