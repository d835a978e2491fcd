/**
 * Schemas of the operator's content: credit tiers, the shop, the blog, positions with their applications, and
 * reserved names. The limits equal those of the operator's own operations.
 */
import Type, { type Static } from 'typebox';
import {
  createChoiceField,
  createPatternField,
  createTagsField,
  createTextField,
  id,
  optional,
  record,
  time,
  uuid,
} from './fields.ts';

export const offerKinds = [
  'tier',
  'benefit',
  'item',
  'coupon',
  'post',
  'position',
  'application',
  'word',
] as const;
export type OfferKind = (typeof offerKinds)[number];

const slug = createPatternField(
  /^[a-z0-9][a-z0-9_-]{0,63}$/,
  'must be 1 to 64 characters of a-z, 0-9, "-" and "_", the first a letter or digit',
);
const flag = optional(Type.Boolean());
const whole = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum });
const hours = optional(whole(0, 876_000));
const cents = Type.Number({ minimum: 0, maximum: 1e12 });
const names = optional(Type.Array(createTextField(1, 128), { maxItems: 200, uniqueItems: true }));
const sort = createChoiceField(['bot', 'server']);
const targetTypes = optional(Type.Array(sort, { maxItems: 2, uniqueItems: true }));
/** When a row of the shop was written, and by which user, if any. */
const history = {
  created_by: optional(id),
  updated_by: optional(id),
  created_at: optional(time),
  last_updated: optional(time),
};

const question = record({
  id: slug,
  question: createTextField(1, 300),
  paragraph: optional(createTextField(0, 2_000)),
  placeholder: optional(createTextField(0, 300)),
  short: flag,
});
const questions = Type.Array(question, { minItems: 1, maxItems: 50 });

export const offerSchemas = {
  tier: record({
    kind: Type.Literal('tier'),
    id: slug,
    target_type: sort,
    position: whole(0, 1_000_000),
    votes: whole(1, 1_000_000_000_000),
    cents: whole(0, 1_000_000),
    created_at: optional(time),
  }),
  benefit: record({
    kind: Type.Literal('benefit'),
    id: slug,
    name: createTextField(1, 100),
    description: optional(createTextField(0, 2_000)),
    target_types: targetTypes,
    ...history,
  }),
  item: record({
    kind: Type.Literal('item'),
    id: slug,
    name: createTextField(1, 100),
    cents,
    description: optional(createTextField(0, 2_000)),
    duration: hours,
    benefits: names,
    target_types: targetTypes,
    ...history,
  }),
  coupon: record({
    kind: Type.Literal('coupon'),
    id: slug,
    code: createTextField(1, 64),
    cents,
    public: flag,
    usable: flag,
    expiry: hours,
    max_uses: optional(whole(0, 2_147_483_647)),
    reuse_wait_duration: hours,
    allowed_users: names,
    applicable_items: names,
    requirements: names,
    target_types: targetTypes,
    ...history,
  }),
  post: record({
    kind: Type.Literal('post'),
    slug: createPatternField(/^[a-z0-9-]{1,64}$/, 'must be 1 to 64 characters of a-z, 0-9 and "-"'),
    title: createTextField(1, 200),
    description: optional(createTextField(0, 500)),
    content: createTextField(1, 200_000),
    tags: optional(createTagsField(0)),
    author: id,
    draft: flag,
    created_at: optional(time),
  }),
  position: record({
    kind: Type.Literal('position'),
    id: slug,
    name: createTextField(1, 100),
    ordinal: optional(whole(0, 1_000_000)),
    info: optional(createTextField(0, 4_000)),
    tags: names,
    questions,
    closed: flag,
    hidden: flag,
    cooldown: hours,
  }),
  application: record({
    kind: Type.Literal('application'),
    app_id: uuid,
    user_id: id,
    position: slug,
    questions,
    answers: Type.Record(Type.String(), createTextField(0, 10_000)),
    state: createChoiceField(['pending', 'approved', 'denied']),
    review_feedback: optional(createTextField(0, 4_000)),
    created_at: time,
    reviewed_at: optional(time),
  }),
  word: record({
    kind: Type.Literal('word'),
    word: createTextField(2, 32),
    created_at: optional(time),
  }),
};

export type OfferRecord = { [Kind in OfferKind]: Static<(typeof offerSchemas)[Kind]> }[OfferKind];
export type OfferOf<Kind extends OfferKind> = Static<(typeof offerSchemas)[Kind]>;

export const isOffer = (record: { readonly kind: string }): record is OfferRecord =>
  (offerKinds as readonly string[]).includes(record.kind);
