/**
 * The types of launch.mjs, which is plain JavaScript because it runs before anything is installed. For those
 * who start a node as `npm start` does: the bench suite, and the test that all ways to start one agree.
 */

/** The words for Node before the program's own. */
export const nodeFlags: readonly string[];
/** More of them, for what is loaded before the program; only this checkout knows its path. */
export const preloaded: readonly string[];
/** Runs a script or tool; resolves to its exit code. */
export const launch: (root: string, words: readonly string[]) => Promise<number>;
