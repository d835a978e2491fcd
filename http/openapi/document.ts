/**
 * Builds the OpenAPI 3.1 document from the routes: the objects that check requests also describe them.
 *
 * TypeBox schemas already are JSON Schema 2020-12, so nothing is translated; named schemas are referenced.
 * Every status that a route can answer is documented: successes with the example of their schema, errors with
 * one example per code. Pure.
 */
import type { TObject, TSchema } from 'typebox';
import { type ErrorCode, errorStatuses } from '../../engine/errors.ts';
import type { TokenKind } from '../../engine/rules/token.ts';
import { listingHints } from '../api/shared/listing-hints.ts';
import { listAcceptedKinds } from '../auth/authorise.ts';
import { listParameterNames } from '../request/match.ts';
import type { AnyRoute } from '../route.ts';
import { describeAccess } from './access.ts';
import { introduction } from './introduction.ts';
import { buildComponentSchemas, toReferencedSchema } from './schemas.ts';
import { sectionRules } from './section-rules.ts';
import { beyond, findSection, isBeyond, listSections } from './sections.ts';
import { buildWebhooks } from './webhooks.ts';

type Json = Record<string, unknown>;

const schemeNames: Record<TokenKind, string> = { user: 'User', bot: 'Bot', server: 'Server', team: 'Team' };

const commonErrors: readonly ErrorCode[] = [
  'malformed_request',
  'content_encoding_unsupported',
  'internal',
  'store_unavailable',
  'overloaded',
  'deadline_passed',
  'draining',
];
const tokenErrors: readonly ErrorCode[] = [
  'token_missing',
  'token_invalid',
  'token_kind_unsupported',
  'tokens_disagree',
  'banned',
];
const bodyErrors: readonly ErrorCode[] = ['malformed_json', 'validation_failed', 'body_too_large'];

const listFields = (schema: TObject | undefined): string[] => Object.keys(schema?.properties ?? {});

/** Who may call it, and whether its path names more than the caller, which may be unknown. */
const listAuthErrors = ({ auth: { kind }, params, pictures }: AnyRoute): ErrorCode[] => {
  const names = listFields(params).length;
  if (kind === 'public') return names > 0 && !pictures ? ['not_found'] : [];
  if (kind === 'self')
    return [...tokenErrors, 'user_mismatch', 'forbidden', ...(names > 1 ? (['not_found'] as const) : [])];
  if (kind === 'entity') return [...tokenErrors, 'user_mismatch', 'permission_missing', 'not_found'];
  if (kind === 'kinds') return [...tokenErrors, 'permission_missing'];
  if (kind === 'owner') return [...tokenErrors, 'permission_missing', 'forbidden', 'not_found'];
  return kind === 'user' ? [...tokenErrors, 'forbidden'] : [...tokenErrors];
};

/** Every error code that a route can answer with: its own, and those that follow from its shape. */
export const listErrorCodes = (route: AnyRoute): readonly ErrorCode[] => {
  const path = listFields(route.params);
  const query = listFields(route.query);
  const codes = new Set<ErrorCode>([...commonErrors, ...listAuthErrors(route)]);
  if (query.includes('page')) codes.add('page_invalid');
  for (const code of route.errors) codes.add(code);
  if (route.body !== undefined) for (const code of bodyErrors) codes.add(code);
  // A value that no path may have, such as an encoded slash, matches no route.
  if (path.length > 0) codes.add('route_not_found');
  if (query.length > 0 || path.length > 0) codes.add('validation_failed');
  if ([...path, ...query].includes('target_type')) codes.add('target_type_unsupported');
  if (route.limit !== undefined) codes.add('rate_limited');
  if (route.keyed) for (const code of keyErrors) codes.add(code);
  return [...codes];
};

const keyErrors = [
  'validation_failed',
  'limit_reached',
  'idempotency_conflict',
  'idempotency_mismatch',
] as const;

