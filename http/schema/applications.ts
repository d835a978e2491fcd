/**
 * Schemas of positions and applications (contract §2.18, §4.6).
 */
import { type Static, Type } from 'typebox';
import { plainText } from '../request/patterns.ts';
import { Flag, Text, TextList, Timestamp, User, UserId, Uuid, userExample } from './common.ts';

export const ApplicationsParams = Type.Object({ user_id: UserId });

export const Question = Type.Object({
  id: Text,
  paragraph: Type.String({ description: 'Explains the question.' }),
  placeholder: Text,
  question: Text,
  short: Type.Boolean({
    description: 'If true, an answer has at most 4,096 characters; if false, 50 to 10,000.',
  }),
});

const questionExample = {
  id: 'motivation',
  paragraph: 'Tell us what draws you to this and what you hope to change.',
  placeholder: 'I want to join because …',
  question: 'Why do you want to join the staff?',
  short: false,
};
const positionExample = {
  closed: false,
  cooldown: 48,
  hidden: false,
  id: 'staff',
  info: 'Review new entries, answer people who need help and keep the place friendly.',
  name: 'Staff',
  questions: [questionExample],
  tags: ['Reviews', 'Support'],
};
export const Position = Type.Object({
  closed: Flag,
  cooldown: Type.Integer({ minimum: 0, description: 'Hours between two applications of a user.' }),
  hidden: Type.Boolean({
    description: 'True if menus should not show the position. Users can still apply for it.',
  }),
  id: Text,
  info: Text,
  name: Text,
  questions: Type.Array(Question),
  tags: TextList,
});
export type Position = Static<typeof Position>;

export const ApplicationMeta = Type.Object(
  { positions: Type.Array(Position), stable: Flag },
  { examples: [{ positions: [positionExample], stable: true }] },
);
export type ApplicationMeta = Static<typeof ApplicationMeta>;

const answersExample = {
  motivation: 'I have used this directory for two years and want to help those who come new to it.',
};
const applicationExample = {
  answers: answersExample,
  app_id: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a42',
  created_at: '2026-03-01T12:00:00.000Z',
  position: 'staff',
  questions: [questionExample],
  review_feedback: '',
  state: 'pending',
  user: userExample,
  user_id: userExample.id,
};
export const Application = Type.Object(
  {
    answers: Type.Record(Type.String(), Type.String()),
    app_id: Uuid,
    created_at: Timestamp,
    position: Text,
    questions: Type.Array(Question, {
      description: 'The questions as they were when the application was sent.',
    }),
    review_feedback: Type.String({ description: 'What the reviewer answered; empty until the review.' }),
    state: Type.String({ description: '`pending`, `approved` or `denied`.' }),
    user: User,
    user_id: Text,
  },
  { examples: [applicationExample] },
);
export type Application = Static<typeof Application>;
export const Applications = Type.Object(
  { apps: Type.Array(Application) },
  { examples: [{ apps: [applicationExample] }] },
);

/** Answers to unknown questions are dropped, so a body may have more of them than the position asks. */
const answersMax = 128;

export const ApplicationBody = Type.Object(
  {
    answers: Type.Record(Type.String(), Type.String(), {
      maxProperties: answersMax,
      description: 'Answers by question id. Every question needs one; answers to unknown ids are dropped.',
    }),
    position: Type.String({ minLength: 1, maxLength: 64, pattern: plainText, examples: ['staff'] }),
  },
  { examples: [{ answers: answersExample, position: 'staff' }] },
);
export type ApplicationBody = Static<typeof ApplicationBody>;
