/**
 * The types of launch.mjs, which is plain JavaScript because it runs before anything is installed.
 */

/** The command-line options for Node. */
export const nodeFlags: readonly string[];
export const busyNodeFlags: readonly string[];
export const buildNodeFlags: (settings: Readonly<Record<string, string | undefined>>) => readonly string[];
/** The environment of a node with these settings. */
export const buildEnvironment: (settings: NodeJS.ProcessEnv) => NodeJS.ProcessEnv;
/** More options: modules that Node loads before the program. Their paths are those of this checkout. */
export const preloaded: readonly string[];
/** Runs a script or tool; resolves to its exit code. */
export const launch: (root: string, args: readonly string[]) => Promise<number>;
