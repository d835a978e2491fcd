/**
 * The types of signals.mjs, which is plain JavaScript because the launcher runs before anything is installed.
 */

export const endingSignals: readonly NodeJS.Signals[];
export const terminalSignals: readonly NodeJS.Signals[];
export const drainingSignals: readonly NodeJS.Signals[];
/** Keeps a process alive when its terminal closes, if who started it ignored SIGHUP. */
export const dropHangUp: () => void;
export const dropIdleSignals: () => void;
export const isNotified: boolean;
export const journalStream: string;
