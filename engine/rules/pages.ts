/**
 * Pages of lists: numbered from 1, a fixed number of rows each. Pure.
 */

/** Rows per page, by list (docs/behaviour/listings.md). */
export const perPage = {
  bots: 12,
  servers: 12,
  packs: 12,
  userVotes: 10,
  voters: 100,
  boards: 25,
  search: 25,
} as const;

/** A page beyond this is past the end of every list; the bound keeps offsets safe integers. */
const pageMax = 1_000_000_000;

/** Parses the page number of a request: 1 if absent, `null` if it is not an integer from 1. */
export const parsePageNumber = (text: string | undefined): number | null => {
  if (text === undefined) return 1;
  if (!/^[0-9]+$/.test(text)) return null;
  const page = Number(text);
  return page < 1 ? null : Math.min(page, pageMax);
};

/** Computes the number of rows before the page. */
export const computeOffset = (page: number, rowsPerPage: number): number => (page - 1) * rowsPerPage;
