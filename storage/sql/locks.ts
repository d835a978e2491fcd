/**
 * Numbers of the advisory locks that all nodes of a database share. Any numbers work if they differ; this
 * file lists them all so that they do. A lock lasts to the end of its transaction; those of `searchIndex`
 * and `session` last to the end of their session.
 */

export const locks = {
  /** Of the node that applies missing migrations. */
  migrations: 722_501_001,
  /** Transactions that write votes share it; a reset, which counts votes, has it alone. */
  votes: 722_501_002,
  /** Of the transaction that issues a generation. */
  generations: 722_501_003,
  /** Of the transaction that creates a partition; shared by those that must find every vote. */
  partitions: 722_501_004,
  /** Of the node that builds the missing index of the search. */
  searchIndex: 722_501_005,
  /** Of the two counts of a listing's votes that a fleet makes at a time: this one and the next. */
  voteCounts: 722_501_006,
  /** Of the one process that uses the database without Redis. */
  session: 722_501_032,
} as const;
