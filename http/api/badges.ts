/**
 * Badges of listed entities: pictures of their numbers, and the JSON that shields.io draws (which refuses
 * every other member).
 *
 * Image proxies keep errors for long, so every answer about a well-formed file name is 200 and of its
 * type: an unknown entity is a grey "unknown", and while a store is away the last known badge is shown.
 * The same URL gets the same bytes for a second without any other work. Counts no click.
 */
import { type Static, Type } from 'typebox';
import { DomainError, type ErrorCode } from '../../engine/errors.ts';
import { type EntityKind, entityKinds, type Target } from '../../engine/ids.ts';
import { computePresence } from '../../engine/rules/presence.ts';
import type { MaybePromise } from '../../storage/catalogue/catalogue.ts';
import type { App } from '../app.ts';
import { createNotFoundError, requireFound } from '../response/errors.ts';
import type { Reply } from '../response/reply.ts';
import { type AnyRoute, definePublicRoute } from '../route.ts';
import { renderBadgeSvg, renderCardSvg } from './badges/badge-pictures.ts';
import { findSparkMetric, renderSparkline } from './badges/badge-sparkline.ts';
import {
  type BadgeTarget,
  type BadgeValue,
  findMetric,
  listCardValues,
  readValue,
  toLabel,
} from './badges/badge-values.ts';
import { findVotesRank } from './leaderboards.ts';
import { buildFlag, buildTargetType, buildText, TargetId } from './shared/common.ts';
import { thenMaybe, toTarget } from './shared/convert.ts';
import { badgeColor } from './shared/patterns.ts';

export const BadgeParams = Type.Object({
  target_type: buildTargetType(entityKinds, 'Other kinds get a grey badge that says "unknown".'),
  target_id: TargetId,
  file: buildText(
    'votes.svg',
    '`<metric>.svg` is a picture, `<metric>.json` the same for shields.io, `card.svg` a picture with the ' +
      'name and several numbers, `spark-<metric>.svg` a line of the last seven days. Metrics: `votes`, ' +
      '`servers`, `users`, `shards`, `uptime`, `status`, `clicks`, `rank` of bots; `votes`, `users`, ' +
      '`clicks`, `rank` of servers; `votes` of teams and packs.',
  ),
});

const buildColor = (what: string, example: string) =>
  Type.String({
    pattern: badgeColor,
    description: `Colour of the ${what}: a name that shields.io knows, or 3 or 6 hexadecimal digits.`,
    examples: [example],
  });

export const BadgeQuery = Type.Object({
  style: Type.Optional(
    Type.Union([Type.Literal('flat'), Type.Literal('flat-square'), Type.Literal('for-the-badge')], {
      description: 'Style of the picture; `flat` if absent.',
      examples: ['flat-square'],
    }),
  ),
  label: Type.Optional(
    Type.String({
      maxLength: 32,
      description: 'Text on the left, up to 32 characters; the name of the metric if absent, none if empty.',
      examples: ['upvotes'],
    }),
  ),
  color: Type.Optional(buildColor('right side', 'brightgreen')),
  label_color: Type.Optional(buildColor('left side', '24292f')),
  compact: Type.Optional(buildFlag('Shortens numbers: 1234 becomes 1.2k.', true)),
});
export type BadgeQuery = Static<typeof BadgeQuery>;

export const BadgeReply = Type.Object(
  {
    schemaVersion: Type.Literal(1, { description: 'Version of the format of shields.io.' }),
    label: Type.String({ description: 'Text on the left; may be empty.' }),
    message: Type.String({ minLength: 1, description: 'Text on the right.' }),
    color: Type.String({ description: 'Colour of the right side.' }),
    labelColor: Type.Optional(Type.String({ description: 'Only with `label_color`.' })),
    isError: Type.Optional(
      Type.Boolean({ description: 'Only when the value is not known; then `message` says why.' }),
    ),
    cacheSeconds: Type.Integer({ minimum: 0, description: 'Seconds for which the badge may be kept.' }),
  },
  {
    additionalProperties: false,
    examples: [{ schemaVersion: 1, label: 'votes', message: '1,234', color: 'blue', cacheSeconds: 300 }],
  },
);
export type BadgeReply = Static<typeof BadgeReply>;

export const badgeRoutes: readonly AnyRoute[] = [
  definePublicRoute('getBadge', 'GET /badges/{target_type}/{target_id}/{file}', {
    section: 'Beyond the contract',
    summary: 'Get a badge',
    description:
      'A badge of a listed entity, as an SVG picture or as JSON for shields.io. Every answer about a ' +
      'well-formed file name is 200, because image proxies keep errors: what is not known is a grey ' +
      'badge that says so, with `X-Rollcall-Error`. Counts no click.',
    limit: 'badge',
    caching: 'list',
    params: BadgeParams,
    query: BadgeQuery,
    replies: { 200: BadgeReply },
    pictures: true,
    findReady: (app, url, nowMs) => findReadyBadge(app, url, nowMs),
    handle: (app, request) => showBadge(app, request),
    replaceError: (app, request, error) => showBadgeError(app, request, error),
  }),
];

