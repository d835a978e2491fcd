/**
 * Sends a subscription what it lacks: the newest totals, and the votes after the last one it got.
 *
 * Invariants: the totals of a target never go back within a connection, except after a `reset`; the numbers
 * of the votes and gaps that were sent are dense; nothing is sent to a socket that is full. Votes come from
 * the messages that the target has while it sends them to all, and from the log otherwise.
 */
import { formatCursor } from './cursor.ts';
import { buildFrame, type Frame } from './frames.ts';
import { noCursor } from './requests.ts';
import { type Client, type FeedState, type FeedSubscription, type FeedTarget, feedLimits } from './state.ts';

/** Formats the cursor of a vote; `noCursor` while no client follows the target's votes. */
export const formatPosition = ({ votes }: FeedTarget, number: number): string =>
  votes === null ? noCursor : formatCursor(votes.epoch, number);

/** Sends one message, whatever the socket's state. */
export const sendFrame = (state: FeedState, client: Client, frame: Frame): void =>
  sendText(state, client, { frame, prefix: '' });

export const sendText = (
  { counts }: Pick<FeedState, 'counts'>,
  client: Client,
  { frame, prefix }: { frame: Frame; prefix: string },
): void => {
  const { connection } = client;
  counts.frames[frame.event] = (counts.frames[frame.event] ?? 0) + 1;
  if (!connection.send(prefix + frame.render(connection.kind))) client.isFull = true;
};

/** Renders the `id:` line of an event stream, from which it continues: one cursor per target, in order. */
export const renderEventId = ({ positions }: Client): string => {
  // A WebSocket has none. A stream that has only to come back keeps the id that it has.
  if (positions.length === 0) return '';
  const cursors = positions.map((position) =>
    typeof position === 'string' ? position : formatPosition(position.target, position.number),
  );
  return `id: ${cursors.join(',')}\n`;
};

/** Sends a message that moves a position: an event stream gets its new `id:` with it. */
const sendPosition = (state: FeedState, { client }: FeedSubscription, frame: Frame): void =>
  sendText(state, client, { frame, prefix: renderEventId(client) });

/** Sends what the subscription lacks, until the socket is full. */
export const deliver = (state: FeedState, subscription: FeedSubscription): void => {
  const { client, target } = subscription;
  if (subscription.index === -1) return;
  if (subscription.wantsTotals && subscription.frame !== target.frame) {
    if (client.isFull) state.counts.conflated += 1;
    else deliverTotals(state, subscription);
  }
  if (subscription.wantsVotes && !client.isFull) deliverVotes(state, subscription);
};

const deliverTotals = (state: FeedState, subscription: FeedSubscription): void => {
  const { client, target } = subscription;
  if (target.frame === null) return;
  if (subscription.restarts !== target.restarts) {
    subscription.restarts = target.restarts;
    sendFrame(state, client, buildFrame('reset', { target: target.key, channel: 'totals' }));
    if (client.isFull) return;
  }
  subscription.frame = target.frame;
  sendFrame(state, client, target.frame);
};

/** Sends votes while the socket has room; those that the target no longer has are read first. */
const deliverVotes = (state: FeedState, subscription: FeedSubscription): void => {
  const { client, target } = subscription;
  const { votes } = target;
  if (votes === null || subscription.isCatchingUp) return;
  if (subscription.voteRestarts !== votes.restarts) sendVoteReset(state, subscription);
  while (subscription.number < votes.head && !client.isFull) {
    if (votes.head - subscription.number > feedLimits.votesBehindMax) {
      sendGap(state, subscription, votes.head);
      state.counts.gaps.behind += 1;
      return;
    }
    const frame = votes.recent[subscription.number + 1 - votes.recentFrom];
    // What a target keeps for all its clients says nothing about voters.
    if (frame === undefined || subscription.wantsVoter) {
      state.catchUp(subscription);
      return;
    }
    sendVote(state, subscription, frame);
  }
};

const sendVote = (state: FeedState, subscription: FeedSubscription, frame: Frame): void => {
  subscription.number += 1;
  sendPosition(state, subscription, frame);
};

const sendGap = (state: FeedState, subscription: FeedSubscription, toNumber: number): void => {
  const { target, number } = subscription;
  const log = `/${target.key}/votes/log?after=${formatPosition(target, number)}`;
  subscription.number = toNumber;
  const cursor = formatPosition(target, toNumber);
  const gap = { target: target.key, from_number: number + 1, to_number: toNumber, cursor, log };
  sendPosition(state, subscription, buildFrame('gap', gap));
};

/** Reports that the log began again: an older SQL was restored, or the id was listed again. */
const sendVoteReset = (state: FeedState, subscription: FeedSubscription): void => {
  const { target } = subscription;
  const { restarts, head } = target.votes ?? { restarts: 0, head: 0 };
  subscription.voteRestarts = restarts;
  subscription.number = head;
  const reset = { target: target.key, channel: 'votes', cursor: formatPosition(target, head) };
  sendPosition(state, subscription, buildFrame('reset', reset));
};

/** Votes of a target by ascending number, as read from its log; `restarts` of the log at that time. */
export interface VoteFrames {
  readonly numbers: readonly number[];
  readonly frames: readonly Frame[];
  readonly restarts: number;
}

/** Sends votes that were read for this subscription, then goes on. Numbers that the log lacks are a gap. */
export const deliverRead = (state: FeedState, subscription: FeedSubscription, read: VoteFrames): void => {
  const { client, target } = subscription;
  const { votes } = target;
  subscription.isCatchingUp = false;
  if (subscription.index === -1 || votes === null || votes.restarts !== read.restarts) return;
  client.connection.cork(() => {
    for (const [index, number] of read.numbers.entries()) {
      if (client.isFull) return;
      if (number <= subscription.number) continue;
      if (number > subscription.number + 1) sendMissing(state, subscription, number - 1);
      sendVote(state, subscription, read.frames[index] as Frame);
    }
    const isBehind = subscription.number < votes.head;
    if (read.numbers.length === 0 && isBehind) sendMissing(state, subscription, votes.head);
    if (!client.isFull) deliverVotes(state, subscription);
  });
};

const sendMissing = (state: FeedState, subscription: FeedSubscription, toNumber: number): void => {
  sendGap(state, subscription, toNumber);
  state.counts.gaps.missing += 1;
};
