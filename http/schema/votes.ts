/**
 * Schemas of votes (contract §2.11, §2.12) and of a user's vote status on an entity.
 */
import { type Static, Type } from 'typebox';
import {
  buildCount,
  buildText,
  Flag,
  TargetId,
  TargetType,
  Timestamp,
  TrueFlag,
  toNullable,
  UserId,
  Uuid,
} from './common.ts';
import { buildObject } from './example.ts';

export const UserVotesParams = Type.Object({
  uid: UserId,
  target_type: TargetType,
  target_id: TargetId,
});
export const TargetVotesParams = Type.Object({ target_type: TargetType, target_id: TargetId });

export const VoteQuery = Type.Object({
  upvote: Type.Enum(['true', 'false'], {
    description: '`true` votes up, `false` down.',
    examples: ['true'],
  }),
});

export const Vote = buildObject({
  author: buildText('728871946456137770'),
  created_at: Timestamp,
  credit_redeem: toNullable(Uuid),
  immutable: Flag,
  itag: Uuid,
  target_id: buildText('815553000470478850'),
  target_type: buildText('bot'),
  upvote: TrueFlag,
  void: Flag,
  void_reason: Type.String({ description: '`monthly_reset`, `operator`, `redeemed`, `deleted` or empty.' }),
  vote_num: Type.Integer({ minimum: 0, description: 'Number of the vote within its request, from 0.' }),
  voided_at: toNullable(Timestamp),
});
export type Vote = Static<typeof Vote>;

export const VoteInfo = buildObject({
  multiple_votes: Type.Boolean({
    description: 'Whether a user may vote again after a wait.',
    examples: [true],
  }),
  per_user: Type.Integer({
    minimum: 1,
    description: 'How many votes one request counts for.',
    examples: [1],
  }),
  supports_downvotes: TrueFlag,
  supports_partial_vote_credits_redeem: TrueFlag,
  supports_upvotes: TrueFlag,
  vote_credits: Type.Boolean({
    description: 'Whether votes can be redeemed as credits.',
    examples: [true],
  }),
  vote_time: Type.Integer({
    minimum: 0,
    maximum: 65_535,
    description: 'How long a user waits between votes, in hours.',
    examples: [12],
  }),
});
export type VoteInfo = Static<typeof VoteInfo>;

export const Wait = buildObject({ hours: buildCount(11), minutes: buildCount(59), seconds: buildCount(30) });
export type Wait = Static<typeof Wait>;

export const VoteStatusReply = buildObject({
  has_voted: Type.Boolean({
    description: 'Whether the user has to wait before the next vote.',
    examples: [true],
  }),
  valid_votes: Type.Array(Vote),
  vote_info: VoteInfo,
  wait: Wait,
});
export type VoteStatusReply = Static<typeof VoteStatusReply>;

export const VoterList = Type.Array(Type.String(), {
  description: 'Ids of users with a valid vote, newest first.',
  examples: [['728871946456137770']],
});
