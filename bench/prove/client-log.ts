/**
 * The client's log: each request, its time, and its answer. `prove` and the fault tests judge by it.
 *
 * Times are wall milliseconds of this machine with fractions, the same clock the node uses. Of an operation
 * with an unknown outcome the effect may come at any time until its node's life ends.
 */
export type Outcome = 'ok' | 'fail' | 'unknown';

interface Timed {
  readonly id: number;
  /** Number of the node process it was sent to, from 0. */
  readonly life: number;
  readonly callMs: number;
  returnMs: number;
  outcome: Outcome;
  /** Of the answer; 0 while, or when, there is none. */
  status: number;
}
/** One stats post; the value is the operation's id, spread over all fields. */
export interface StatsOp extends Timed {
  readonly op: 'stats';
  readonly bot: string;
}
export interface ClickOp extends Timed {
  readonly op: 'click';
  readonly bot: string;
  readonly address: string;
}
export interface VoteOp extends Timed {
  readonly op: 'vote';
  /** `kind/id`. */
  readonly target: string;
  readonly user: string;
  readonly upvote: boolean;
  /** The answer was 429: an earlier vote holds the user back. */
  refused: boolean;
}
/** What one reply said about a bot. Clicks are replies too: they show the totals before them. */
export interface Sight {
  readonly bot: string;
  readonly life: number;
  /** Number of the address that showed it, where there are several; the first if absent. */
  readonly place?: number;
  readonly callMs: number;
  readonly returnMs: number;
  /** Id of the stats post whose fields were shown, 0 for none; `null` when they are of two posts. */
  readonly post: number | null;
  readonly clicks: number;
  readonly uniqueClicks: number;
  /** Upvotes minus downvotes, where they are judged by what readers saw. */
  readonly votes?: number;
  /** Taken after a restart, with nothing else going on. */
  readonly quiet: boolean;
}

/** Wall milliseconds, both ends included. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export const createLog = () => ({
  ...{ nextId: 1, life: 0 },
  /** When each life certainly ended; open while it runs. */
  endedMs: [] as number[],
  stats: [] as StatsOp[],
  clicks: [] as ClickOp[],
  votes: [] as VoteOp[],
  sights: [] as Sight[],
  /** Answers no client should ever get, in words. */
  strange: [] as string[],
  /** Requests whose connection ended, or was refused, before an answer. */
  unanswered: 0,
  /** Times in which the store refused whole batches: clicks in them count later. */
  withoutRoom: [] as Span[],
});
export type ClientLog = ReturnType<typeof createLog>;

/** Wall time with fractions. */
export const nowMs = (): number => performance.timeOrigin + performance.now();

/** From when on nothing of the operation can happen any more. */
export const overMs = (log: ClientLog, op: Timed): number =>
  op.outcome === 'unknown' ? (log.endedMs[op.life] ?? Number.POSITIVE_INFINITY) : op.returnMs;

/** The next process: what is unknown of the last one has happened by now, or never will. */
export const endLife = (log: ClientLog): void => {
  log.endedMs[log.life] = nowMs();
  log.life += 1;
};
