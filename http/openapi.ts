/**
 * The OpenAPI 3.1 document, assembled from the rows: the same objects that check requests describe them.
 *
 * TypeBox schemas are JSON Schema 2020-12 already, so nothing is translated; shapes with a name are referred
 * to. Every status a row can answer is documented: successes with the example of their schema, errors with
 * one example per code. Pure. Served by docs/rows.ts; tests judge real replies by this document.
 */
import type { TObject, TSchema } from 'typebox';
import { type ErrorCode, errorStatuses } from '../engine/errors.ts';
import type { TokenKind } from '../engine/rules/token.ts';
import { namedSchemas, referring } from './openapi-schemas.ts';
import type { AnyRow } from './route.ts';

type Json = Record<string, unknown>;

const schemeOf: Record<TokenKind, string> = { user: 'User', bot: 'Bot', server: 'Server', team: 'Team' };

const kindsOf = (row: AnyRow): readonly TokenKind[] => {
  const { auth } = row;
  if (auth.word === 'public') return [];
  if ('kinds' in auth) return auth.kinds;
  return auth.word === 'bot' ? ['bot'] : ['user'];
};

const always: readonly ErrorCode[] = [
  'malformed_request',
  'content_encoding_unsupported',
  'internal',
  'store_unavailable',
  'overloaded',
  'deadline_passed',
  'draining',
];
const withToken: readonly ErrorCode[] = [
  'token_missing',
  'token_invalid',
  'token_kind_unsupported',
  'tokens_disagree',
  'banned',
];
const withBody: readonly ErrorCode[] = ['malformed_json', 'validation_failed', 'body_too_large'];

const fieldsOf = (schema: TObject | undefined): string[] => Object.keys(schema?.properties ?? {});

const authErrors = (row: AnyRow): ErrorCode[] => {
  const { word } = row.auth;
  if (word === 'public') return [];
  if (word === 'self') return [...withToken, 'user_mismatch', 'forbidden'];
  if (word === 'entity') return [...withToken, 'user_mismatch', 'permission_missing', 'not_found'];
  if (word === 'kinds') return [...withToken, 'permission_missing'];
  if (word === 'owner') return [...withToken, 'permission_missing', 'forbidden', 'not_found'];
  return word === 'user' ? [...withToken, 'forbidden'] : [...withToken];
};

/** Every code a row can answer with: its own, and those its shape brings. */
export const errorsOf = (row: AnyRow): readonly ErrorCode[] => {
  const codes = new Set<ErrorCode>([...always, ...authErrors(row), ...row.errors]);
  if (row.body !== undefined) for (const code of withBody) codes.add(code);
  const query = fieldsOf(row.query);
  if (query.length > 0 || fieldsOf(row.params).length > 0) codes.add('validation_failed');
  if (query.includes('page')) codes.add('page_invalid');
  if (row.limit !== undefined) codes.add('rate_limited');
  return [...codes];
};

const exampleOf = (schema: TSchema): unknown => {
  const { examples } = schema as { examples?: readonly unknown[] };
  return examples?.[0];
};

const parameter = (place: 'path' | 'query', schema: TObject, name: string): Json => {
  const field = schema.properties[name] as TSchema & { description?: string };
  const required = place === 'path' || (schema.required ?? []).includes(name);
  const described = field.description === undefined ? {} : { description: field.description };
  return { name, in: place, required, ...described, schema: field };
};

/** The row's names of path parameters, in the order of the path. */
const namesIn = (path: string): string[] =>
  [...path.matchAll(/\{([^{}]+)\}/g)].map((match) => match[1] ?? '');

const parametersOf = (row: AnyRow, path: string): Json[] => {
  const params = row.params as TObject;
  const query = row.query as TObject | undefined;
  const published = namesIn(path);
  return [
    ...namesIn(row.path).map((name, index) => ({
      ...parameter('path', params, name),
      name: published[index],
    })),
    ...fieldsOf(query).map((name) => parameter('query', query as TObject, name)),
  ];
};

const content = (schema: TSchema): Json => {
  const example = exampleOf(schema);
  const published = { schema: referring(schema) };
  return { 'application/json': example === undefined ? published : { ...published, example } };
};

const errorWords: Partial<Record<ErrorCode, Json>> = {
  validation_failed: { '/short': 'must have at least 30 characters' },
  permission_missing: { permission: 'edit_bots' },
  vote_wait: { hours: '3', minutes: '20', seconds: '5' },
  store_unavailable: { outcome: 'not_applied' },
  overloaded: { outcome: 'not_applied' },
  deadline_passed: { outcome: 'unknown' },
};

const errorExample = (code: ErrorCode): Json => ({
  summary: code,
  value: {
    message: 'Words for a person.',
    context: { ...errorWords[code], code, request_id: '4f1c22aa-00001b' },
  },
});

