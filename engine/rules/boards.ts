/**
 * Leaderboards: their names, what a listing's position is, and how a score is shown. Pure.
 *
 * An edition has the first places of a board, and for the rest a table of scores with the number of listings
 * above each. So a position costs the same in any directory.
 */

/** Boards by kind of listing. */
export const boardsByKind = {
  bot: [
    'votes',
    'votes-last-month',
    'votes-ever',
    'unique-clicks-week',
    'growth-week',
    'trending',
    'newcomers',
    'uptime',
  ],
  server: ['votes', 'votes-last-month', 'votes-ever', 'unique-clicks-week', 'trending', 'newcomers'],
} as const;
export type RankedKind = keyof typeof boardsByKind;
export const rankedKinds = ['bot', 'server'] as const satisfies readonly RankedKind[];
export type BoardName = (typeof boardsByKind)['bot'][number];
export const boardNames: readonly BoardName[] = boardsByKind.bot;

/** Finds the board of this name, `null` when listings of this kind have no such board. */
export const findBoard = (kind: RankedKind, name: string): BoardName | null =>
  (boardsByKind[kind] as readonly BoardName[]).find((board) => board === name) ?? null;

/** Places of an edition. */
export const placesMax = 1_000;

/** How long it takes until an event counts half on the boards `trending` and `newcomers`. */
export const halfLifeMs = 12 * 3_600_000;
/** Heats count half-lives from this time; a near one keeps the numbers small, and so more precise. */
export const heatEpochMs = Date.UTC(2026, 0, 1);

/** One listing of an edition. */
export interface Place {
  readonly incarnation: number;
  /** As computed: of `trending` and `newcomers` the heat, a logarithm. */
  readonly score: number;
  /** Only of `growth-week`: the score divided by the servers a week ago. */
  readonly ratio: number | null;
  /** Places gained since the day before; `null` when it was not among the first places then. */
  readonly change: number | null;
}

/** The listings above some scores, in descending order of the scores. */
export interface ScoreCounts {
  readonly listings: number;
  readonly scores: readonly number[];
  readonly above: readonly number[];
}

export interface Edition {
  /** Ms of the run that made it: differs from every other edition of the board. */
  readonly number: number;
  readonly madeAtMs: number;
  readonly places: readonly Place[];
  /** Index in `places` by incarnation. */
  readonly index: ReadonlyMap<number, number>;
  readonly counts: ScoreCounts;
}

export interface Rank {
  readonly position: number;
  /** Listings on the board. */
  readonly of: number;
  /** Whether the position is that of the edition; else it is right within 0.1 % of `of`. */
  readonly exact: boolean;
}

/** Counts the listings above `score`; between two scores of the table, the largest possible number. */
const countAbove = ({ listings, scores, above }: ScoreCounts, score: number): number => {
  let [low, high] = [0, scores.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((scores[middle] as number) > score) low = middle + 1;
    else high = middle;
  }
  return above[low] ?? listings;
};

/**
 * Computes the rank of a listing; `null` when it has none. `score` is its present one, `null` when it does
 * not qualify.
 */
export const computeRank = (
  { places, index, counts }: Edition,
  incarnation: number,
  score: number | null,
): Rank | null => {
  const of = Math.max(counts.listings, places.length);
  const place = index.get(incarnation);
  if (place !== undefined) return { position: place + 1, of, exact: true };
  // If every listing of the board has a place, this one qualified after the edition was made.
  if (score === null || of <= places.length) return null;
  const position = Math.max(places.length, countAbove(counts, score)) + 1;
  return { position: Math.min(position, of), of, exact: false };
};

const roundDown = (value: number, digits: number): number => Math.floor(value * 10 ** digits) / 10 ** digits;

/** Converts a place's score to what clients see: a heat to the weight left at the time of the edition. */
export const toShownScore = (board: BoardName, score: number, editionMs: number): number => {
  if (board === 'uptime') return roundDown(score, 3);
  if (board !== 'trending' && board !== 'newcomers') return score;
  return Math.round(2 ** (score - toHalfLives(editionMs)) * 100) / 100;
};

/** Converts a time to half-lives since `heatEpochMs`. */
export const toHalfLives = (atMs: number): number => (atMs - heatEpochMs) / halfLifeMs;
