/**
 * Pages of lists: numbered from 1, a fixed number of rows each. Pure.
 */

/** Rows per page, by list (docs/behaviour.md, "Listing rules"). */
export const perPage = { bots: 12, servers: 12, packs: 12, userVotes: 10, voters: 100 } as const;

/** Pages beyond this are past the end of any list; it keeps offsets safe integers. */
const pageMax = 1_000_000_000;

/** The page number a client wrote: 1 when absent, `null` when it is not a whole number from 1. */
export const parsePageNumber = (words: string | undefined): number | null => {
  if (words === undefined) return 1;
  if (!/^[0-9]+$/.test(words)) return null;
  const page = Number(words);
  return page < 1 ? null : Math.min(page, pageMax);
};

/** Rows before the page. */
export const computeOffset = (page: number, rowsPerPage: number): number => (page - 1) * rowsPerPage;
