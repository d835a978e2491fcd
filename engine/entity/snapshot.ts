/**
 * Checks every state that enters or leaves a store.
 *
 * The checks throw (an assertion, a bug) and never repair: storing a wrong number is worse than refusing a
 * call. Called when an `init` brings in a row, and by adapters after a load.
 */
import assert from 'node:assert/strict';
import { fields, hasValidFields, isValid } from './fields.ts';
import type { Facts, HotState, Totals } from './state.ts';

/** Builds the message only for a wrong value: this runs for every state that is loaded. */
const checkCounter = (name: string, value: unknown): void => {
  if (!isValid('counter', value)) assert.fail(`${name} is ${value}`);
};

/** Throws unless every field has a value of its kind. */
export const checkTotals = (totals: Totals): void => {
  if (!hasValidFields(totals)) {
    const wrong = fields.find(({ name, kind }) => !isValid(kind, totals[name]));
    assert.fail(`${wrong?.name} is ${wrong && totals[wrong.name]}`);
  }
  const { uptime, totalUptime } = totals;
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
