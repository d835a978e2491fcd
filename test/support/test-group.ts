/**
 * Sizes a test by the group of tests that it runs in: a `*.sized.test.ts` is in `npm test` with few generated
 * cases, and in `npm run test:stores` with all of them.
 */

/** Whether the run is `npm test`. */
export const isLoop = process.env.TEST_GROUP === 'loop';
