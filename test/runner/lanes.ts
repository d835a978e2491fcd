/**
 * Which commands run a test file: the end of its name says so, as README.md explains. test/tidy/lanes.ts
 * finds files in the wrong lane. Pure.
 */

/** `loop` is `npm test`; the others are `npm run test:stores` and `npm run test:faults`. */
export type Lane = 'loop' | 'stores' | 'faults';

/**
 * The lanes of a file; none when it is no test file. Files in two lanes run fewer generated or repeated cases
 * in the first (test/support/lane.ts, and the harness of test/faults).
 */
export const findLanes = (path: string): readonly Lane[] => {
  if (path.endsWith('.fault.ts')) return ['faults'];
  if (!path.endsWith('.test.ts')) return [];
  if (path.startsWith('test/faults/cases/')) return ['stores', 'faults'];
  if (path.endsWith('.sized.test.ts')) return ['loop', 'stores'];
  return path.endsWith('.stores.test.ts') ? ['stores'] : ['loop'];
};
