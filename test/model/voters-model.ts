/**
 * Which votes count for their voters, and for the totals, as a replay of everything that was decided about
 * them. It knows no SQL: each rule is one line over all votes.
 */

export interface ModelVote {
  readonly itag: string;
  readonly listing: number;
  readonly author: string;
  readonly atMs: number;
  readonly voteNumber: number;
  readonly upvote: boolean;
  readonly immutable: boolean;
  /** Its number in the log of its listing. */
  number: number;
  isRedeemed: boolean;
  /** Who decided that it counts nowhere: a plan, or an operator by this vote alone. */
  rejectedBy: string | null;
}

export interface ModelReset {
  readonly listing: number | 'all';
  readonly atMs: number;
  readonly reason: 'monthly_reset' | 'operator';
}

export interface ModelPlan {
  readonly id: string;
  readonly releases: boolean;
  readonly votes: readonly ModelVote[];
}

export interface ModelSummary {
  readonly times: number;
  readonly streak: number;
  readonly longest: number;
  readonly streak_ends_at: Date | null;
}

const dayMs = 86_400_000;

/** Counts days in a row, one day after the other. */
export const summariseTimes = (timesMs: readonly number[], nowMs: number): ModelSummary => {
  const days = new Set(timesMs.map((atMs) => Math.floor(atMs / dayMs)));
  const countBack = (from: number): number => (days.has(from) ? 1 + countBack(from - 1) : 0);
  const today = Math.floor(nowMs / dayMs);
  const last = Math.max(today - 1, ...days);
  const streak = countBack(last);
  return {
    times: new Set(timesMs).size,
    streak,
    longest: Math.max(0, ...[...days].map(countBack)),
    streak_ends_at: streak === 0 ? null : new Date((last + 2) * dayMs),
  };
};

export type Pair = Pick<ModelVote, 'listing' | 'author'>;

/** Only the newest votes of a voter are looked at. */
const votesLookedAt = 2_000;

/** An undo leaves a released voter's vote whose wait another vote has used. */
const waitMs = 43_200_000;

/** Lists of votes by voter and listing. */
const createPairs = () => {
  const byPair = new Map<string, ModelVote[]>();
  return ({ listing, author }: Pair): ModelVote[] => {
    const key = `${listing} ${author}`;
    const list = byPair.get(key) ?? [];
    byPair.set(key, list);
    return list;
  };
};

const compareAge = (left: ModelVote, right: ModelVote): number =>
  left.atMs - right.atMs || left.voteNumber - right.voteNumber || (left.itag < right.itag ? -1 : 1);

const rankVoters = (votes: readonly ModelVote[]): readonly { name: string; votes: number }[] => {
  const voters = [...Map.groupBy(votes, ({ author }) => author)].map(([author, cast]) => {
    return { author, votes: cast.length, newestMs: Math.max(...cast.map(({ atMs }) => atMs)) };
  });
  voters.sort(
    (left, right) =>
      right.votes - left.votes || left.newestMs - right.newestMs || (left.author < right.author ? -1 : 1),
  );
  return voters.slice(0, 1_000).map(({ author, votes: count }) => ({ name: author, votes: count }));
};

type Judged = Pick<ModelVote, 'listing' | 'atMs' | 'immutable'>;
const isCovered = (vote: Judged, { listing, atMs }: ModelReset): boolean =>
  (listing === 'all' || listing === vote.listing) && atMs > vote.atMs && !vote.immutable;

export const createVotersModel = () => {
  const votes: ModelVote[] = [];
  const listOf = createPairs();
  const resets: ModelReset[] = [];

  const isReset = (vote: Judged): boolean => resets.some((reset) => isCovered(vote, reset));
  /** Whether it counts for its voter. */
  const isGenuine = (vote: ModelVote): boolean =>
    vote.rejectedBy === null &&
    !resets.some((reset) => reset.reason === 'operator' && isCovered(vote, reset));
  /** Whether it counts for the totals. */
  const isValid = (vote: ModelVote): boolean => isGenuine(vote) && !vote.isRedeemed && !isReset(vote);

  return {
    votes,
    isGenuine,
    isValid,
    isReset,
    listOf: (pair: Pair): readonly ModelVote[] => listOf(pair),
    /** As of a time, and of a number of the log. */
    summarise: (pair: Pair, nowMs: number, upto = Number.POSITIVE_INFINITY): ModelSummary => {
      const known = listOf(pair).filter(({ number }) => number <= upto);
      const looked = known.sort((left, right) => right.atMs - left.atMs).slice(0, votesLookedAt);
      return summariseTimes(
        looked.filter(isGenuine).map(({ atMs }) => atMs),
        nowMs,
      );
    },
    /** The voters of a listing since a time by their votes. */
    rank: (listing: number, sinceMs: number) =>
      rankVoters(votes.filter((vote) => vote.listing === listing && vote.atMs >= sinceMs && isGenuine(vote))),
    cast: (vote: ModelVote): void => {
      votes.push(vote);
      listOf(vote).push(vote);
    },
    reset: (reset: ModelReset): void => void resets.push(reset),
    /** An operator voids one vote. */
    reject: (vote: ModelVote): void => {
      vote.rejectedBy ??= 'operator';
    },
    /** Uses up the oldest valid upvotes. */
    redeem: (listing: number, count: number): void => {
      const valid = votes.filter((vote) => vote.listing === listing && vote.upvote && isValid(vote));
      for (const vote of valid.sort(compareAge).slice(0, count)) vote.isRedeemed = true;
    },
    usePlan: ({ id, votes: held }: ModelPlan): void => {
      for (const vote of held) if (!vote.immutable && isGenuine(vote)) vote.rejectedBy = id;
    },
    undoPlan: ({ id, releases, votes: held }: ModelPlan): void => {
      const hasVotedAgain = (vote: ModelVote): boolean =>
        listOf(vote).some(
          ({ atMs, rejectedBy }) => atMs > vote.atMs && atMs < vote.atMs + waitMs && rejectedBy !== id,
        );
      const stays = (vote: ModelVote): boolean =>
        releases && !vote.isRedeemed && !isReset(vote) && hasVotedAgain(vote);
      const taken = held.filter((vote) => vote.rejectedBy === id && !stays(vote));
      for (const vote of taken) vote.rejectedBy = null;
    },
  };
};
export type VotersModel = ReturnType<typeof createVotersModel>;