const errorResponses = (codes: readonly ErrorCode[]): Json => {
  const responses: Record<string, Json> = {};
  for (const status of new Set(codes.map((code) => errorStatuses[code]))) {
    const mine = codes.filter((code) => errorStatuses[code] === status);
    responses[status] = {
      description: mine.join(', '),
      headers:
        status === 429 || status === 503
          ? { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }
          : {},
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/Error' },
          examples: Object.fromEntries(mine.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
        },
      },
    };
  }
  return responses;
};

const successResponses = (row: AnyRow): Json =>
  Object.fromEntries(
    Object.entries(row.replies).map(([status, schema]) => [
      status,
      schema === null
        ? emptyResponse(Number(status))
        : {
            description: 'Success.',
            headers: { 'X-Request-Id': requestIdHeader },
            content: content(schema as TSchema),
          },
    ]),
  );

const emptyResponse = (status: number): Json =>
  status === 302
    ? {
        description: 'Redirect; no body.',
        headers: { 'X-Request-Id': requestIdHeader, Location: { schema: { type: 'string' } } },
      }
    : { description: 'Done; no body.', headers: { 'X-Request-Id': requestIdHeader } };

const requestIdHeader = { $ref: '#/components/headers/RequestId' };

const operationOf = (row: AnyRow, path: string): Json => {
  const kinds = kindsOf(row);
  return {
    operationId: row.name,
    tags: [row.section],
    summary: row.summary,
    ...(row.description === undefined ? {} : { description: row.description }),
    security: kinds.map((kind) => ({ [schemeOf[kind]]: [] })),
    parameters: parametersOf(row, path),
    ...(row.body === undefined ? {} : { requestBody: { required: true, content: content(row.body) } }),
    responses: { ...successResponses(row), ...errorResponses(errorsOf(row)) },
  };
};

const securitySchemes = Object.fromEntries(
  Object.entries(schemeOf).map(([kind, name]) => [
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
  required: ['message', 'context'],
  properties: {
    message: { type: 'string' },
    context: {
      type: 'object',
      required: ['code', 'request_id'],
      properties: { code: { enum: Object.keys(errorStatuses) }, request_id: { type: 'string' } },
      additionalProperties: { type: 'string' },
    },
  },
};

/** What each section of the interface is for. */
const sectionWords: Readonly<Record<string, string>> = {
  'Sessions and login': 'Tokens: listing, making and revoking them, logging in, testing one.',
  Bots: 'Bots, their statistics and their settings.',
  Servers: 'Chat servers.',
  Teams: 'Teams, their members and what each of them may do.',
  Packs: 'Collections of bots and servers.',
  Votes: 'Votes up and down, and the credits they are worth.',
  Applications: 'Applying for a position.',
  Reminders: 'Being told when one can vote again.',
  Blog: 'Posts of the directory.',
  Vanity: 'Short addresses.',
  Shop: 'What credits buy.',
  Notifications: 'Push subscriptions of browsers.',
};

const tagOf = (name: string): Json => ({ name, description: sectionWords[name] ?? `${name}.` });

const componentsOf = (codes: ReadonlySet<ErrorCode>): Json => ({
  securitySchemes,
  schemas: { ...namedSchemas(), Error: errorSchema },
  examples: Object.fromEntries([...codes].map((code) => [code, errorExample(code)])),
  headers: {
    RequestId: { description: 'Id of this request, also in error bodies.', schema: { type: 'string' } },
    RetryAfter: { description: 'Whole seconds to wait.', schema: { type: 'integer', minimum: 1 } },
  },
});

const shapeOf = (path: string): string => path.replace(/\{[^{}]+\}/g, '{}');

/**
 * The path under which a row is published: OpenAPI wants one name for a parameter in one place (3.1, "Paths
 * Object"), so `/teams/{tid}` stands under the `/teams/{id}` of the first row of that shape.
 */
export const publishedPath = (rows: readonly AnyRow[], row: AnyRow): string =>
  rows.find((other) => shapeOf(other.path) === shapeOf(row.path))?.path ?? row.path;

/** Assembles the document. Paths keep the order of the rows. */
export const openApiDocument = (rows: readonly AnyRow[]): Json => {
  const paths: Record<string, Json> = {};
  for (const row of rows) {
    const path = publishedPath(rows, row);
    paths[path] = { ...paths[path], [row.method.toLowerCase()]: operationOf(row, path) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Rollcall',
      version: '1',
      description:
        'A public listing directory for bots, servers, teams and packs. Errors: `{message, context}`.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(rows.map((row) => row.section))].map(tagOf),
    paths,
    components: componentsOf(new Set(rows.flatMap(errorsOf))),
  };
};
