/**
 * Shows positions, and shows and sends a user's applications. The rules are in engine/rules/applications.ts;
 * the transaction that writes an application applies them.
 */
import { DomainError } from '../../engine/errors.ts';
import { botQuestion, findBotRule } from '../../engine/rules/applications.ts';
import { toWaitParts, toWaitSeconds } from '../../engine/rules/waits.ts';
import type {
  AppOutcome,
  AppRow,
  BotCounts,
  PositionRow,
} from '../../storage/catalogue/content/applications.ts';
import { createValidationError, escapePointer } from '../response/validation-error.ts';
import { type App, noContent, type Reply, replyOk } from '../route.ts';
import type { Application, ApplicationBody, ApplicationMeta, Position } from '../schema/applications.ts';
import { toTimestamp, toUser } from './convert.ts';
import { replySnapshot } from './lists.ts';

const toPosition = (row: PositionRow): Position => ({
  closed: row.closed,
  cooldown: row.cooldown_hours,
  hidden: row.hidden,
  id: row.id,
  info: row.info,
  name: row.name,
  questions: [...row.questions],
  tags: [...row.tags],
});

/** `GET /apps/meta`. */
export const showPositions = async (app: App): Promise<Reply> => {
  const positions = await app.catalogue.applications.listPositions();
  return replySnapshot(
    positions,
    (): ApplicationMeta => ({ positions: positions.rows.map(toPosition), stable: true }),
  );
};

const toApplication = (row: AppRow): Application => ({
  answers: { ...row.answers },
  app_id: row.app_id,
  created_at: toTimestamp(row.created_at),
  position: row.position,
  questions: [...row.questions],
  review_feedback: row.review_feedback,
  state: row.state,
  user: toUser(row.person, { id: row.user_id, bot: false }),
  user_id: row.user_id,
});

/** `GET /users/{user_id}/apps`: newest first. */
export const showApplications = async (app: App, userId: string): Promise<Reply> => {
  const rows = await app.catalogue.applications.listOfUser(userId);
  return replyOk({ apps: rows.map(toApplication) });
};

const toPointer = (id: string): string => `/answers/${escapePointer(id)}`;
const createAnswersError = (faults: Readonly<Record<string, string>>): DomainError =>
  createValidationError(
    'body',
    Object.fromEntries(Object.entries(faults).map(([id, fault]) => [toPointer(id), fault])),
  );

const createWaitError = (waitMs: number): DomainError => {
  const { hours, minutes, seconds } = toWaitParts(waitMs);
  return new DomainError(
    'application_wait',
    `You can apply for this position again in ${hours} h ${minutes} min ${seconds} s.`,
    { hours: String(hours), minutes: String(minutes), seconds: String(seconds) },
    Math.max(1, toWaitSeconds(waitMs)),
  );
};

const toApplicationError = (outcome: Exclude<AppOutcome, { kind: 'sent' }>): DomainError => {
  switch (outcome.kind) {
    case 'banned':
      return new DomainError('banned', 'You are banned, so you can apply only for the position "banappeal".');
    case 'no_position':
      return createValidationError('body', {
        '/position': 'must be the id of a position (see GET /apps/meta)',
      });
    case 'faulty':
      return createAnswersError(outcome.faults);
    case 'no_bot':
      return createAnswersError({ [botQuestion]: 'must be the id of a bot that is in this directory' });
    case 'permission_missing': {
      const { permission } = outcome;
      return new DomainError('permission_missing', `You need the permission ${permission} on the bot.`, {
        permission,
      });
    }
    case 'closed':
      return new DomainError('position_closed', 'This position does not accept applications now.');
    case 'not_eligible':
      return new DomainError('bot_not_eligible', 'This bot does not meet the conditions yet.', {
        ...outcome.lacking,
      });
    case 'pending':
      return new DomainError('already_exists', 'You already have a pending application for this position.');
    case 'wait':
      return createWaitError(outcome.waitMs);
  }
};

/** Reads the counters of the bot that an application is about; `null` if there is no such bot. */
const readBotCounts = async (app: App, { position, answers }: ApplicationBody): Promise<BotCounts | null> => {
  const botId = findBotRule(position) === null ? '' : (answers[botQuestion] ?? '').trim();
  if (!/^[\w-]{1,128}$/.test(botId)) return null;
  try {
    const { servers, uniqueClicks } = (await app.engine.read('bot', botId)).state;
    return { servers, uniqueClicks };
  } catch (error) {
    if (error instanceof DomainError && error.code === 'not_found') return null;
    throw error;
  }
};

/** `POST /users/{user_id}/apps`. *Ledger* when it resolves. */
export const sendApplication = async (app: App, userId: string, body: ApplicationBody): Promise<Reply> => {
  const { position, answers } = body;
  const counts = await readBotCounts(app, body);
  const outcome = await app.catalogue.applications.send({ userId, position, answers, counts });
  if (outcome.kind !== 'sent') throw toApplicationError(outcome);
  return noContent;
};
