/**
 * The kinds of records for the operator's content: credit tiers, the shop, the blog, positions with their
 * applications, reserved names. The limits equal those of the operator's own operations. Part of the table of
 * record kinds (kinds.ts).
 */
import Type from 'typebox';
import { canRequest, type Question } from '../../engine/rules/applications.ts';
import {
  type AnyRecord,
  cents,
  createChoice,
  createInteger,
  createJson,
  createList,
  createName,
  createObjectSchema,
  createPattern,
  createTags,
  createText,
  flag,
  hours,
  id,
  makeOptional,
  names,
  putInColumn,
  readFields,
  slug,
  time,
  uuid,
} from './fields.ts';
import { created, defineKind, getCreation, type RecordOf } from './spec.ts';

/* ------------------------------------------------------- the operator's content */

const sort = createChoice(['bot', 'server']);
const targetTypes = makeOptional(createList(sort, 2));
/** When a row of the shop was written, and by which user, if any. */
const history = {
  created_by: makeOptional(id),
  updated_by: makeOptional(id),
  ...created,
  last_updated: makeOptional(time, getCreation),
};

const questionFields = {
  id: slug,
  question: createText(1, 300),
  paragraph: makeOptional(createText(0, 2_000)),
  placeholder: makeOptional(createText(0, 300)),
  short: makeOptional(flag),
};
type QuestionRecord = RecordOf<typeof questionFields>;
const fillQuestion = (question: QuestionRecord): Question => ({
  ...{ short: false, paragraph: '', placeholder: '' },
  ...question,
});
const questions = createJson(Type.Array(createObjectSchema(questionFields), { minItems: 1, maxItems: 50 }), {
  toCell: (given: QuestionRecord[]) => JSON.stringify(given.map(fillQuestion)),
  fromCell: (given: AnyRecord[]) => given.map((question) => readFields(questionFields, question)),
});

const tier = defineKind('tier', {
  table: 'vote_credit_tiers',
  key: 'id',
  fields: {
    id: slug,
    target_type: sort,
    position: createInteger(0, 1_000_000),
    votes: createInteger(1, 1_000_000_000_000),
    cents: createInteger(0, 1_000_000),
    ...created,
  },
});

const benefit = defineKind('benefit', {
  table: 'shop_benefits',
  key: 'id',
  fields: {
    id: slug,
    name: createName(1, 100),
    description: makeOptional(createText(0, 2_000)),
    target_types: targetTypes,
    ...history,
  },
});

const item = defineKind('item', {
  table: 'shop_items',
  key: 'id',
  fields: {
    id: slug,
    name: createName(1, 100),
    cents,
    description: makeOptional(createText(0, 2_000)),
    duration: makeOptional(putInColumn('duration_hours', hours)),
    benefits: makeOptional(names),
    target_types: targetTypes,
    ...history,
  },
  listReferences: ({ benefits = [] }) => benefits.map((name) => ['benefit', name]),
});

const coupon = defineKind('coupon', {
  table: 'shop_coupons',
  key: 'id',
  fields: {
    id: slug,
    code: createText(1, 64),
    cents,
    public: makeOptional(flag),
    usable: makeOptional(flag, true),
    expiry: makeOptional(putInColumn('expiry_hours', hours)),
    max_uses: makeOptional(createInteger(0, 2_147_483_647)),
    reuse_wait_duration: makeOptional(putInColumn('reuse_wait_hours', hours)),
    allowed_users: makeOptional(names),
    applicable_items: makeOptional(names),
    requirements: makeOptional(names),
    target_types: targetTypes,
    ...history,
  },
  listReferences: ({ applicable_items = [] }) => applicable_items.map((name) => ['item', name]),
});

const post = defineKind('post', {
  table: 'blog_posts',
  key: 'slug',
  fields: {
    slug: createPattern(/^[a-z0-9_-]{1,64}$/, 'must be 1 to 64 characters of a-z, 0-9, "-" and "_"'),
    title: createText(1, 200),
    content: createText(1, 200_000),
    description: makeOptional(createText(0, 500)),
    tags: makeOptional(createTags(0)),
    draft: makeOptional(flag),
    author: putInColumn('author_id', id),
    ...created,
  },
});

const position = defineKind('position', {
  table: 'app_positions',
  key: 'id',
  fields: {
    id: slug,
    name: createName(1, 100),
    ordinal: makeOptional(createInteger(0, 1_000_000)),
    info: makeOptional(createText(0, 4_000)),
    tags: makeOptional(names),
    closed: makeOptional(flag),
    hidden: makeOptional(flag),
    cooldown: makeOptional(putInColumn('cooldown_hours', hours)),
    questions,
  },
  findContradiction: (record) =>
    canRequest(record.id, record.questions.map(fillQuestion))
      ? null
      : 'questions must have a short question with the id bot_id: this position is about a bot',
});

const application = defineKind('application', {
  table: 'apps',
  key: 'app_id',
  fields: {
    app_id: uuid,
    user_id: id,
    position: slug,
    questions,
    answers: createJson(Type.Record(Type.String(), createText(0, 10_000).schema)),
    state: createChoice(['pending', 'approved', 'denied']),
    review_feedback: makeOptional(createText(0, 4_000)),
    reviewed_at: makeOptional(time),
    created_at: time,
  },
});

const word = defineKind('word', {
  table: 'reserved_words',
  key: 'word',
  fields: { word: createText(2, 32), ...created },
});

/** In the order of their references. */
export const contentKinds = { tier, benefit, item, coupon, post, position, application, word };
