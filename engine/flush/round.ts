/**
 * What of the backlog goes to SQL in one transaction, and why that failed, in words for operators. Pure.
 *
 * The votes of one request are one webhook event, so they must reach SQL together. A full read may end
 * between them; their ids begin with the same time, and the store lists votes by id.
 */

import { StorageError, type StorageReason, toMessage } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Backlog, OutboxVote } from '../ports.ts';

/** Whether the read reached a limit, so that more may wait. */
export const isFull = ({ entities, votes }: Backlog): boolean =>
  entities.length >= limits.flushEntitiesMax || votes.length >= limits.flushVotesMax;

/** Length of the time in the text of a UUID of version 7: 48 bits and a hyphen. */
const timeLength = 13;

const readTime = ({ itag }: OutboxVote): string => itag.slice(0, timeLength);

/**
 * Drops the votes of the last millisecond from a read that is full of votes, and the entities that count
 * them: totals must not reach SQL without the rows of all their votes.
 */
export const takeRound = (backlog: Backlog): Backlog => {
  const last = backlog.votes.at(-1);
  if (last === undefined || backlog.votes.length < limits.flushVotesMax) return backlog;
  const time = readTime(last);
  const votes = backlog.votes.filter((vote) => readTime(vote) !== time);
  if (votes.length === 0) return backlog;
  const dropped = new Set(
    backlog.votes.filter((vote) => readTime(vote) === time).map(({ ref }) => ref.address),
  );
  return { votes, entities: backlog.entities.filter(({ ref }) => !dropped.has(ref.address)) };
};

const reasonMessages: Readonly<Record<StorageReason, string>> = {
  unreachable: 'a store does not answer',
  busy: 'a store is too busy',
  full: 'a store has no room',
  row: 'a row is refused',
  uninitialised: 'the hot store lost its data',
  damaged: 'a store found damaged data',
  outdated: 'the hot store is behind SQL',
  closed: 'the stores are closed',
  bug: 'a store fails for an unknown reason',
};

export const toReason = (error: unknown): StorageReason =>
  error instanceof StorageError ? error.reason : 'bug';

/** Describes a failure for `/readyz`. If the store answered, its own message follows in parentheses. */
export const describeFailure = (error: unknown): string => {
  const message = reasonMessages[toReason(error)];
  return toReason(error) === 'unreachable' ? message : `${message} (${toMessage(error)})`;
};
