/**
 * Schemas of plans: votes that operators void by a query.
 */
import { type Static, Type } from 'typebox';
import { Flag, Sum, Text, Timestamp, toNullable, Uuid } from '../api/shared/common.ts';
import { buildProse } from '../api/shared/fields.ts';
import { signedText } from '../api/shared/patterns.ts';
import { buildList, buildListOf, VotesQuery, voteFields } from './list-schema.ts';

const { target_type, target_id, user, since, before } = VotesQuery.properties;
const buildHash = (description: string) =>
  Type.String({ pattern: signedText, maxLength: 20, description, examples: ['-81985529216486896'] });
const PlanId = Type.String({ ...Uuid, description: 'Id of a plan, as its preview shows it.' });

export const PlanBody = Type.Object({
  target_type,
  target_id,
  user,
  since,
  before,
  address_hash: Type.Optional(buildHash('Only votes from the address with this hash.')),
  network_hash: Type.Optional(buildHash('Only votes from the network with this hash.')),
  flags: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 15,
      description: 'Only votes with one of these flags: their sum.',
    }),
  ),
  reason: Type.Optional(
    Type.String({ ...buildProse(1, 500, 'A farm of accounts.'), description: 'Why, for the audit log.' }),
  ),
  release: Type.Optional(
    Type.Boolean({
      description: 'The voters may vote again at once; else they wait as if their votes still counted.',
    }),
  ),
  plan: Type.Optional(PlanId),
});
export type PlanBody = Static<typeof PlanBody>;

export const PlanParams = Type.Object({ plan: PlanId });

const vote = { ...voteFields, itag: Text };

/** A plan as its own operations show it. */
export const ShownPlan = Type.Object({
  plan: Text,
  state: Text,
  summary: Text,
  reason: Text,
  operator: Text,
  created_at: Timestamp,
  started_at: toNullable(Timestamp),
  undo_until: toNullable(Timestamp),
  query: Type.Record(Type.String(), Type.Unknown()),
  release: Flag,
  votes: Type.Integer({ description: 'How many votes it makes void.' }),
  held: Type.Integer({
    description: 'With those that it only rejects, because a reset or a redeem has made them void.',
  }),
  skipped: Type.Record(Type.String(), Type.Integer(), {
    description: 'What it found besides, by the reason.',
  }),
  done: Type.Integer({ description: 'How many of these the present step has dealt with.' }),
  left_out: Type.Record(Type.String(), Type.Integer(), {
    description: 'How many of these it left as they were, by the reason.',
  }),
  voided: Type.Integer(),
  restored: Type.Integer(),
  listings_total: Type.Integer(),
  listings: Type.Array(
    Type.Object({
      target_type: Text,
      target_id: Text,
      upvotes: Type.Integer(),
      downvotes: Type.Integer(),
      votes_before: Sum,
      votes_after: Sum,
    }),
  ),
  samples: Type.Array(Type.Object(vote)),
});
export const PlanList = buildListOf(
  'plans',
  Type.Pick(ShownPlan, ['plan', 'state', 'votes', 'reason', 'operator', 'created_at']),
);
export const SkippedList = buildList('votes', { ...vote, why: Text });
