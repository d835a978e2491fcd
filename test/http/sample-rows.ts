/**
 * Sample rows for tests of the facade: one of each kind of row, with handlers that only note what they saw.
 *
 * They reach no engine and no catalogue. Their order is their index in the meters.
 */
import { Type } from 'typebox';
import { DomainError } from '../../engine/errors.ts';
import { type AnyRow, message, noContent, ok, route } from '../../http/route.ts';

const IdParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 64 }) });
const StatsBody = Type.Object({
  servers: Type.Optional(Type.Integer({ minimum: 0, maximum: 18_446_744_073_709_552_000 })),
  status: Type.Optional(Type.Enum(['online', 'idle', 'dnd', 'offline'])),
  shard_list: Type.Optional(Type.Array(Type.Integer({ minimum: 0 }), { maxItems: 4 })),
});
const base = { section: 'Samples', summary: 'A sample.', errors: [], caching: 'no-store' } as const;
const Empty = Type.Object({});

/** What the sample rows saw, newest last. */
export interface Seen {
  readonly name: string;
  readonly value: unknown;
}

async function* pieces(seen: Seen[], count: number, breaks: boolean): AsyncGenerator<string> {
  try {
    yield '[';
    for (let index = 0; index < count; index++) yield `${index === 0 ? '' : ','}"${'x'.repeat(1_000)}"`;
    if (breaks) throw new Error('the store went away');
    yield ']';
  } finally {
    seen.push({ name: 'streamEnded', value: null });
  }
}

const readingRows = (seen: Seen[]): readonly AnyRow[] => [
  route({
    ...base,
    name: 'getThing',
    method: 'GET',
    path: '/things/{id}',
    auth: { word: 'public' },
    caching: 'entity',
    params: IdParams,
    query: Type.Object({
      target: Type.Optional(Type.String()),
      size: Type.Optional(Type.Integer({ minimum: 1, maximum: 5 })),
      page: Type.Optional(Type.Integer({ minimum: 1, default: 1 })),
    }),
    replies: { 200: Empty },
    handle: (_app, request) => {
      const { params, query, clientAddress, head } = request;
      seen.push({ name: 'getThing', value: { params, query, clientAddress, head } });
      if (params.id === 'unknown') throw new DomainError('not_found', 'There is no such thing.');
      if (params.id === 'broken') throw new Error('secret detail of /etc/passwd');
      return ok({ id: params.id, query });
    },
  }),
  route({
    ...base,
    name: 'listThings',
    method: 'GET',
    path: '/things/@all',
    auth: { word: 'public' },
    caching: 'list',
    params: Empty,
    replies: { 200: Empty },
    handle: () => ok({ results: [] }),
  }),
  route({
    ...base,
    name: 'streamThings',
    method: 'GET',
    path: '/things/@stream',
    auth: { word: 'public' },
    params: Empty,
    query: Type.Object({ pieces: Type.Integer({ minimum: 0 }), break: Type.Optional(Type.Boolean()) }),
    replies: { 200: Empty },
    handle: (_app, { query }) => ({ status: 200, stream: pieces(seen, query.pieces, query.break === true) }),
  }),
];

const writingRows = (seen: Seen[]): readonly AnyRow[] => [
  route({
    ...base,
    name: 'postStats',
    method: 'POST',
    path: '/things/stats',
    auth: { word: 'bot' },
    limit: 'stats',
    params: Empty,
    body: StatsBody,
    replies: { 200: Empty },
    handle: (_app, { body, bodyText, caller }) => {
      seen.push({ name: 'postStats', value: { body, bodyText, caller: caller?.id } });
      return message('Recorded.');
    },
  }),
  route({
    ...base,
    name: 'echo',
    method: 'POST',
    path: '/echo',
    auth: { word: 'public' },
    params: Empty,
    body: Type.Unknown(),
    replies: { 200: Empty },
    handle: (_app, { body }) => ok({ body }),
  }),
  route({
    ...base,
    name: 'limited',
    method: 'POST',
    path: '/limited',
    auth: { word: 'public' },
    limit: 'login',
    params: Empty,
    replies: { 204: null },
    handle: () => noContent,
  }),
];

const guardedRows = (barrier: () => Promise<void>): readonly AnyRow[] => [
  route({
    ...base,
    name: 'slow',
    method: 'PUT',
    path: '/users/{uid}/slow',
    auth: { word: 'self', user: 'uid' },
    params: Type.Object({ uid: Type.String() }),
    replies: { 204: null },
    handle: async () => {
      await barrier();
      return noContent;
    },
  }),
  route({
    ...base,
    name: 'asking',
    method: 'PUT',
    path: '/users/{uid}/asking',
    auth: { word: 'self', user: 'uid' },
    asksOutside: true,
    params: Type.Object({ uid: Type.String() }),
    replies: { 204: null },
    handle: async () => {
      await barrier();
      return noContent;
    },
  }),
  route({
    ...base,
    name: 'guarded',
    method: 'GET',
    path: '/{target_type}/{target_id}/guarded',
    auth: {
      word: 'entity',
      kinds: ['user', 'bot', 'server', 'team'],
      permission: 'view_sessions',
      type: 'target_type',
      id: 'target_id',
    },
    params: Type.Object({ target_type: Type.String(), target_id: Type.String() }),
    replies: { 200: Empty },
    handle: (_app, { params }) => ok(params),
  }),
];

/** All rows; `barrier` holds back the slow ones. */
export const sampleRows = (seen: Seen[], barrier: () => Promise<void>): readonly AnyRow[] => [
  ...readingRows(seen),
  ...writingRows(seen),
  ...guardedRows(barrier),
];
