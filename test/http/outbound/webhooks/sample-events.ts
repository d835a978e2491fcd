/**
 * Events of webhooks for tests: an ordinary vote, a double downvote by a user with a hostile name, a vote for
 * a server and for a team, a test, a vote that became void, a reset, and what happens to a listing beside
 * votes.
 */
import type {
  ListingEvent,
  TestEvent,
  VoidedEvent,
  VoteEvent,
} from '../../../../http/outbound/webhooks/stored-event.ts';

const user = {
  id: '728871946456137770',
  username: 'robin',
  display_name: 'Robin',
  avatar: 'https://cdn.example.org/avatars/728871946456137770.webp',
};

export const upvote: VoteEvent = {
  type: 'vote.created',
  id: '7ca78cf3-aef0-5a13-9e3a-39c1b3c0fc49',
  timestamp: '2026-03-04T12:00:00.000Z',
  data: {
    epoch: '0-1x',
    number: 1_042,
    itag: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a15',
    vote_ids: ['018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a15'],
    weight: 1,
    upvote: true,
    ref: 'newsletter-7',
    user,
    voter: { times: 41, streak: 7, longest: 12 },
    target: { type: 'bot', id: '815553000470478850', name: 'Lighthouse' },
    votes: 98,
    created_at: '2026-03-04T12:00:00.000Z',
    next_vote_at: '2026-03-05T00:00:00.000Z',
    test: false,
  },
};

export const doubleDownvote: VoteEvent = {
  ...upvote,
  data: {
    ...upvote.data,
    vote_ids: [...upvote.data.vote_ids, '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a16'],
    weight: 2,
    upvote: false,
    user: {
      ...user,
      display_name: '@everyone **[click](https://evil.example)**\n# <@&1> `\u202Eowl\u{1F989}',
    },
  },
};

export const serverVote: VoteEvent = {
  ...upvote,
  data: {
    ...upvote.data,
    weight: 2,
    target: { type: 'server', id: '758641373074423808', name: 'Night owls' },
  },
};

export const teamVote: VoteEvent = {
  ...upvote,
  data: {
    ...upvote.data,
    target: { type: 'team', id: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10', name: 'Keepers' },
  },
};

export const pressedTest: TestEvent = {
  type: 'webhook.test',
  id: '0190d2a4-5b7c-4c11-8f3e-6a1d2c3b4e60',
  timestamp: '2026-03-04T12:00:00.000Z',
  data: {
    webhook_id: '0190d2a4-5b7c-7c11-8f3e-6a1d2c3b4e5f',
    user,
    target: upvote.data.target,
    test: true,
  },
};

export const voided: VoidedEvent = {
  type: 'vote.voided',
  id: '0190d2a4-5b7c-5c11-8f3e-6a1d2c3b4e61',
  timestamp: '2026-03-04T13:00:00.000Z',
  data: {
    epoch: '0-1x',
    number: 1_042,
    reason: 'operator',
    upvotes: 0,
    downvotes: 1,
    vote: {
      itag: upvote.data.itag,
      upvote: false,
      created_at: upvote.data.created_at,
      user: doubleDownvote.data.user,
    },
    before: null,
    target: upvote.data.target,
    votes: 99,
    test: false,
  },
};

export const reset: VoidedEvent = {
  ...voided,
  data: {
    ...voided.data,
    reason: 'monthly_reset',
    upvotes: 120,
    downvotes: 22,
    vote: null,
    before: '2026-03-01T00:00:00.000Z',
    votes: 0,
  },
};

const { id, timestamp } = voided;
const { target } = upvote.data;
export const listingEvents: readonly ListingEvent[] = [
  { type: 'vote.ready', id, timestamp, data: { user, target, test: false } },
  { type: 'listing.updated', id, timestamp, data: { fields: ['extra_links', 'short'], target, test: false } },
  {
    type: 'webhook.disabled',
    id,
    timestamp,
    data: {
      webhook_id: pressedTest.data.webhook_id,
      name: 'my *old* one',
      reason: 'gone',
      target,
      test: false,
    },
  },
];
