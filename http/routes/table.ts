/**
 * The table of all public routes: one named import per file, so that "find usages" works.
 *
 * `routeFiles` says which file has which routes, for `npm run routes`. Their order does not matter.
 */
import type { AnyRoute } from '../route.ts';
import { applicationRoutes } from './applications.ts';
import { badgeRoutes } from './badges.ts';
import { blogRoutes } from './blog.ts';
import { botEditRoutes } from './bot-edits.ts';
import { botShardRoutes } from './bot-shards.ts';
import { botRoutes } from './bots.ts';
import { creditRoutes } from './credits.ts';
import { feedRoutes } from './feed.ts';
import { historyRoutes } from './history.ts';
import { leaderboardRoutes } from './leaderboards.ts';
import { loginRoutes } from './login.ts';
import { memberRoutes } from './members.ts';
import { notificationRoutes } from './notifications.ts';
import { packRoutes } from './packs.ts';
import { reminderRoutes } from './reminders.ts';
import { serverRoutes } from './servers.ts';
import { sessionRoutes } from './sessions.ts';
import { shopRoutes } from './shop.ts';
import { teamRoutes } from './teams.ts';
import { vanityRoutes } from './vanity.ts';
import { voteLogRoutes } from './vote-log.ts';
import { voteRoutes } from './votes.ts';
import { webhookRoutes } from './webhooks.ts';

export interface RouteFile {
  /** Path relative to the project's root. */
  readonly file: string;
  readonly routes: readonly AnyRoute[];
}

export const routeFiles: readonly RouteFile[] = [
  { file: 'http/routes/sessions.ts', routes: sessionRoutes },
  { file: 'http/routes/login.ts', routes: loginRoutes },
  { file: 'http/routes/bots.ts', routes: botRoutes },
  { file: 'http/routes/bot-edits.ts', routes: botEditRoutes },
  { file: 'http/routes/bot-shards.ts', routes: botShardRoutes },
  { file: 'http/routes/servers.ts', routes: serverRoutes },
  { file: 'http/routes/teams.ts', routes: teamRoutes },
  { file: 'http/routes/members.ts', routes: memberRoutes },
  { file: 'http/routes/packs.ts', routes: packRoutes },
  { file: 'http/routes/votes.ts', routes: voteRoutes },
  { file: 'http/routes/vote-log.ts', routes: voteLogRoutes },
  { file: 'http/routes/webhooks.ts', routes: webhookRoutes },
  { file: 'http/routes/badges.ts', routes: badgeRoutes },
  { file: 'http/routes/leaderboards.ts', routes: leaderboardRoutes },
  { file: 'http/routes/history.ts', routes: historyRoutes },
  { file: 'http/routes/feed.ts', routes: feedRoutes },
  { file: 'http/routes/credits.ts', routes: creditRoutes },
  { file: 'http/routes/reminders.ts', routes: reminderRoutes },
  { file: 'http/routes/shop.ts', routes: shopRoutes },
  { file: 'http/routes/vanity.ts', routes: vanityRoutes },
  { file: 'http/routes/applications.ts', routes: applicationRoutes },
  { file: 'http/routes/blog.ts', routes: blogRoutes },
  { file: 'http/routes/notifications.ts', routes: notificationRoutes },
];

export const routes: readonly AnyRoute[] = routeFiles.flatMap((entry) => entry.routes);
