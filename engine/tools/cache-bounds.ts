/**
 * Bounds a cache of lru-cache by the number of its entries, and lets it grow up to there.
 *
 * With `max` it takes memory for all entries at once: 2.4 MB and some milliseconds of a start for 100,000.
 */
export const buildBound = (entriesMax: number) => ({ maxSize: entriesMax, sizeCalculation: () => 1 });
