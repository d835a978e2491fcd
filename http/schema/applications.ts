/**
 * Schemas of positions and applications (contract §2.18, §4.6).
 */
import { type Static, Type } from 'typebox';
import { plainText } from '../request/patterns.ts';
import { buildFlag, buildText, buildTextList, Timestamp, User, UserId, Uuid } from './common.ts';
import { buildObject, describe } from './example.ts';

export const ApplicationsParams = Type.Object({ user_id: UserId });

export const Question = buildObject({
  id: buildText('motivation', 'Id of the question, by which `answers` names it.'),
  paragraph: Type.String({
    description: 'Explains the question.',
    examples: ['Tell us what draws you to this and what you hope to change.'],
  }),
  placeholder: buildText('I want to join because …', 'What an empty input field shows.'),
  question: buildText('Why do you want to join the staff?', 'The question.'),
  short: Type.Boolean({
    description: 'If true, an answer has at most 4,096 characters; if false, 50 to 10,000.',
  }),
});

export const Position = buildObject({
  closed: buildFlag('Whether it takes no applications now.'),
  cooldown: Type.Integer({
    minimum: 0,
    description: 'Hours between two applications of a user.',
    examples: [48],
  }),
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
export type Position = Static<typeof Position>;

export const ApplicationMeta = buildObject({
  positions: describe(Type.Array(Position), 'All positions, hidden and closed ones too.'),
  stable: buildFlag('Whether applications work as documented: always true.', true),
});
export type ApplicationMeta = Static<typeof ApplicationMeta>;

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
    state: Type.String({ description: '`pending`, `approved` or `denied`.', examples: ['pending'] }),
    user: describe(User, 'The applicant.'),
    user_id: buildText('728871946456137770', 'Id of the applicant.'),
  },
  { answers: answersExample },
);
export type Application = Static<typeof Application>;
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
    position: Type.String({
      minLength: 1,
      maxLength: 64,
      pattern: plainText,
      description: 'Id of the position (see `GET /apps/meta`).',
      examples: ['staff'],
    }),
  },
  { answers: answersExample },
);
export type ApplicationBody = Static<typeof ApplicationBody>;
