/**
 * Numbers of the advisory locks that order the ledger's transactions among all nodes. Any constants will do,
 * as long as they differ; they are gathered here so that they do. Held to the end of a transaction.
 */

export const locks = {
  /** Votes are written under its shared side; a reset, which counts votes, takes it alone. */
  votes: 722_501_002,
  /** Held while a generation is given out. */
  generations: 722_501_003,
  /** Held while a partition is made. */
  partitions: 722_501_004,
} as const;
