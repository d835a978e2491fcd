/**
 * Sample routes for tests of the facade: one of each kind, with handlers that only record their calls.
 *
 * They use no engine and no catalogue. Their order is their index in the meters.
 */
import { Type } from 'typebox';
import { DomainError } from '../../engine/errors.ts';
import { noContent, replyMessage, replyOk } from '../../http/response/reply.ts';
import { type AnyRoute, defineRoute } from '../../http/route.ts';

const IdParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 64 }) });
const StatsBody = Type.Object({
  servers: Type.Optional(Type.Integer({ minimum: 0, maximum: 18_446_744_073_709_552_000 })),
  status: Type.Optional(Type.Enum(['online', 'idle', 'dnd', 'offline'])),
  shard_list: Type.Optional(Type.Array(Type.Integer({ minimum: 0 }), { maxItems: 4 })),
});
const base = { section: 'Samples', summary: 'A sample.', errors: [], caching: 'no-store' } as const;
const Empty = Type.Object({});

/** A recorded call of a sample route, newest last. */
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

const readingRows = (seen: Seen[]): readonly AnyRoute[] => [
  defineRoute('getThing', 'GET /things/{id}', {
    ...base,
    auth: { kind: 'public' },
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
      return replyOk({ id: params.id, query });
    },
  }),
  defineRoute('listThings', 'GET /things/@all', {
    ...base,
    auth: { kind: 'public' },
    caching: 'list',
    params: Empty,
    replies: { 200: Empty },
    handle: () => replyOk({ results: [] }),
  }),
  defineRoute('streamThings', 'GET /things/@stream', {
    ...base,
    auth: { kind: 'public' },
    params: Empty,
    query: Type.Object({ pieces: Type.Integer({ minimum: 0 }), break: Type.Optional(Type.Boolean()) }),
    replies: { 200: Empty },
    handle: (_app, { query }) => ({ status: 200, stream: pieces(seen, query.pieces, query.break === true) }),
  }),
];

const writingRows = (seen: Seen[]): readonly AnyRoute[] => [
  defineRoute('postStats', 'POST /things/stats', {
    ...base,
    auth: { kind: 'bot' },
    limit: 'stats',
    params: Empty,
    body: StatsBody,
    replies: { 200: Empty },
    handle: (_app, { body, bodyText, caller }) => {
      seen.push({ name: 'postStats', value: { body, bodyText, caller: caller?.id } });
      return replyMessage('Recorded.');
    },
  }),
  defineRoute('echo', 'POST /echo', {
    ...base,
    auth: { kind: 'public' },
    params: Empty,
    body: Type.Unknown(),
    replies: { 200: Empty },
    handle: (_app, { body }) => replyOk({ body }),
  }),
  defineRoute('limited', 'POST /limited', {
    ...base,
    auth: { kind: 'public' },
    limit: 'login',
    params: Empty,
    replies: { 204: null },
    handle: () => noContent,
  }),
];

const guardedRows = (barrier: () => Promise<void>): readonly AnyRoute[] => [
  ...(['slow', 'asking'] as const).map((name) =>
    defineRoute(name, `PUT /users/{uid}/${name}`, {
      ...base,
      auth: { kind: 'self', user: 'uid' },
      callsOutbound: name === 'asking',
      params: Type.Object({ uid: Type.String() }),
      replies: { 204: null },
      handle: async () => {
        await barrier();
        return noContent;
      },
    }),
  ),
  defineRoute('guarded', 'GET /{target_type}/{target_id}/guarded', {
    ...base,
    auth: {
      kind: 'entity',
      kinds: ['user', 'bot', 'server', 'team'],
      permission: 'view_sessions',
      type: 'target_type',
      id: 'target_id',
    },
    params: Type.Object({ target_type: Type.String(), target_id: Type.String() }),
    replies: { 200: Empty },
    handle: (_app, { params }) => replyOk(params),
  }),
];

/** All sample routes; the slow ones wait for `barrier`. */
export const sampleRows = (seen: Seen[], barrier: () => Promise<void>): readonly AnyRoute[] => [
  ...readingRows(seen),
  ...writingRows(seen),
  ...guardedRows(barrier),
];
