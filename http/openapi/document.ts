/**
 * Builds the OpenAPI 3.1 document from the routes: the objects that check requests also describe them.
 *
 * TypeBox schemas already are JSON Schema 2020-12, so nothing is translated; named schemas are referenced.
 * Every status that a route can answer is documented: successes with the example of their schema, errors with
 * one example per code. Pure. Served by docs-routes.ts; tests check real replies against this document.
 */
import type { TObject, TSchema } from 'typebox';
import { type ErrorCode, errorStatuses } from '../../engine/errors.ts';
import type { TokenKind } from '../../engine/rules/token.ts';
import type { AnyRoute } from '../route.ts';
import { describeAccess } from './access.ts';
import { introduction } from './introduction.ts';
import { buildComponentSchemas, toReferencedSchema } from './schemas.ts';
import { listAllTags, listTags } from './sections.ts';

type Json = Record<string, unknown>;

const schemeNames: Record<TokenKind, string> = { user: 'User', bot: 'Bot', server: 'Server', team: 'Team' };

const listTokenKinds = (route: AnyRoute): readonly TokenKind[] => {
  const { auth } = route;
  if (auth.kind === 'public') return [];
  if ('kinds' in auth) return auth.kinds;
  return auth.kind === 'bot' ? ['bot'] : ['user'];
};

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

const listAuthErrors = (route: AnyRoute): ErrorCode[] => {
  const { kind } = route.auth;
  if (kind === 'public') return [];
  if (kind === 'self') return [...tokenErrors, 'user_mismatch', 'forbidden'];
  if (kind === 'entity') return [...tokenErrors, 'user_mismatch', 'permission_missing', 'not_found'];
  if (kind === 'kinds') return [...tokenErrors, 'permission_missing'];
  if (kind === 'owner') return [...tokenErrors, 'permission_missing', 'forbidden', 'not_found'];
  return kind === 'user' ? [...tokenErrors, 'forbidden'] : [...tokenErrors];
};

/** Every error code that a route can answer with: its own, and those that follow from its shape. */
export const listErrorCodes = (route: AnyRoute): readonly ErrorCode[] => {
  const codes = new Set<ErrorCode>([...commonErrors, ...listAuthErrors(route), ...route.errors]);
  if (route.body !== undefined) for (const code of bodyErrors) codes.add(code);
  const query = listFields(route.query);
  if (query.length > 0 || listFields(route.params).length > 0) codes.add('validation_failed');
  if (query.includes('page')) codes.add('page_invalid');
  if (route.limit !== undefined) codes.add('rate_limited');
  return [...codes];
};

const findExample = (schema: TSchema): unknown => {
  const { examples } = schema as { examples?: readonly unknown[] };
  return examples?.[0];
};

const buildParameter = (location: 'path' | 'query', schema: TObject, name: string): Json => {
  const field = schema.properties[name] as TSchema & { description?: string };
  const required = location === 'path' || (schema.required ?? []).includes(name);
  const described = field.description === undefined ? {} : { description: field.description };
  return { name, in: location, required, ...described, schema: field };
};

/** Names of the path parameters, in the order of the path. */
const listPathNames = (path: string): string[] =>
  [...path.matchAll(/\{([^{}]+)\}/g)].map((match) => match[1] ?? '');

const buildParameters = (route: AnyRoute, path: string): Json[] => {
  const params = route.params as TObject;
  const query = route.query as TObject | undefined;
  const published = listPathNames(path);
  return [
    ...listPathNames(route.path).map((name, index) => ({
      ...buildParameter('path', params, name),
      name: published[index],
    })),
    ...listFields(query).map((name) => buildParameter('query', query as TObject, name)),
  ];
};

const buildContent = (schema: TSchema): Json => {
  const example = findExample(schema);
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

const buildErrorResponses = (codes: readonly ErrorCode[]): Json => {
  const responses: Record<string, Json> = {};
  for (const status of new Set(codes.map((code) => errorStatuses[code]))) {
    const codesOfStatus = codes.filter((code) => errorStatuses[code] === status);
    responses[status] = {
      description: codesOfStatus.join(', '),
      headers:
        status === 429 || status === 503
          ? { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }
          : {},
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

const buildSuccessResponses = (route: AnyRoute): Json =>
  Object.fromEntries(
    Object.entries(route.replies).map(([status, schema]) => [
      status,
      schema === null
        ? buildEmptyResponse(Number(status))
        : {
            description: 'Success.',
            headers: { 'X-Request-Id': requestIdHeader },
            content: {
              ...(route.events === true
                ? { 'text/event-stream': { schema: toReferencedSchema(schema as TSchema) } }
                : buildContent(schema as TSchema)),
              ...(route.pictures === true && { 'image/svg+xml': { schema: { type: 'string' } } }),
              ...(route.tables === true && { 'text/csv': { schema: { type: 'string' } } }),
            },
          },
    ]),
  );

const buildEmptyResponse = (status: number): Json =>
  status === 302
    ? {
        description: 'Redirect; no body.',
        headers: { 'X-Request-Id': requestIdHeader, Location: { schema: { type: 'string' } } },
      }
    : { description: 'Done; no body.', headers: { 'X-Request-Id': requestIdHeader } };

const requestIdHeader = { $ref: '#/components/headers/RequestId' };

const buildOperation = (route: AnyRoute, path: string): Json => {
  const kinds = listTokenKinds(route);
  return {
    operationId: route.name,
    tags: listTags(route),
    summary: route.summary,
    description: [route.description ?? route.summary, describeAccess(route)].join('\n\n'),
    security: kinds.map((kind) => ({ [schemeNames[kind]]: [] })),
    parameters: buildParameters(route, path),
    ...(route.body === undefined
      ? {}
      : { requestBody: { required: true, content: buildContent(route.body) } }),
    ...(route.messages !== undefined && { 'x-websocket-messages': toReferencedSchema(route.messages) }),
    responses: { ...buildSuccessResponses(route), ...buildErrorResponses(listErrorCodes(route)) },
  };
};

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
  headers: {
    RequestId: { description: 'Id of this request, also in error bodies.', schema: { type: 'string' } },
    RetryAfter: { description: 'Whole seconds to wait.', schema: { type: 'integer', minimum: 1 } },
  },
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
    tags: listAllTags(routes),
    paths,
    components: buildComponents(new Set(routes.flatMap(listErrorCodes))),
  };
};
