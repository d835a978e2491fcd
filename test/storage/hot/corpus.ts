/**
 * Seeds of generated sequences that once failed. Every adapter runs them first, for ever.
 *
 * A seed is added when the conformance suite prints it; it is never removed. `generate.ts` may change what a
 * seed means, so a failure that matters also gets an example of its own in `conformance.ts`.
 */
export const corpusSeeds: readonly number[] = [51_845_311];