const keyParameter: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A value of your choice for this creation, 1 to 255 printable ASCII characters. A repeat with the same ' +
    'value within a day creates nothing more, and gets the same reply.',
  schema: {
    type: 'string',
    minLength: 1,
    maxLength: 257,
    examples: ['018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10'],
  },
};

const proofParameter: Json = {
  name: 'X-Vote-Proof',
  in: 'header',
  required: false,
  description:
    'What the widget of `context.provider` gave for `context.site_key`, after a 403 `proof_required`. Only ' +
    'where the operator wants a proof of a human.',
  schema: { type: 'string', minLength: 1, maxLength: 4_096, examples: ['0.Zx1aPq3vT7mKd9'] },
};

const buildParameter = (location: 'path' | 'query', schema: TObject, name: string): Json => {
  const { description, ...field } = schema.properties[name] as TSchema & { readonly description?: string };
  const required =
    location === 'path' || (schema.required as readonly string[] | undefined)?.includes(name) === true;
  return {
    name,
    in: location,
    required,
    description,
    schema: toReferencedSchema((name === 'target_type' ? addPlurals(field) : field) as TSchema),
  };
};

/** The spellings that requests may use: request/check.ts drops the `s` before the schema sees it. */
const addPlurals = (schema: { readonly enum?: readonly string[] }): Json => {
  const { enum: kinds = [] } = schema;
  return { ...schema, enum: [...kinds, ...kinds.map((kind) => `${kind}s`)] };
};

const buildParameters = (route: AnyRoute, path: string): Json[] => {
  const params = route.params as TObject;
  const query = route.query as TObject | undefined;
  const published = listParameterNames(path);
  return [
    ...listParameterNames(route.path).map((name, index) => ({
      ...buildParameter('path', params, name),
      name: published[index],
    })),
    ...listFields(query).map((name) => buildParameter('query', query as TObject, name)),
    ...(route.keyed ? [keyParameter] : []),
    ...(route.proven ? [proofParameter] : []),
  ];
};

const buildContent = (schema: TSchema): Json => {
  const [example] = (schema as { readonly examples?: readonly unknown[] }).examples ?? [];
  const published = { schema: toReferencedSchema(schema) };
  return { 'application/json': example === undefined ? published : { ...published, example } };
};

const errorContextExamples: Partial<Record<ErrorCode, Json>> = {
  validation_failed: { '/short': 'must have at least 30 characters' },
  permission_missing: { permission: 'edit_bots' },
  vote_wait: { hours: '3', minutes: '20', seconds: '5' },
  store_unavailable: { outcome: 'not_applied' },
  overloaded: { outcome: 'not_applied' },
  deadline_passed: { outcome: 'unknown' },
};

const buildErrorExample = (code: ErrorCode): Json => ({
  summary: code,
  value: {
    message: 'A message for people.',
    context: { ...errorContextExamples[code], code, request_id: '4f1c22aa-00001b' },
  },
});

const buildErrorResponses = (route: AnyRoute): Json => {
  const codes = listErrorCodes(route);
  const responses: Record<string, Json> = {};
  for (const status of new Set(codes.map((code) => errorStatuses[code]))) {
    const codesOfStatus = codes.filter((code) => errorStatuses[code] === status);
    const mustWait = status === 429 || status === 503;
    responses[status] = {
      description: codesOfStatus.join(', '),
      headers: referToHeaders([...listHeaders(route), ...(mustWait ? ['Retry-After'] : [])]),
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/Error' },
          examples: Object.fromEntries(
            codesOfStatus.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
          ),
        },
      },
    };
  }
  return responses;
};

/** The headers of every reply of a route. */
const listHeaders = ({ limit }: AnyRoute): readonly string[] =>
  limit === undefined ? ['X-Request-Id'] : ['X-Request-Id', 'RateLimit', 'RateLimit-Policy'];

