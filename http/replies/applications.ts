/**
 * Positions, and applications as users send and see them. The rules are in engine/rules/applications.ts and
 * are applied inside the transaction that writes.
 */
import { DomainError } from '../../engine/errors.ts';
import { botQuestion, botRuleOf } from '../../engine/rules/applications.ts';
import { waitPartsOf, waitSecondsOf } from '../../engine/rules/waits.ts';
import type { AppOutcome, AppRow, Counted, PositionRow } from '../../storage/catalogue/applications.ts';
import { escapePointer, invalid } from '../invalid.ts';
import { type App, noContent, ok, type Reply } from '../route.ts';
import type { Application, ApplicationBody, AppMeta, Position } from '../schema/applications.ts';
import { textOnce } from './lists.ts';
import { timestamp, userOf } from './values.ts';

const positionOf = (row: PositionRow): Position => ({
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
  const positions = await app.catalogue.applications.positions();
  return textOnce(positions, (): AppMeta => ({ positions: positions.rows.map(positionOf), stable: true }));
};

const applicationOf = (row: AppRow): Application => ({
  answers: { ...row.answers },
  app_id: row.app_id,
  created_at: timestamp(row.created_at),
  position: row.position,
  questions: [...row.questions],
  review_feedback: row.review_feedback,
  state: row.state,
  user: userOf(row.person, { id: row.user_id, bot: false }),
  user_id: row.user_id,
});

/** `GET /users/{user_id}/apps`: the newest first. */
export const showApplications = async (app: App, userId: string): Promise<Reply> => {
  const rows = await app.catalogue.applications.ofUser(userId);
  return ok({ apps: rows.map(applicationOf) });
};

const pointerTo = (id: string): string => `/answers/${escapePointer(id)}`;
const faultyAnswers = (faults: Readonly<Record<string, string>>): DomainError =>
  invalid('body', Object.fromEntries(Object.entries(faults).map(([id, words]) => [pointerTo(id), words])));

const waiting = (waitMs: number): DomainError => {
  const { hours, minutes, seconds } = waitPartsOf(waitMs);
  return new DomainError(
    'application_wait',
    `You can apply for this position again in ${hours} h ${minutes} min ${seconds} s.`,
    { hours: String(hours), minutes: String(minutes), seconds: String(seconds) },
    Math.max(1, waitSecondsOf(waitMs)),
  );
};

const refusal = (outcome: Exclude<AppOutcome, { kind: 'sent' }>): DomainError => {
  switch (outcome.kind) {
    case 'banned':
      return new DomainError('banned', 'This user is banned and can apply for "banappeal" only.');
    case 'no_position':
      return invalid('body', { '/position': 'must be the id of a position (see GET /apps/meta)' });
    case 'faulty':
      return faultyAnswers(outcome.faults);
    case 'no_bot':
      return faultyAnswers({ [botQuestion]: 'must be the id of a bot that is in this directory' });
    case 'permission_missing': {
      const { permission } = outcome;
      return new DomainError('permission_missing', `This needs the permission ${permission} on the bot.`, {
        permission,
      });
    }
    case 'closed':
      return new DomainError('position_closed', 'This position takes no applications now.');
    case 'not_eligible':
      return new DomainError('bot_not_eligible', 'This bot does not meet the conditions yet.', {
        ...outcome.lacking,
      });
    case 'pending':
      return new DomainError('already_exists', 'An application of yours for this position is pending.');
    case 'wait':
      return waiting(outcome.waitMs);
  }
};

/** What is counted of the bot an application is about; `null` when it is about none that we have. */
const countedOf = async (app: App, { position, answers }: ApplicationBody): Promise<Counted | null> => {
  const botId = botRuleOf(position) === null ? '' : (answers[botQuestion] ?? '').trim();
  if (!/^[\w-]{1,128}$/.test(botId)) return null;
  try {
    const { servers, uniqueClicks } = (await app.engine.read('bot', botId)).state;
    return { servers, uniqueClicks };
  } catch (error) {
    if (error instanceof DomainError && error.code === 'not_found') return null;
    throw error;
  }
};

/** `POST /users/{user_id}/apps`: in the ledger when it resolves. */
export const sendApplication = async (app: App, userId: string, body: ApplicationBody): Promise<Reply> => {
  const { position, answers } = body;
  const counted = await countedOf(app, body);
  const outcome = await app.catalogue.applications.send({ userId, position, answers, counted });
  if (outcome.kind !== 'sent') throw refusal(outcome);
  return noContent;
};
