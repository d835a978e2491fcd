/**
 * Applications (contract §2.18, §4.6): the positions, and a user's own applications. Banned users may use
 * them, because the appeal against a ban is an application. The rules are in engine/rules/applications.ts;
 * the transaction that writes an application applies them.
 */
import { type Static, Type } from 'typebox';
import { DomainError } from '../../engine/errors.ts';
import { botQuestion, findBotRule } from '../../engine/rules/applications.ts';
import type {
  AppOutcome,
  AppRow,
  BotCounts,
  PositionRow,
} from '../../storage/catalogue/content/applications.ts';
import type { App } from '../app.ts';
import type { Auth } from '../auth/auth.ts';
import { createValidationError, createWaitError, escapePointer, isNotFound } from '../response/errors.ts';
import { noContent, replyOk, showRow } from '../response/reply.ts';
import { definePublicRoute, defineRoute, defineRoutes } from '../route.ts';
import {
  buildCount,
  buildFlag,
  buildName,
  buildText,
  buildTextList,
  Timestamp,
  User,
  UserId,
  Uuid,
} from './shared/common.ts';
import { replySnapshot, toUser } from './shared/convert.ts';
import { buildObject, describe } from './shared/example.ts';
import { markReplayed, readOnce, requireOutcome } from './shared/once.ts';

export const ApplicationsParams = Type.Object({ user_id: UserId });

export const Question = buildObject({
  id: buildText('motivation', 'Id of the question, by which `answers` names it.'),
  paragraph: buildText(
    'Tell us what draws you to this and what you hope to change.',
    'Explains the question.',
  ),
  placeholder: buildText('I want to join because …', 'What an empty input field shows.'),
  question: buildText('Why do you want to join the staff?', 'The question.'),
  short: Type.Boolean({
    description: 'If true, an answer has at most 4,096 characters; if false, 50 to 10,000.',
  }),
});

export const Position = buildObject({
  closed: buildFlag('Whether it takes no applications now.'),
  cooldown: buildCount(48, 'Hours between two applications of a user.'),
  hidden: Type.Boolean({
    description: 'True if menus should not show the position. Users can still apply for it.',
  }),
  id: buildText('staff', 'Id of the position.'),
  info: buildText(
    'Review new entries, answer people who need help and keep the place friendly.',
    'What the position is about.',
  ),
  name: buildText('Staff', 'Name of the position.'),
  questions: describe(Type.Array(Question), 'The questions to answer, in their order.'),
  tags: buildTextList('Words that describe the position.', ['Reviews', 'Support']),
});

export const ApplicationMeta = buildObject({
  positions: describe(Type.Array(Position), 'All positions, hidden and closed ones too.'),
  stable: buildFlag('Whether applications work as documented: always true.', true),
});

const answersExample = {
  motivation: 'I have used this directory for two years and want to help those who come new to it.',
};

export const Application = buildObject(
  {
    answers: Type.Record(Type.String(), Type.String(), { description: 'The answers, by question id.' }),
    app_id: describe(Uuid, 'Id of the application.'),
    created_at: describe(Timestamp, 'When it was sent.'),
    position: buildText('staff', 'Id of the position.'),
    questions: Type.Array(Question, {
      description: 'The questions as they were when the application was sent.',
    }),
    review_feedback: Type.String({ description: 'What the reviewer answered; empty until the review.' }),
    state: buildText('pending', '`pending`, `approved` or `denied`.'),
    user: describe(User, 'The applicant.'),
    user_id: buildText('728871946456137770', 'Id of the applicant.'),
  },
  { answers: answersExample },
);

export const Applications = buildObject({
  apps: describe(Type.Array(Application), 'The 200 newest applications of the user, newest first.'),
});

/** Answers to unknown questions are dropped, so a body may have more of them than the position asks. */
const answersMax = 128;

export const ApplicationBody = buildObject(
  {
    answers: Type.Record(Type.String(), Type.String(), {
      maxProperties: answersMax,
      description: 'Answers by question id. Every question needs one; answers to unknown ids are dropped.',
    }),
    position: buildName(64, 'Id of the position (see `GET /apps/meta`).', 'staff'),
  },
  { answers: answersExample },
);
export type ApplicationBody = Static<typeof ApplicationBody>;
const ownAuth: Auth = { kind: 'self', user: 'user_id' };

export const applicationRoutes = defineRoutes('Applications', [
  definePublicRoute('getPositions', 'GET /apps/meta', {
    summary: 'List positions',
    description: 'All positions that users can apply for, with their questions; hidden and closed ones too.',
    caching: 'list',
    replies: { 200: ApplicationMeta },
    handle: async (app) => {
      const positions = await app.catalogue.applications.listPositions();
      return replySnapshot(positions, () => ({ positions: positions.rows.map(toPosition), stable: true }));
    },
  }),
  defineRoute('listApplications', 'GET /users/{user_id}/apps', {
    summary: "List a user's applications",
    description:
      'The 200 newest applications of the user, newest first, each with the questions as they were.',
    auth: ownAuth,
    bannedAllowed: true,
    params: ApplicationsParams,
    replies: { 200: Applications },
    handle: async (app, { params }) => {
      const rows = await app.catalogue.applications.listOfUser(params.user_id);
      return replyOk({ apps: rows.map(toApplication) });
    },
  }),
  defineRoute('createApplication', 'POST /users/{user_id}/apps', {
    keyed: true,
    summary: 'Apply for a position',
    description:
      'A user can have one pending application per position; `cooldown` hours must pass between two. ' +
      'The positions `certification` and `resubmit` are about a bot: the answer to `bot_id` must be ' +
      'its id.',
    auth: ownAuth,
    bannedAllowed: true,
    params: ApplicationsParams,
    body: ApplicationBody,
    replies: { 204: null },
    errors: [
      'permission_missing',
      'position_closed',
      'bot_not_eligible',
      'already_exists',
      'application_wait',
    ],
    handle: async (app, request) => {
      const { position, answers } = request.body;
      const counts = await readBotCounts(app, request.body);
      const sent = { userId: request.params.user_id, position, answers, counts };
      const outcome = requireOutcome(
        await app.catalogue.applications.send(sent, readOnce('createApplication', request)),
      );
      if (outcome.kind !== 'sent') throw toApplicationError(outcome);
      return markReplayed(outcome, noContent);
    },
  }),
]);

const toPosition = (row: PositionRow) => showRow(Position, row, { cooldown: row.cooldown_hours });

const toApplication = (row: AppRow) =>
  showRow(Application, row, { user: toUser(row.person, { id: row.user_id, bot: false }) });

const toPointer = (id: string): string => `/answers/${escapePointer(id)}`;

const createAnswersError = (faults: Readonly<Record<string, string>>): DomainError =>
  createValidationError(
    'body',
    Object.fromEntries(Object.entries(faults).map(([id, fault]) => [toPointer(id), fault])),
  );

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
      return createWaitError('application_wait', 'apply for this position again', outcome.waitMs);
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
    if (isNotFound(error)) return null;
    throw error;
  }
};
