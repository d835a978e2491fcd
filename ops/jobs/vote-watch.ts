/**
 * What a node keeps of where votes come from, and what looks wrong about them and about page views; nothing
 * with `VOTE_ORIGIN_DAYS=0`.
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
  /** Whether a vote needs a proof of a human; absent unless that is asked for by suspicion. */
  readonly isSuspect?: (vote: VoteRequest) => boolean;
  readonly flagJobs: readonly NodeJob[];
}

/** The secret is the one that counts visitors. */
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
