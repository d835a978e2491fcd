/**
 * Schemas of what webhooks send in the format `standard`, by event. Pure.
 */
import { type TProperties, Type } from 'typebox';
import { entityKinds } from '../../../engine/ids.ts';
import {
  buildCount,
  buildFlag,
  buildSum,
  buildText,
  buildTextList,
  Timestamp,
  toNullable,
  Uuid,
  VoterFigures,
} from '../shared/common.ts';
import { buildObject, buildPicture, describe, describeObject } from '../shared/example.ts';

const User = describeObject('A user as they are known when this is sent.', {
  id: buildText('80351110224678912', 'Id of the user.'),
  username: buildText('nelly', 'Name on the platform, may be empty.'),
  display_name: buildText('Nelly', 'Name that is shown, may be empty.'),
  avatar: buildPicture('Address of the picture, may be empty.'),
});

const Target = describeObject('The listing that it is about.', {
  type: Type.Enum([...entityKinds], { description: 'Its kind.', examples: ['bot'] }),
  id: buildText('815553000470478850', 'Its id.'),
  name: buildText('Lantern', 'Its name.'),
});

const counted = {
  epoch: buildText('0-1x', 'Changes when the vote log begins again.'),
  number: buildCount(1_042, 'The last position in the vote log that it is about; of a vote, the first.'),
  votes: buildSum(511, 'Upvotes minus downvotes of the listing after it.'),
};
const vote = {
  itag: describe(Uuid, 'Id of the vote; of a request with several, of its first.'),
  upvote: buildFlag('False for a downvote.', true),
  created_at: describe(Timestamp, 'When the user voted.'),
  user: User,
};

const decision = {
  ...counted,
  reason: buildText('operator', '`operator`, `redeemed` or `monthly_reset`; others may come later.'),
  upvotes: buildCount(1, 'How many upvotes the decision changes.'),
  downvotes: buildCount(0, 'How many downvotes the decision changes.'),
  vote: toNullable(describeObject('A vote.', vote), 'The vote if it was a single one.'),
  before: toNullable(Timestamp, 'Of a reset: all votes before this time became void.'),
};

const buildEvent = (type: string, reported: TProperties, isTest = false) => {
  const only = <Value extends string | boolean>(value: Value, description: string) =>
    Type.Literal(value, { description, examples: [value] });
  const data = { ...reported, target: Target, test: only(isTest, 'Whether this is a test of the webhook.') };
  return buildObject({
    type: only(type, 'What happened.'),
    timestamp: describe(Timestamp, 'When it happened.'),
    data: describeObject('What is reported.', data),
  });
};

const webhookId = describe(Uuid, 'Id of the webhook.');

export const webhookEventSchemas = {
  'vote.created': {
    means: 'A user has voted: one event for each accepted request.',
    body: buildEvent('vote.created', {
      ...counted,
      vote_ids: buildTextList('Ids of all votes of the request.', ['018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10']),
      weight: buildCount(1, 'How many votes the request counted for.'),
      ...vote,
      ref: buildText('newsletter-7', 'What the link that led to the vote said as `ref`; empty for nothing.'),
      voter: describe(VoterFigures, 'What the user had done by this vote.'),
      next_vote_at: describe(Timestamp, 'When the user may vote again, by the rules at that time.'),
    }),
  },
  'vote.voided': {
    means: 'One decision has made votes void.',
    body: buildEvent('vote.voided', decision),
  },
  'vote.restored': {
    means: 'Such a decision was taken back: the votes count again.',
    body: buildEvent('vote.restored', decision),
  },
  'vote.ready': {
    means: 'A user with a reminder may vote again.',
    body: buildEvent('vote.ready', { user: User }),
  },
  'listing.updated': {
    means: 'The profile of the listing was edited.',
    body: buildEvent('listing.updated', { fields: buildTextList('Names of the changed fields.', ['short']) }),
  },
  'webhook.disabled': {
    means: 'Another webhook of the listing was disabled.',
    body: buildEvent('webhook.disabled', {
      webhook_id: webhookId,
      name: buildText('rewards', 'Name of the webhook.'),
      reason: buildText('failing', 'Why.'),
    }),
  },
  'webhook.test': {
    means: 'A user requested a test of the webhook.',
    body: buildEvent('webhook.test', { webhook_id: webhookId, user: User }, true),
  },
};
