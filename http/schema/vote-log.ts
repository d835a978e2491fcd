/**
 * Schemas of the vote log, which is beyond the contract.
 */
import { type Static, Type } from 'typebox';
import { Flag, Text, Timestamp, Uuid } from './common.ts';
import { describe } from './example.ts';

export const VoteLogQuery = Type.Object({
  after: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description:
        'A cursor of an earlier reply: votes after it follow. Without it the reply has no votes but `head`.',
      examples: ['0-1x.1042'],
    }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000, description: 'Most votes in the reply; 100 if absent.' }),
  ),
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 25,
      description: 'Seconds to wait for a vote when there is none yet; 0 if absent.',
    }),
  ),
});

const loggedVoteExample = {
  number: 1_042,
  itag: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a15',
  author: '728871946456137770',
  upvote: true,
  created_at: '2026-03-01T12:00:00.000Z',
  void: false,
  void_reason: '',
};
export const LoggedVote = Type.Object(
  {
    number: Type.Integer({ minimum: 1, description: 'Position in the log of this listing, without holes.' }),
    itag: describe(Uuid, 'Id of the vote.'),
    author: Type.String({ description: 'Id of the user who voted.' }),
    upvote: describe(Flag, '`true` for an upvote, `false` for a downvote.'),
    created_at: describe(Timestamp, 'When the user voted.'),
    void: Type.Boolean({ description: 'Whether the vote has been voided since.' }),
    void_reason: describe(Text, '`monthly_reset`, `operator`, `redeemed` or `deleted`; empty unless void.'),
  },
  {
    examples: [loggedVoteExample],
  },
);
export type LoggedVote = Static<typeof LoggedVote>;

const cursor = (description: string) => Type.String({ description, examples: ['0-1x.1042'] });

export const VoteLogReply = Type.Object(
  {
    results: describe(Type.Array(LoggedVote), 'The votes after the cursor, oldest first.'),
    epoch: Type.String({ description: 'Changes when the log begins again; part of every cursor.' }),
    next: cursor('Send it as `after` to continue.'),
    head: cursor('Cursor of the newest vote.'),
    oldest: cursor('Cursor before the first vote.'),
  },
  {
    examples: [
      {
        results: [loggedVoteExample],
        epoch: '0-1x',
        next: '0-1x.1042',
        head: '0-1x.1042',
        oldest: '0-1x.0',
      },
    ],
  },
);
export type VoteLogReply = Static<typeof VoteLogReply>;