/** Whether a client may ask again with the tag of its last reply. */
const isRevalidated = ({ method, auth, caching }: AnyRoute): boolean =>
  method === 'GET' && auth.kind === 'public' && caching !== 'no-store';

const buildSuccessResponses = (route: AnyRoute): Json => {
  const headers = [
    ...listHeaders(route),
    ...(isRevalidated(route) ? ['Cache-Control', 'ETag'] : []),
    ...(route.keyed ? ['Idempotency-Replayed'] : []),
    ...(route.hinted ? ['X-Listing-Hints'] : []),
  ];
  const responses = Object.entries(route.replies).map(([status, schema]): [string, Json] => [
    status,
    schema === null
      ? buildEmptyResponse(Number(status), headers)
      : { description: 'Success.', headers: referToHeaders(headers), content: buildContents(route, schema) },
  ]);
  if (isRevalidated(route)) {
    const description = 'Not changed since the reply whose `ETag` came in `If-None-Match`; no body.';
    responses.push(['304', { description, headers: referToHeaders(headers) }]);
  }
  const page = { description: pageDescription, headers: referToHeaders(headers), content: pageContent };
  if (pageOperations.has(route.name) && route.replies[200] === undefined) responses.push(['200', page]);
  return Object.fromEntries(responses);
};

/** They answer with a page to clients that prefer HTML (http/site/routes.ts), unless pages are off. */
const pageOperations: ReadonlySet<string> = new Set(['searchListings', 'followVanity']);
const pageDescription = 'A page, where `Accept` prefers HTML and the directory shows pages.';
const pageContent: Json = { 'text/html': { schema: { type: 'string', description: pageDescription } } };

const buildContents = (route: AnyRoute, schema: TSchema): Json => ({
  ...(route.events === true
    ? { 'text/event-stream': { schema: toReferencedSchema(schema) } }
    : buildContent(schema)),
  ...(route.pictures === true && {
    'image/svg+xml': { schema: { type: 'string', description: 'The picture.' } },
  }),
  ...(route.table !== undefined && buildTableContent(route.table)),
  ...(pageOperations.has(route.name) && pageContent),
});

const buildTableContent = (example: string): Json => ({
  'text/csv': {
    schema: { type: 'string', description: 'A table (RFC 4180), its first line the names of the columns.' },
    example,
  },
});

const buildEmptyResponse = (status: number, headers: readonly string[]): Json =>
  status === 302
    ? { description: 'Redirect; no body.', headers: referToHeaders([...headers, 'Location']) }
    : { description: 'Done; no body.', headers: referToHeaders(headers) };

const headers: Readonly<Record<string, Json>> = {
  'X-Request-Id': { description: 'Id of this request, also in error bodies.', schema: { type: 'string' } },
  'Retry-After': { description: 'Whole seconds to wait.', schema: { type: 'integer', minimum: 1 } },
  Location: { description: 'A path of this API.', schema: { type: 'string' } },
  'Idempotency-Replayed': {
    description: 'An earlier request with this `Idempotency-Key` did the work.',
    schema: { type: 'string', enum: ['true'] },
  },
  'X-Listing-Hints': {
    description:
      'What is worth knowing about the listing, which is saved as sent: `long_cut`, a part of `long` is ' +
      'shown as plain text on its page, because its Markdown needs too much work; `short_unfit` and so on, ' +
      'the field came with an import and is outside the limits of requests. Separated by commas. Absent: ' +
      `nothing. All words: ${listingHints.join(', ')}.`,
    schema: { type: 'string', examples: ['long_cut', 'short_unfit, tags_unfit'] },
  },
  'Cache-Control': {
    description: 'How long the reply may be used without a request; `no-store` where it must not be kept.',
    schema: { type: 'string', examples: ['no-cache'] },
  },
  ETag: {
    description:
      'Names the content of the reply. Send it in `If-None-Match`: while nothing has changed, the reply is ' +
      '304. Absent where a reply must not be kept, and from long lists.',
    schema: { type: 'string', pattern: '^"[^"]+"$', examples: ['"QFkEkhZyjKsWL0mvJiH7"'] },
  },
  RateLimit: {
    description:
      'The name of the limit, how many requests are left (`r`), and in how many seconds it is full again ' +
      '(`t`).',
    schema: { type: 'string', examples: ['"stats";r=1999;t=1'] },
  },
  'RateLimit-Policy': {
    description: 'How many requests (`q`) a limit allows in how many seconds (`w`). Not in every reply.',
    schema: { type: 'string', examples: ['"stats";q=1000;w=1'] },
  },
};

