/**
 * Which commands run a test file: the end of its name says so, as CONTRIBUTING.md explains.
 * test/tidy/test-groups.ts finds files in the wrong group. Pure.
 */

/** `loop` is `npm test`; the others are `npm run test:stores` and `npm run test:faults`. */
export type TestGroup = 'loop' | 'stores' | 'faults';

/**
 * The groups of a file; none when it is no test file. Files in two groups run fewer generated or repeated
 * cases in the first (test/support/test-group.ts, and the harness of test/faults).
 */
export const findGroups = (path: string): readonly TestGroup[] => {
  if (path.endsWith('.fault.ts')) return ['faults'];
  if (!path.endsWith('.test.ts')) return [];
  if (path.startsWith('test/faults/cases/')) return ['stores', 'faults'];
  if (path.endsWith('.sized.test.ts')) return ['loop', 'stores'];
  return path.endsWith('.stores.test.ts') ? ['stores'] : ['loop'];
};
