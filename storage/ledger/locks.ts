/**
 * Numbers of the advisory locks that order the ledger's transactions across all nodes. Any numbers work if
 * they differ; this file lists them all so that they do. A lock lasts to the end of its transaction.
 */

export const locks = {
  /** Transactions that write votes hold it shared; a reset, which counts votes, holds it exclusively. */
  votes: 722_501_002,
  /** Held while a generation is issued. */
  generations: 722_501_003,
  /** Held while a partition is created; shared by transactions that must find every vote. */
  partitions: 722_501_004,
} as const;
