/**
 * Route of badges: pictures of an entity's numbers for READMEs and web pages.
 */
import { findReadyBadge, showBadge, showBadgeError } from '../handlers/badges.ts';
import { type AnyRoute, defineRoute } from '../route.ts';
import { BadgeParams, BadgeQuery, BadgeReply } from '../schema/badges.ts';

export const badgeRoutes: readonly AnyRoute[] = [
  defineRoute({
    name: 'getBadge',
    pattern: 'GET /badges/{target_type}/{target_id}/{file}',
    section: 'Beyond the contract',
    summary: 'Get a badge',
    description:
      'A badge of a listed entity, as an SVG picture or as JSON for shields.io. Every answer about a ' +
      'well-formed file name is 200, because image proxies keep errors: what is not known is a grey ' +
      'badge that says so, with `X-Rollcall-Error`. Counts no click.',
    auth: { kind: 'public' },
    limit: 'badge',
    caching: 'list',
    params: BadgeParams,
    query: BadgeQuery,
    replies: { 200: BadgeReply },
    pictures: true,
    findReady: findReadyBadge,
    handle: showBadge,
    replaceError: showBadgeError,
  }),
];
