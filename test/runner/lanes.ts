/**
 * Which commands run a test file: the end of its name says so, as README.md explains. test/tidy/lanes.ts
 * finds files in the wrong lane. Pure. Called by the runner and by that rule.
 */

/** `loop` is `npm test`; the others are `npm run test:stores` and `npm run test:faults`. */
export type Lane = 'loop' | 'stores' | 'faults';

/**
 * The lanes of a file; none when it is no test file. The fault cases are in two lanes: with few repetitions
 * beside the stores, and with all of them among the faults.
 */
export const findLanes = (path: string): readonly Lane[] => {
  if (path.endsWith('.fault.ts')) return ['faults'];
  if (!path.endsWith('.test.ts')) return [];
  if (path.startsWith('test/faults/cases/')) return ['stores', 'faults'];
  return path.endsWith('.stores.test.ts') ? ['stores'] : ['loop'];
};
