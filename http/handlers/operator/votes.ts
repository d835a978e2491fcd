/**
 * Decisions of operators about past votes. Votes on their way are in the ledger first (`engine.flushed`), and
 * the hot store hears of the decision before the answer goes (`engine.deliver`); a crash in between loses
 * nothing, since the ledger's adjustments stay open until they were heard.
 */
import type { EntityKind } from '../../../engine/ids.ts';
import { createValidationError } from '../../response/validation-error.ts';
import { type App, type Reply, replyMessage } from '../../route.ts';
import type { ResetAllBody, ResetBody } from '../../schema/operator.ts';
import { createNotFoundError } from '../convert.ts';
import { notifyAfterCommit } from '../notify-after-commit.ts';
import { parseTimestamp } from './timestamp.ts';

/** A vote still on its way has no itag that anybody could know. */
export const voidVote = async (app: App, itag: string): Promise<Reply> => {
  const outcome = await app.catalogue.operator.votes.voidOne(itag);
  if (outcome.kind === 'unknown_vote') throw createNotFoundError('vote');
  if (outcome.kind !== 'voided') return replyMessage('This vote was void already.');
  await notifyAfterCommit(app.engine.deliverAdjustments(outcome.target.kind, outcome.target.id));
  return replyMessage(`The vote on ${outcome.target.kind} ${outcome.target.id} is void.`);
};

const parseResetTime = (app: App, { before }: ResetBody): number => {
  const nowMs = app.clock.nowMs();
  const atMs = before === undefined ? nowMs : parseTimestamp('/before', before).getTime();
  if (atMs <= nowMs) return atMs;
  throw createValidationError('body', { '/before': 'must not be in the future' });
};

/** All votes of one listing become void, but for immutable ones. */
export const resetListing = async (
  app: App,
  target: { readonly kind: EntityKind; readonly id: string },
  body: ResetBody,
): Promise<Reply> => {
  const { votes } = app.catalogue.operator;
  const id = target.kind === 'pack' ? target.id.toLowerCase() : target.id;
  const atMs = parseResetTime(app, body);
  await app.engine.waitForFlush(target.kind, id);
  const scope = await votes.incarnationOf(target.kind, id);
  if (scope === null) throw createNotFoundError(target.kind);
  await votes.reset({ scope, atMs, reason: 'operator' });
  await notifyAfterCommit(app.engine.deliverAdjustments(target.kind, id));
  return replyMessage(`The votes of ${target.kind} ${id} are void.`, {
    before: new Date(atMs).toISOString(),
  });
};

/** What the monthly job does, at a moment of the operator's: the flusher tells the hot store soon after. */
export const resetAll = async (app: App, body: ResetAllBody): Promise<Reply> => {
  const atMs = parseResetTime(app, body);
  const before = new Date(atMs).toISOString();
  const changed = await app.catalogue.operator.votes.reset({ scope: 'all', atMs, reason: 'monthly_reset' });
  if (changed < 0) return replyMessage('This very reset was made before.', { before });
  return replyMessage(`The votes of ${changed} listings become void.`, { before, listings: String(changed) });
};
