/**
 * The table of all public operations: one import per file of rows, named so that "find usages" works.
 *
 * `rowFiles` says which file serves which rows, for `npm run routes`. Order does not matter.
 */
import type { AnyRow } from './route.ts';
import { applicationRows } from './routes/applications.ts';
import { blogRows } from './routes/blog.ts';
import { botEditRows } from './routes/bot-edits.ts';
import { botRows } from './routes/bots.ts';
import { creditRows } from './routes/credits.ts';
import { loginRows } from './routes/login.ts';
import { memberRows } from './routes/members.ts';
import { notificationRows } from './routes/notifications.ts';
import { packRows } from './routes/packs.ts';
import { reminderRows } from './routes/reminders.ts';
import { serverRows } from './routes/servers.ts';
import { sessionRows } from './routes/sessions.ts';
import { shopRows } from './routes/shop.ts';
import { teamRows } from './routes/teams.ts';
import { vanityRows } from './routes/vanity.ts';
import { voteRows } from './routes/votes.ts';

export interface RowFile {
  /** Path from the project's root. */
  readonly file: string;
  readonly rows: readonly AnyRow[];
}

export const rowFiles: readonly RowFile[] = [
  { file: 'http/routes/sessions.ts', rows: sessionRows },
  { file: 'http/routes/login.ts', rows: loginRows },
  { file: 'http/routes/bots.ts', rows: botRows },
  { file: 'http/routes/bot-edits.ts', rows: botEditRows },
  { file: 'http/routes/servers.ts', rows: serverRows },
  { file: 'http/routes/teams.ts', rows: teamRows },
  { file: 'http/routes/members.ts', rows: memberRows },
  { file: 'http/routes/packs.ts', rows: packRows },
  { file: 'http/routes/votes.ts', rows: voteRows },
  { file: 'http/routes/credits.ts', rows: creditRows },
  { file: 'http/routes/reminders.ts', rows: reminderRows },
  { file: 'http/routes/shop.ts', rows: shopRows },
  { file: 'http/routes/vanity.ts', rows: vanityRows },
  { file: 'http/routes/applications.ts', rows: applicationRows },
  { file: 'http/routes/blog.ts', rows: blogRows },
  { file: 'http/routes/notifications.ts', rows: notificationRows },
];

export const rows: readonly AnyRow[] = rowFiles.flatMap((entry) => entry.rows);