const referToHeaders = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const buildOperation = (route: AnyRoute, path: string): Json => ({
  operationId: route.name,
  tags: [findSection(route)],
  // Not a second tag: pages and clients list an operation once for each of its tags.
  ...(isBeyond(route) && { 'x-badges': [{ name: beyond }] }),
  summary: route.summary,
  description: [route.description ?? route.summary, describeAccess(route)].join('\n\n'),
  security: listAcceptedKinds(route.auth).map((kind) => ({ [schemeNames[kind]]: [] })),
  parameters: buildParameters(route, path),
  ...(route.body === undefined ? {} : { requestBody: { required: true, content: buildContent(route.body) } }),
  ...(route.messages !== undefined && { 'x-websocket-messages': toReferencedSchema(route.messages) }),
  responses: { ...buildSuccessResponses(route), ...buildErrorResponses(route) },
});

const securitySchemes = Object.fromEntries(
  Object.entries(schemeNames).map(([kind, name]) => [
    name,
    {
      type: 'apiKey',
      in: 'header',
      name: `${name}-Auth`,
      description: `A ${kind} token. It may also come as \`Authorization: ${name} <token>\`.`,
    },
  ]),
);

const errorSchema = {
  type: 'object',
  description: 'The reply to every request that fails.',
  required: ['message', 'context'],
  properties: {
    message: { type: 'string', description: 'What went wrong, for people. It may change.' },
    context: {
      type: 'object',
      description:
        'Details for programs. For a failed check: one entry per field at fault, by its JSON Pointer, ' +
        'that says what is allowed.',
      required: ['code', 'request_id'],
      properties: {
        code: {
          type: 'string',
          description: 'What went wrong, for programs. It never changes.',
          enum: Object.keys(errorStatuses),
        },
        request_id: { type: 'string', description: 'Id of the request, by which the log has it.' },
      },
      additionalProperties: { type: 'string', description: 'A detail.' },
    },
  },
};

const buildComponents = (codes: ReadonlySet<ErrorCode>): Json => ({
  securitySchemes,
  schemas: { ...buildComponentSchemas(), Error: errorSchema },
  examples: Object.fromEntries([...codes].map((code) => [code, buildErrorExample(code)])),
  headers,
});

const toPathShape = (path: string): string => path.replace(/\{[^{}]+\}/g, '{}');

/**
 * The path under which a route is published. OpenAPI requires one parameter name per position (3.1, "Paths
 * Object"), so `/teams/{tid}` is published under `/teams/{id}` of the first route of that shape.
 */
export const findPublishedPath = (routes: readonly AnyRoute[], route: AnyRoute): string =>
  routes.find((other) => toPathShape(other.path) === toPathShape(route.path))?.path ?? route.path;

/** Builds the document. Paths keep the order of the routes. */
export const buildOpenApiDocument = (routes: readonly AnyRoute[]): Json => {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = findPublishedPath(routes, route);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: buildOperation(route, path) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Rollcall',
      version: '1',
      description: introduction,
      contact: { name: 'The operator of this directory' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: listSections(routes).map(({ name, description }) => ({
      name,
      description: `${description}\n${sectionRules[name] ?? ''}`.trim(),
    })),
    paths,
    webhooks: buildWebhooks(buildContent),
    components: buildComponents(new Set(routes.flatMap(listErrorCodes))),
  };
};
