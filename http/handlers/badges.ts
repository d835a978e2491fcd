/**
 * Badges of listed entities: pictures, and the JSON that shields.io draws.
 *
 * Image proxies keep errors for long, so every answer about a well-formed file name is 200 and of its type:
 * an unknown entity is a grey "unknown", and while a store is away the last known badge is shown. The same
 * URL gets the same bytes for a second without any other work. Counts no click.
 */
import { DomainError, type ErrorCode } from '../../engine/errors.ts';
import { type EntityKind, entityKinds } from '../../engine/ids.ts';
import { computePresence } from '../../engine/rules/presence.ts';
import type { MaybePromise } from '../../storage/catalogue/catalogue.ts';
import type { App, Reply } from '../route.ts';
import type { BadgeQuery, BadgeReply } from '../schema/badges.ts';
import { renderBadgeSvg, renderCardSvg } from './badge-pictures.ts';
import { findSparkMetric, renderSparkline } from './badge-sparkline.ts';
import {
  type BadgeTarget,
  type BadgeValue,
  findMetric,
  listCardValues,
  readValue,
  toLabel,
} from './badge-values.ts';
import { createNotFoundError, thenMaybe } from './convert.ts';
import { findVotesRank } from './leaderboards.ts';
import { toTarget } from './request-values.ts';

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
const renderBadge = (
  app: App,
  file: BadgeFile,
  { query, ...about }: Described & { query: BadgeQuery },
): Reply => {
  const json = JSON.stringify(toJson(about, query));
  const key = `${file.format} ${query.style} ${about.error} ${json}`;
  return app.badges.reply(key, () =>
    buildReply(file, about, file.format === 'json' ? json : renderSvg(about, query)),
  );
};

const readListed = (
  app: App,
  target: { readonly kind: EntityKind; readonly id: string },
  shown: Pick<BadgeTarget, 'name' | 'members'>,
): MaybePromise<BadgeTarget> =>
  thenMaybe(app.engine.read(target.kind, target.id), (view) => {
    // Else a badge would tell that an unlisted entity exists.
    if (!view.state.facts.listed) throw createNotFoundError(target.kind);
    return { ...shown, view, rank: findVotesRank(app, view) };
  });

/** Finds a bot, server or team by id or vanity code, a pack by its url. Throws `not_found`. */
const findTarget = (app: App, kind: EntityKind, id: string): MaybePromise<BadgeTarget> => {
  const { bots, servers, teams, packs } = app.catalogue;
  const refuse = () => createNotFoundError(kind);
  switch (kind) {
    case 'bot':
      return thenMaybe(bots.find(id), (profile) => {
        if (profile === null) throw refuse();
        const name = profile.person?.display_name || profile.id;
        return readListed(app, { kind, id: profile.id }, { name, members: null });
      });
    case 'server':
      return thenMaybe(servers.find(id), (profile) => {
        if (profile === null) throw refuse();
        const members = { total: profile.total_members, online: profile.online_members };
        return readListed(app, { kind, id: profile.id }, { name: profile.name, members });
      });
    case 'team':
      return thenMaybe(teams.find(id), (profile) => {
        if (profile === null) throw refuse();
        return readListed(app, { kind, id: profile.id }, { name: profile.name, members: null });
      });
    case 'pack':
      return packs.find(id).then(({ packs: [pack] }) => {
        if (pack === undefined) throw refuse();
        return readListed(app, { kind, id: pack.url }, { name: pack.name, members: null });
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
  const metric = findMetric(kind, file.metric);
  if (metric === null) throw createNotFoundError('metric');
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
  app.meters.recordBadge('miss');
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
  if (reply !== null) app.meters.recordBadge('hit');
  return reply;
};

/** What an error means for a picture; `null`: a store or the client has to wait. */
const toErrorMessage = ({ code, context }: DomainError): string | null => {
  if (code === 'not_found' || code === 'target_type_unsupported') return 'unknown';
  if (code !== 'validation_failed') return null;
  const [pointer = '/query'] = Object.keys(context);
  return `invalid ${pointer.slice(1)}`;
};

const toErrorLabel = ({ params, query }: BadgeRequest, { metric }: BadgeFile): string => {
  const kind = entityKinds.find((name) => name === params.target_type);
  return query.label ?? (kind === undefined ? metric : toLabel(kind, metric));
};

const isBrief = { maxAgeSeconds: unavailableSeconds };

/** The last known badge of this URL, else "unavailable". */
const showLastBadge = (
  app: App,
  request: BadgeRequest,
  { file, code }: { file: BadgeFile; code: ErrorCode },
): Reply => {
  const last = app.badges.findLast(request.url);
  app.meters.recordBadge(last === null ? 'unavailable' : 'stale');
  const { headers } = buildReply(file, { ...isBrief, error: code }, '');
  if (last !== null) return { ...last, headers: headers as Record<string, string> };
  const value = { message: 'unavailable', color: 'lightgrey', error: code, ...isBrief };
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
