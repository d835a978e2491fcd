/**
 * Carries out what operators decide about past votes. Pending votes are flushed to the ledger first
 * (`engine.waitForFlush`), and the hot store gets the decision before the reply
 * (`engine.deliverAdjustments`). A crash in between loses nothing: an adjustment stays open in the ledger
 * until the hot store has applied it.
 */
import type { Target } from '../../engine/ids.ts';
import type { App } from '../app.ts';
import { createNotFoundError, createValidationError, requireFound } from '../response/errors.ts';
import { type Reply, replyMessage } from '../response/reply.ts';
import type { ResetAllBody, ResetBody } from './schema.ts';

/** Voids one vote. It needs no flush: no client knows the itag of a vote that is not in the ledger yet. */
export const voidVote = async (app: App, itag: string): Promise<Reply> => {
  const outcome = await app.catalogue.operator.votes.voidOne(itag);
  if (outcome.kind === 'unknown_vote') throw createNotFoundError('vote');
  if (outcome.kind !== 'voided')
    return replyMessage('This vote was already void. It does not count for its voter either.');
  await app.engine.deliverAdjustments(outcome.target.kind, outcome.target.id);
  return replyMessage(`The vote on ${outcome.target.kind} ${outcome.target.id} is void.`);
};

export const parseResetTime = (app: App, { before }: ResetBody): number => {
  const nowMs = app.clock.nowMs();
  const atMs = before === undefined ? nowMs : Date.parse(before);
  if (atMs <= nowMs) return atMs;
  throw createValidationError('body', { '/before': 'must not be in the future' });
};

/** Voids all votes of one listing, except immutable ones. */
export const resetListing = async (app: App, { kind, id }: Target, body: ResetBody): Promise<Reply> => {
  const { votes } = app.catalogue.operator;
  const atMs = parseResetTime(app, body);
  await app.engine.waitForFlush(kind, id);
  const scope = requireFound(await votes.findIncarnation({ kind, id }), kind);
  await votes.reset({ scope, atMs, reason: 'operator' });
  await app.engine.deliverAdjustments(kind, id);
  return replyMessage(`The votes of ${kind} ${id} are void.`, {
    before: new Date(atMs).toISOString(),
  });
};

/** Does the monthly reset on request. The flusher delivers the adjustments to the hot store soon after. */
export const resetAll = async (app: App, body: ResetAllBody): Promise<Reply> => {
  const atMs = parseResetTime(app, body);
  const before = new Date(atMs).toISOString();
  const changed = await app.catalogue.operator.votes.reset({ scope: 'all', atMs, reason: 'monthly_reset' });
  if (changed < 0) return replyMessage('This reset was already made.', { before });
  return replyMessage(`The votes of ${changed} listings become void.`, { before, listings: String(changed) });
};
