/**
 * The published document is complete, its references resolve, and its examples match their schemas. Ajv
 * validates it, which shares no code with the checks of the routes.
 */

import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { errorStatuses } from '../../../engine/errors.ts';
import { routes } from '../../../http/api/table.ts';
import { buildOpenApiDocument, findPublishedPath, listErrorCodes } from '../../../http/openapi/document.ts';
import { listParameterNames } from '../../../http/request/match.ts';

const test = suite('openapi');

interface Content {
  readonly schema: { readonly $ref?: string };
  readonly example?: unknown;
  readonly examples: Readonly<Record<string, unknown>>;
}
interface Exchanged {
  readonly headers?: object;
  readonly content?: { readonly 'application/json': Content };
}
interface Operation {
  readonly operationId: string;
  readonly security: readonly unknown[];
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly schema: { readonly enum?: readonly string[]; readonly examples?: readonly string[] };
  }[];
  readonly requestBody?: Exchanged;
  readonly responses: Readonly<Record<string, Exchanged>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly securitySchemes: object;
    readonly schemas: { readonly Error: object };
    readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
  };
}
/** The document as clients get it: plain JSON. */
const document: Document = JSON.parse(JSON.stringify(buildOpenApiDocument(routes)));
const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);

ajv.addSchema({ $id: 'rollcall', components: document.components });
/** A schema of the document, with references into the document. */
const compile = (schema: object): ValidateFunction =>
  ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"rollcall#/')));

const member = (node: unknown, key: string): unknown =>
  typeof node === 'object' && node !== null ? Reflect.get(node, key) : undefined;
const resolve = (ref: string): unknown => ref.slice(2).split('/').reduce(member, document);

const references = (node: unknown): string[] => {
  if (typeof node !== 'object' || node === null) return [];
  const ref = member(node, '$ref');
  return [...(typeof ref === 'string' ? [ref] : []), ...Object.values(node).flatMap(references)];
};

test('every route appears once, under its name', () => {
  const ids = Object.values(document.paths).flatMap((path) =>
    Object.values(path).map((operation) => operation.operationId),
  );

  assert.equal(ids.sort(), routes.map((route) => route.name).sort());
});

test('it validates against the official schema of OpenAPI 3.1', async () => {
  const verdict = await new Validator().validate({ ...document });

  assert.ok(verdict.valid, JSON.stringify(verdict.errors));
});

test('an independent linter finds nothing', async () => {
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: { 'operation-2xx-response': 'off' }, // a redirect is the success of `/@{code}`
  });
  const source = JSON.stringify(document);

  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });

  const findings = problems
    .map((problem) => `${problem.ruleId} ${problem.location[0]?.pointer} ${problem.message}`)
    // `/{target_type}/{target_id}/…` never means these: `badges` and `leaderboards` are no kinds of entity.
    .filter((problem) => !/^no-ambiguous-paths .*(#\/paths\/~1badges~1|`\/leaderboards\/)/.test(problem));
  assert.equal(findings, []);
});

test('docs/openapi.json is this document (npm run document writes it)', () => {
  const kept: unknown = JSON.parse(
    readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'),
  );

  assert.equal(kept, document);
});

test('no two paths differ only in the names of their parameters', () => {
  const shapes = Object.keys(document.paths).map((path) => path.replace(/\{[^}]+\}/g, '{}'));

  assert.is(new Set(shapes).size, shapes.length);
});

test('every reference resolves', () => {
  for (const ref of references(document)) assert.ok(resolve(ref), ref);
});

test('all four kinds of token are described', () => {
  assert.equal(Object.keys(document.components.securitySchemes), ['User', 'Bot', 'Server', 'Team']);
});

