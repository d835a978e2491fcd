/**
 * Rules of applications (docs/behaviour/listings.md): who may apply for which position, which answers
 * are valid, which bots are eligible. Pure.
 *
 * The operator defines positions and their questions; three position ids have a meaning here. Two of those
 * are about a bot, which the answer to the question `bot_id` names.
 */
import type { Permission } from './permissions.ts';
import { countCodePoints, measureVisibleLength } from './text.ts';

export interface Question {
  readonly id: string;
  readonly question: string;
  readonly paragraph: string;
  readonly placeholder: string;
  /** The answer is one line; otherwise a paragraph. */
  readonly short: boolean;
}
export type Answers = Readonly<Record<string, string>>;

/** In Unicode code points. The minimum counts what a reader sees (text.ts). */
const answerLengths = {
  short: { min: 1, max: 4_096 },
  paragraph: { min: 50, max: 10_000 },
} as const;

/** The only position that banned users may apply for. */
const appealPosition = 'banappeal';
export const canApply = (banned: boolean, position: string): boolean =>
  !banned || position === appealPosition;

export type ValidatedAnswers =
  | { readonly kind: 'fine'; readonly answers: Answers }
  /** A message for each faulty answer, by the id of its question. */
  | { readonly kind: 'faulty'; readonly faults: Readonly<Record<string, string>> };

const findAnswerFault = (question: Question, answer: string | undefined): string => {
  if (answer === undefined) return 'is missing: every question needs an answer';
  const { min, max } = question.short ? answerLengths.short : answerLengths.paragraph;
  const bounds = `must have ${min} to ${max} characters`;
  const visible = measureVisibleLength(answer, min);
  if (visible === 0) return `must not be blank; ${bounds}`;
  if (visible < min) return `${bounds}, not ${visible}`;
  const length = countCodePoints(answer);
  return length > max ? `${bounds}, not ${length}` : '';
};

/** Checks that every question has an answer of the right length; drops answers to unknown questions. */
export const validateAnswers = (questions: readonly Question[], answers: Answers): ValidatedAnswers => {
  const faults: Record<string, string> = {};
  const valid: Record<string, string> = {};
  for (const question of questions) {
    const answer = Object.hasOwn(answers, question.id) ? answers[question.id] : undefined;
    const fault = findAnswerFault(question, answer);
    if (fault !== '') faults[question.id] = fault;
    else valid[question.id] = answer as string;
  }
  return Object.keys(faults).length === 0 ? { kind: 'fine', answers: valid } : { kind: 'faulty', faults };
};

/** The question whose answer names the bot. */
export const botQuestion = 'bot_id';

/** What the rules need to know about the bot of an application. */
export interface Candidate {
  readonly type: string;
  readonly servers: bigint;
  readonly uniqueClicks: number;
}
export interface BotRule {
  /** The permission that the applicant needs on the bot. */
  readonly permission: Permission;
  /** A message for each requirement that the bot does not meet, by field; empty if it is eligible. */
  readonly listMissing: (bot: Candidate) => Readonly<Record<string, string>>;
}

const certified = { servers: 100n, uniqueClicks: 30 } as const;

const listMissingForCertification = (bot: Candidate): Record<string, string> => {
  const missing: Record<string, string> = {};
  if (bot.type !== 'approved') missing.type = `must be approved, but is ${bot.type}`;
  if (bot.servers < certified.servers) {
    missing.servers = `must be ${certified.servers} or more, but is ${bot.servers}`;
  }
  if (bot.uniqueClicks < certified.uniqueClicks) {
    missing.unique_clicks = `must be ${certified.uniqueClicks} or more, but is ${bot.uniqueClicks}`;
  }
  return missing;
};

const botRules: Readonly<Record<string, BotRule>> = {
  certification: { permission: 'request_bot_certification', listMissing: listMissingForCertification },
  resubmit: {
    permission: 'resubmit_bots',
    listMissing: (bot): Readonly<Record<string, string>> =>
      bot.type === 'denied' ? {} : { type: `must be denied, but is ${bot.type}` },
  },
};

/** Finds the rule of a position that is about a bot; `null` for other positions. */
export const findBotRule = (position: string): BotRule | null =>
  Object.hasOwn(botRules, position) ? (botRules[position] as BotRule) : null;

/** Whether a position may have these questions: one about a bot needs the short question `bot_id`. */
export const canRequest = (position: string, questions: readonly Question[]): boolean =>
  findBotRule(position) === null || questions.some(({ id, short }) => id === botQuestion && short);
