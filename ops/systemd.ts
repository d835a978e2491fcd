/**
 * Tells systemd that the node is ready, for units of `Type=notify`.
 *
 * By the program `systemd-notify`, since Node has no datagram sockets of the file system. systemd waits for
 * it, so a failure is a note.
 */
import { execFile } from 'node:child_process';
import type { Reporter } from './log/reporter.ts';
import { isNotified } from './setup/signals.mjs';

export const notifySystemd = ({ reportNote }: Pick<Reporter, 'reportNote'>): void => {
  if (!isNotified) return;
  execFile('systemd-notify', ['--ready'], { timeout: 10_000 }, (error) => {
    if (error === null) return;
    reportNote(
      `NOTIFY_SOCKET is set, but systemd does not know that the node is ready: ${error.message.trim()}. ` +
        'Install systemd-notify, or write Type=exec in the unit.',
    );
  });
};