for (const route of routes) {
  const path = findPublishedPath(routes, route);
  const operation = document.paths[path]?.[route.method.toLowerCase()] as Operation;

  test(`${route.method} ${route.path}: path parameters, security and statuses are documented`, () => {
    const inPath = operation.parameters.filter((each) => each.in === 'path').map((each) => each.name);
    assert.equal([...inPath].sort(), listParameterNames(path).sort());
    assert.is(operation.security.length === 0, route.auth.kind === 'public');
    for (const status of Object.keys(route.replies)) assert.ok(operation.responses[status], status);
    for (const code of listErrorCodes(route)) {
      const response = operation.responses[errorStatuses[code]];
      assert.ok(response?.content?.['application/json'].examples[code], code);
    }
  });

  test(`${route.method} ${route.path}: every example matches its schema`, () => {
    const contents = [operation.requestBody, ...Object.values(operation.responses)]
      .map((each) => each?.content?.['application/json'])
      .filter(
        (each): each is Content => each !== undefined && each.schema.$ref !== '#/components/schemas/Error',
      );
    for (const { schema, example } of contents) {
      const validate = compile(schema);
      assert.ok(example !== undefined, 'has an example');
      assert.ok(validate(example), JSON.stringify(validate.errors));
    }
  });
}

const listOperations = (): readonly (Operation & { readonly title: string })[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, title: `${method} ${path}` })),
  );
const findOperation = (title: string): Operation =>
  listOperations().find((operation) => operation.title === title) as Operation;

test('each operation names the kinds that it takes, singular and plural', () => {
  const readKinds = (title: string): unknown => {
    const { parameters } = findOperation(title);
    return parameters.find(({ name }) => name === 'target_type')?.schema.enum?.join(' ');
  };

  assert.is(readKinds('get /{target_type}/{target_id}/rank'), 'bot server bots servers');
  assert.is(
    readKinds('get /{target_type}/{target_id}/sessions'),
    'user bot server team users bots servers teams',
  );
  assert.is(
    readKinds('get /badges/{target_type}/{target_id}/{file}'),
    'bot server team pack bots servers teams packs',
  );
  assert.is(readKinds('get /votes/credit-tiers'), 'bot server bots servers');
});

test('every path with a parameter may be 404', () => {
  const without = listOperations().filter(
    ({ title, responses }) => title.includes('{') && responses[404] === undefined,
  );

  assert.equal(
    without.map(({ title }) => title),
    [],
  );
});

test('what may be revalidated has ETag and 304, what is limited has RateLimit', () => {
  for (const route of routes) {
    const path = findPublishedPath(routes, route);
    const { responses } = (document.paths[path] ?? {})[route.method.toLowerCase()] as Operation;
    const [, success] = Object.entries(responses).find(([status]) => Number(status) < 400) ?? [];
    const isRevalidated = route.auth.kind === 'public' && route.caching !== 'no-store';
    assert.is('ETag' in (success?.headers ?? {}), isRevalidated, route.name);
    assert.is(responses[304] !== undefined, isRevalidated, route.name);
    assert.is('RateLimit' in (success?.headers ?? {}), route.limit !== undefined, route.name);
  }
});

test('the two operations that have a page say so', () => {
  const readHtml = (title: string): unknown => {
    const { content } = findOperation(title).responses[200] ?? {};
    return (content as Readonly<Record<string, unknown>> | undefined)?.['text/html'];
  };

  assert.equal(Object.keys(readHtml('get /search') as object), ['schema']);
  assert.equal(Object.keys(readHtml('get /@{code}') as object), ['schema']);
  assert.is(readHtml('get /bots/{id}'), undefined);
  assert.ok(findOperation('get /@{code}').responses[302]);
});

test('history is JSON or a table, each with its schema and an example', () => {
  const { responses } = findOperation('get /{target_type}/{target_id}/history');
  const content = responses[200]?.content as unknown as Readonly<Record<string, Content>>;

  assert.equal(Object.keys(content), ['application/json', 'text/csv']);
  assert.is(content['application/json']?.schema.$ref, '#/components/schemas/History');
  assert.match(String(content['text/csv']?.example), /^time,servers,votes\r\n2026/);
});

test('examples of headers are ASCII: a browser sends no request with another character', () => {
  const parameters = Object.values(document.paths)
    .flatMap((path) => Object.values(path))
    .flatMap((operation) => operation.parameters)
    .filter((parameter) => parameter.in === 'header');

  const examples = parameters.flatMap(({ schema }) => schema.examples ?? []);
  assert.ok(examples.length > 1);
  for (const example of examples) assert.match(example, /^[ -~]+$/);
});

test('every error example matches the error schema', () => {
  const validate = compile(document.components.schemas.Error);
  for (const example of Object.values(document.components.examples)) assert.ok(validate(example.value));
});

test.run();