export interface BadgeRequest {
  readonly url: string;
  readonly params: { readonly target_type: EntityKind; readonly target_id: string; readonly file: string };
  readonly query: BadgeQuery;
}

interface BadgeFile {
  readonly metric: string;
  readonly format: 'svg' | 'json';
}

const fileShape = /^([a-z][a-z0-9-]{0,31})\.(svg|json)$/;

const parseFile = (file: string): BadgeFile | null => {
  const [, metric, format] = fileShape.exec(file) ?? [];
  return metric === undefined ? null : { metric, format: format === 'svg' ? 'svg' : 'json' };
};

/** Seconds for which an error may be kept: an unknown entity, and a value that is not available now. */
const unknownSeconds = 60;

const unavailableSeconds = 30;
const picturePolicy = "default-src 'none'; style-src 'unsafe-inline'";

interface Described extends BadgeValue {
  readonly label: string;
  readonly maxAgeSeconds: number;
  /** `''` for a value. */
  readonly error: ErrorCode | '';
}

const buildReply = (
  file: Pick<BadgeFile, 'format'>,
  about: Pick<Described, 'maxAgeSeconds' | 'error'>,
  text: string,
): Reply => {
  const { maxAgeSeconds, error } = about;
  const age = `public, max-age=${maxAgeSeconds}`;
  return {
    status: 200,
    text,
    tag: { etag: '' },
    headers: {
      'Content-Type': file.format === 'svg' ? 'image/svg+xml' : 'application/json',
      'Cache-Control': error === '' ? `${age}, stale-while-revalidate=86400` : age,
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': picturePolicy,
      ...(error !== '' && { 'X-Rollcall-Error': error }),
    },
  };
};

const toJson = (
  { label, message, color, error, maxAgeSeconds }: Described,
  query: BadgeQuery,
): BadgeReply => ({
  schemaVersion: 1,
  label,
  message,
  color,
  ...(query.label_color !== undefined && { labelColor: query.label_color }),
  ...(error !== '' && { isError: true }),
  cacheSeconds: maxAgeSeconds,
});

const renderSvg = ({ label, message, color }: Described, query: BadgeQuery): string =>
  renderBadgeSvg({
    style: query.style ?? 'flat',
    label,
    message,
    color,
    ...(query.label_color !== undefined && { labelColor: query.label_color }),
  });

/** Equal badges are one reply, so each is drawn and tagged once. */
const renderBadge = (app: App, file: BadgeFile, { query, ...about }: Described & { query: BadgeQuery }) => {
  const json = JSON.stringify(toJson(about, query));
  const key = `${file.format} ${query.style} ${about.error} ${json}`;
  return app.badges.reply(key, () =>
    buildReply(file, about, file.format === 'json' ? json : renderSvg(about, query)),
  );
};

const readListed = (
  app: App,
  target: Target,
  shown: Pick<BadgeTarget, 'name' | 'members'>,
): MaybePromise<BadgeTarget> =>
  thenMaybe(app.engine.read(target.kind, target.id), (view) => {
    // Else a badge would tell that an unlisted entity exists.
    if (!view.state.facts.listed) throw createNotFoundError(target.kind);
    return { ...shown, view, rank: findVotesRank(app, view) };
  });

/** Finds a bot, server or team by id or vanity code, a pack by its url. Throws `not_found`. */
const findTarget = (app: App, kind: EntityKind, given: string): MaybePromise<BadgeTarget> => {
  const { bots, servers, teams, packs } = app.catalogue;
  switch (kind) {
    case 'bot':
      return thenMaybe(bots.find(given), (profile) => {
        const { id, person } = requireFound(profile, kind);
        return readListed(app, { kind, id }, { name: person?.display_name || id, members: null });
      });
    case 'server':
      return thenMaybe(servers.find(given), (profile) => {
        const { id, name, total_members: total, online_members: online } = requireFound(profile, kind);
        return readListed(app, { kind, id }, { name, members: { total, online } });
      });
    case 'team':
      return thenMaybe(teams.find(given), (profile) => {
        const { id, name } = requireFound(profile, kind);
        return readListed(app, { kind, id }, { name, members: null });
      });
    case 'pack':
      return packs.find(given).then((page) => {
        const { url: id, name } = requireFound(page.packs[0], kind);
        return readListed(app, { kind, id }, { name, members: null });
      });
  }
};

