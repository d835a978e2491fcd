/**
 * Wires what a node does about the origins of votes: it records them, and looks for suspicious votes and page
 * views. With `VOTE_ORIGIN_DAYS=0` it does neither.
 */
import type { VoteRequest } from '../../engine/engine.ts';
import type { OutboxVote } from '../../engine/ports.ts';
import { createOriginEncoder } from '../../engine/rules/vote-origin.ts';
import type { App } from '../../http/app.ts';
import type { Sql } from '../../storage/sql/client.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { NodeJob } from './job.ts';
import { createViewWatch } from './view-marks.ts';
import { createVoteFlags } from './vote-flags.ts';

export interface VoteWatch extends Pick<App, 'encodeOrigin' | 'noteView'> {
  /** Gets votes that were flushed. */
  readonly noteVotes: (votes: readonly OutboxVote[]) => void;
  /** Whether a vote needs a proof of a human; absent unless `VOTE_PROOF=flagged`. */
  readonly isSuspect?: (vote: VoteRequest) => boolean;
  readonly flagJobs: readonly NodeJob[];
}

/** Creates the watch. `secret` is the visitor secret, from which the keys of origins are derived. */
export const createVoteWatch = (
  sql: Sql,
  secret: Uint8Array,
  { voteOriginDays, voteProof }: Pick<Config, 'voteOriginDays' | 'voteProof'>,
): VoteWatch => {
  if (voteOriginDays === 0) return { encodeOrigin: null, noteView: null, noteVotes: () => {}, flagJobs: [] };
  const readsSuspects = voteProof === 'flagged';
  const votes = createVoteFlags(sql, systemClock, readsSuspects);
  const views = createViewWatch(sql, systemClock);
  return {
    encodeOrigin: createOriginEncoder(secret),
    noteView: views.note,
    noteVotes: votes.note,
    ...(readsSuspects && { isSuspect: votes.isSuspect }),
    flagJobs: [votes.job, views.job],
  };
};
