/**
 * Schemas of votes (contract §2.11, §2.12) and of a user's vote status on an entity.
 */
import { type Static, Type } from 'typebox';
import { Count, Flag, TargetId, TargetType, Text, Timestamp, toNullable, UserId, Uuid } from './common.ts';

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

export const voteExample = {
  author: '728871946456137770',
  created_at: '2026-03-01T12:00:00.000Z',
  credit_redeem: null,
  immutable: false,
  itag: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a15',
  target_id: '815553000470478850',
  target_type: 'bot',
  upvote: true,
  void: false,
  void_reason: '',
  vote_num: 0,
  voided_at: null,
};
export const Vote = Type.Object(
  {
    author: Text,
    created_at: Timestamp,
    credit_redeem: toNullable(Uuid),
    immutable: Flag,
    itag: Uuid,
    target_id: Text,
    target_type: Text,
    upvote: Flag,
    void: Flag,
    void_reason: Type.String({ description: '`monthly_reset`, `operator`, `redeemed`, `deleted` or empty.' }),
    vote_num: Type.Integer({ minimum: 0, description: 'Number of the vote within its request, from 0.' }),
    voided_at: toNullable(Timestamp),
  },
  { examples: [voteExample] },
);
export type Vote = Static<typeof Vote>;

export const voteInfoExample = {
  multiple_votes: true,
  per_user: 1,
  supports_downvotes: true,
  supports_partial_vote_credits_redeem: true,
  supports_upvotes: true,
  vote_credits: true,
  vote_time: 12,
};
export const VoteInfo = Type.Object(
  {
    multiple_votes: Type.Boolean({ description: 'Whether a user may vote again after a wait.' }),
    per_user: Type.Integer({ minimum: 1, description: 'How many votes one request counts for.' }),
    supports_downvotes: Flag,
    supports_partial_vote_credits_redeem: Flag,
    supports_upvotes: Flag,
    vote_credits: Type.Boolean({ description: 'Whether votes can be redeemed as credits.' }),
    vote_time: Type.Integer({
      minimum: 0,
      maximum: 65_535,
      description: 'How long a user waits between votes, in hours.',
    }),
  },
  { examples: [voteInfoExample] },
);
export type VoteInfo = Static<typeof VoteInfo>;

export const Wait = Type.Object({ hours: Count, minutes: Count, seconds: Count });
export type Wait = Static<typeof Wait>;

export const VoteStatusReply = Type.Object(
  {
    has_voted: Type.Boolean({ description: 'Whether the user has to wait before the next vote.' }),
    valid_votes: Type.Array(Vote),
    vote_info: VoteInfo,
    wait: Wait,
  },
  {
    examples: [
      {
        has_voted: true,
        valid_votes: [voteExample],
        vote_info: voteInfoExample,
        wait: { hours: 11, minutes: 59, seconds: 30 },
      },
    ],
  },
);
export type VoteStatusReply = Static<typeof VoteStatusReply>;

export const VoterList = Type.Array(Type.String(), {
  description: 'Ids of users with a valid vote, newest first.',
  examples: [['728871946456137770']],
});
