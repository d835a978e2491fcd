/**
 * What this process has from its parent: what each signal does, for the launcher and for the server, as
 * docs/operators/install.md says; and what systemd asks for.
 *
 * Node undoes the signals that its parent had ignored, so the program cannot see them: ops/bin/rollcall looks
 * before and hands SIGHUP on in a variable. SIGUSR1 would open Node's debugger; the option
 * `--disable-sigusr1` keeps it shut from the first moment on, but old Nodes of the launcher do not know it.
 */

/** The first drains, the second ends the process at once. A terminal sends two of them to all processes. */
export const endingSignals = ['SIGINT', 'SIGTERM', 'SIGQUIT'];
export const terminalSignals = ['SIGINT', 'SIGQUIT'];
/** They drain, however often they come: a terminal that closes, timers that outlive exec, limits, power. */
const drainingOnes = ['SIGHUP', 'SIGALRM', 'SIGVTALRM', 'SIGXCPU', 'SIGPWR'];
const isIgnored = process.env.ROLLCALL_SIGHUP === 'ignored';
export const drainingSignals = isIgnored ? drainingOnes.slice(1) : drainingOnes;
/** The log is standard output and settings are read once: there is no file to open and nothing to load. */
const idleSignals = ['SIGUSR1', 'SIGUSR2'];

export const dropHangUp = () => {
  if (isIgnored) process.on('SIGHUP', () => {});
};

export const dropIdleSignals = () => {
  for (const signal of idleSignals) process.on(signal, () => {});
};

/** systemd waits for a message there (`Type=notify`). */
export const isNotified = (process.env.NOTIFY_SOCKET ?? '') !== '';
/** The device and the file that systemd has connected to its journal. */
export const journalStream = process.env.JOURNAL_STREAM ?? '';
