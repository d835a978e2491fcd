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
import { botRoutes } from './bots/routes.ts';
import { creditRoutes } from './credits.ts';
import { feedRoutes } from './feed.ts';
import { historyRoutes } from './history.ts';
import { leaderboardRoutes } from './leaderboards.ts';
import { loginRoutes } from './login.ts';
import { memberRoutes } from './members.ts';
import { notificationRoutes } from './notifications.ts';
import { packRoutes } from './packs.ts';
import { reminderRoutes } from './reminders.ts';
import { searchRoutes } from './search.ts';
import { serverRoutes } from './servers.ts';
import { sessionRoutes } from './sessions.ts';
import { shopRoutes } from './shop.ts';
import { teamRoutes } from './teams.ts';
import { vanityRoutes } from './vanity.ts';
import { voteLogRoutes } from './vote-log.ts';
import { voterRoutes } from './voters.ts';
import { voteRoutes } from './votes.ts';
import { webhookRoutes } from './webhooks/routes.ts';

export interface RouteFile {
  /** Path relative to the project's root. */
  readonly file: string;
  readonly routes: readonly AnyRoute[];
}

export const routeFiles: readonly RouteFile[] = [
  { file: 'http/api/sessions.ts', routes: sessionRoutes },
  { file: 'http/api/login.ts', routes: loginRoutes },
  { file: 'http/api/bots/routes.ts', routes: botRoutes },
  { file: 'http/api/bot-edits.ts', routes: botEditRoutes },
  { file: 'http/api/bot-shards.ts', routes: botShardRoutes },
  { file: 'http/api/servers.ts', routes: serverRoutes },
  { file: 'http/api/teams.ts', routes: teamRoutes },
  { file: 'http/api/members.ts', routes: memberRoutes },
  { file: 'http/api/packs.ts', routes: packRoutes },
  { file: 'http/api/votes.ts', routes: voteRoutes },
  { file: 'http/api/vote-log.ts', routes: voteLogRoutes },
  { file: 'http/api/voters.ts', routes: voterRoutes },
  { file: 'http/api/webhooks/routes.ts', routes: webhookRoutes },
  { file: 'http/api/badges.ts', routes: badgeRoutes },
  { file: 'http/api/leaderboards.ts', routes: leaderboardRoutes },
  { file: 'http/api/history.ts', routes: historyRoutes },
  { file: 'http/api/feed.ts', routes: feedRoutes },
  { file: 'http/api/search.ts', routes: searchRoutes },
  { file: 'http/api/credits.ts', routes: creditRoutes },
  { file: 'http/api/reminders.ts', routes: reminderRoutes },
  { file: 'http/api/shop.ts', routes: shopRoutes },
  { file: 'http/api/vanity.ts', routes: vanityRoutes },
  { file: 'http/api/applications.ts', routes: applicationRoutes },
  { file: 'http/api/blog.ts', routes: blogRoutes },
  { file: 'http/api/notifications.ts', routes: notificationRoutes },
];

export const routes: readonly AnyRoute[] = routeFiles.flatMap((entry) => entry.routes);