const renderCard = (app: App, kind: EntityKind, target: BadgeTarget): Reply => {
  const status = kind === 'bot' ? computePresence(target.view.state, app.clock.nowMs()) : null;
  const picture = {
    name: target.name,
    values: listCardValues(kind, target),
    status: status === null ? null : { text: status, color: cardStatusColors[status] },
  };
  const about = { maxAgeSeconds: app.badges.maxAgeSeconds, error: '' } as const;
  return app.badges.reply(`card ${JSON.stringify(picture)}`, () =>
    buildReply({ format: 'svg' }, about, renderCardSvg(picture)),
  );
};

const cardStatusColors = { online: '#2da44e', idle: '#d4a72c', dnd: '#cf222e', offline: '#8c959f' } as const;

const renderTarget = (
  app: App,
  file: BadgeFile,
  { kind, target, query }: { kind: EntityKind; target: BadgeTarget; query: BadgeQuery },
): MaybePromise<Reply> => {
  if (file.metric === 'card' && file.format === 'svg') return renderCard(app, kind, target);
  const sparkMetric = findSparkMetric(kind, file.metric);
  if (sparkMetric !== null && file.format === 'svg') {
    const about = { maxAgeSeconds: app.badges.maxAgeSeconds, error: '' } as const;
    return thenMaybe(
      renderSparkline(app, target.view.ref, { metric: sparkMetric, color: query.color }),
      (text) => app.badges.reply(text, () => buildReply(file, about, text)),
    );
  }
  const metric = requireFound(findMetric(kind, file.metric), 'metric');
  const value = readValue(target, { metric, compact: query.compact === true, nowMs: app.clock.nowMs() });
  return renderBadge(app, file, {
    query,
    label: query.label ?? toLabel(kind, metric),
    message: value.message,
    color: query.color ?? value.color,
    maxAgeSeconds: app.badges.maxAgeSeconds,
    error: '',
  });
};

const keep = (app: App, url: string, reply: Reply): Reply => {
  app.badges.keep(url, reply, app.clock.monotonicMs());
  app.counts.badges.miss += 1;
  return reply;
};

/** `GET /badges/{target_type}/{target_id}/{file}`. */
export const showBadge = (app: App, { url, params, query }: BadgeRequest): MaybePromise<Reply> => {
  const file = parseFile(params.file);
  if (file === null) throw new DomainError('route_not_found', 'There is no such path.');
  const { kind, id } = toTarget(params);
  return thenMaybe(findTarget(app, kind, id), (target) =>
    thenMaybe(renderTarget(app, file, { kind, target, query }), (reply) => keep(app, url, reply)),
  );
};

/** The badge that the same URL got within the last second. */
export const findReadyBadge = (app: App, url: string, nowMs: number): Reply | null => {
  const reply = app.badges.findFresh(url, nowMs);
  if (reply !== null) app.counts.badges.hit += 1;
  return reply;
};

/** What an error means for a picture; `null`: a store or the client has to wait. */
const toErrorMessage = ({ code, context }: DomainError): string | null => {
  if (code === 'not_found' || code === 'target_type_unsupported') return 'unknown';
  if (code !== 'validation_failed') return null;
  const [pointer] = Object.keys(context);
  return `invalid ${pointer?.slice(1) || 'query'}`;
};

const toErrorLabel = ({ params, query }: BadgeRequest, { metric }: BadgeFile): string => {
  const kind = entityKinds.find((name) => name === params.target_type);
  return query.label ?? (kind === undefined ? metric : toLabel(kind, metric));
};

/** The last known badge of this URL, else "unavailable". */
const showLastBadge = (
  app: App,
  request: BadgeRequest,
  { file, code }: { file: BadgeFile; code: ErrorCode },
): Reply => {
  const last = app.badges.findLast(request.url);
  app.counts.badges[last === null ? 'unavailable' : 'stale'] += 1;
  const about = { maxAgeSeconds: unavailableSeconds, error: code };
  const { headers } = buildReply(file, about, '');
  if (last !== null) return { ...last, headers: headers as Record<string, string> };
  const value = { message: 'unavailable', color: 'lightgrey', ...about };
  return renderBadge(app, file, { ...value, query: {}, label: toErrorLabel(request, file) });
};

/** Replaces an error by a badge that says so; `null` for a file name that no badge has. */
export const showBadgeError = (app: App, request: BadgeRequest, error: DomainError): Reply | null => {
  const file = parseFile(request.params.file);
  if (file === null) return null;
  const message = toErrorMessage(error);
  if (message === null) return showLastBadge(app, request, { file, code: error.code });
  const { query } = request;
  const value = { message, color: 'lightgrey', maxAgeSeconds: unknownSeconds, error: error.code };
  return keep(
    app,
    request.url,
    renderBadge(app, file, { ...value, query, label: toErrorLabel(request, file) }),
  );
};
