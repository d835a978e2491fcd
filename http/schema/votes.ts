/**
 * Schemas of votes (contract §2.11, §2.12) and of a user's vote status on an entity.
 */
import { type Static, Type } from 'typebox';
import { entityKinds } from '../../engine/ids.ts';
import {
  buildCount,
  buildFlag,
  buildTargetParams,
  buildTargetType,
  buildText,
  TargetId,
  Timestamp,
  toNullable,
  UserId,
  Uuid,
} from './common.ts';
import { buildObject, describe } from './example.ts';

export const UserVotesParams = Type.Object({
  uid: UserId,
  target_type: buildTargetType(entityKinds),
  target_id: TargetId,
});
export const TargetVotesParams = buildTargetParams(entityKinds);

export const VoteQuery = Type.Object({
  upvote: Type.Enum(['true', 'false'], {
    description: '`true` votes up, `false` down.',
    examples: ['true'],
  }),
});

export const Vote = describe(
  buildObject({
    author: buildText('728871946456137770', 'Id of the user who voted.'),
    created_at: describe(Timestamp, 'When the user voted.'),
    credit_redeem: describe(toNullable(Uuid), 'Id of the redeem that used it up; `null`: none did.'),
    immutable: buildFlag('Whether the monthly reset spares it. The operator decides it.'),
    itag: describe(Uuid, 'Id of the vote.'),
    target_id: buildText('815553000470478850', 'Id of the entity that was voted on.'),
    target_type: buildText('bot', '`bot`, `server`, `team` or `pack`.'),
    upvote: buildFlag('`true` for an upvote, `false` for a downvote.', true),
    void: buildFlag('Whether it counts no more: see `void_reason`.'),
    void_reason: Type.String({
      description: '`monthly_reset`, `operator`, `redeemed` or `deleted`; empty for a valid vote.',
      examples: [''],
    }),
    vote_num: Type.Integer({
      minimum: 0,
      description: 'Number of the vote within its request, from 0: one request may count for two votes.',
      examples: [0],
    }),
    voided_at: describe(toNullable(Timestamp), 'When it became void; `null` for a valid vote.'),
  }),
  'A vote of a user on an entity.',
);
export type Vote = Static<typeof Vote>;

const ruleFields = {
  multiple_votes: Type.Boolean({
    description: 'Whether a user may vote again after a wait.',
    examples: [true],
  }),
  per_user: Type.Integer({
    minimum: 1,
    description: 'How many votes one request counts for: 2 on weekends by default, else 1.',
    examples: [1],
  }),
  supports_downvotes: buildFlag('Whether it can be voted down.', true),
  supports_partial_vote_credits_redeem: buildFlag('Whether some of its votes can be redeemed alone.', true),
  supports_upvotes: buildFlag('Whether it can be voted up.', true),
  vote_credits: Type.Boolean({
    description: 'Whether votes can be redeemed as credits.',
    examples: [true],
  }),
  vote_time: Type.Integer({
    minimum: 0,
    maximum: 65_535,
    description: 'How long a user waits between votes, in hours: 4, 6 or 12 by default.',
    examples: [12],
  }),
};
export const VoteInfo = describe(buildObject(ruleFields), 'The rules for votes on an entity, as of now.');
export type VoteInfo = Static<typeof VoteInfo>;

export const Wait = buildObject({
  hours: buildCount(11, 'Whole hours.'),
  minutes: buildCount(59, 'Whole minutes beside the hours, 0 to 59.'),
  seconds: buildCount(30, 'Seconds beside the minutes, rounded up, 0 to 59.'),
});
export type Wait = Static<typeof Wait>;

export const VoteStatusReply = buildObject({
  has_voted: Type.Boolean({
    description: 'Whether the user has to wait before the next vote.',
    examples: [true],
  }),
  valid_votes: describe(Type.Array(Vote), "The user's votes that count, newest first."),
  vote_info: describe(VoteInfo, 'The rules for votes on this entity, as of now.'),
  wait: describe(Wait, 'Time until the user can vote again; all 0 when they can.'),
});
export type VoteStatusReply = Static<typeof VoteStatusReply>;

export const VoterList = Type.Array(Type.String(), {
  description: 'Ids of users with a valid vote, newest first.',
  examples: [['728871946456137770']],
});
