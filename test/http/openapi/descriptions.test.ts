/**
 * The published document explains itself: every operation, parameter, header, named schema and field has a
 * description, titles are short, and what newcomers need comes first.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { routes } from '../../../http/api/table.ts';
import { buildOpenApiDocument } from '../../../http/openapi/document.ts';

const test = suite('descriptions');

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly additionalProperties?: Schema | boolean;
}
interface Described {
  readonly description?: string;
}
interface Exchanged {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}
interface Operation extends Described {
  readonly summary: string;
  readonly tags: readonly string[];
  readonly 'x-badges'?: readonly { readonly name: string }[];
  readonly parameters: readonly (Described & { readonly name: string })[];
  readonly requestBody?: Exchanged;
  readonly responses: Readonly<Record<string, Exchanged & Described>>;
}
interface Document {
  readonly info: Described;
  readonly tags: readonly (Described & { readonly name: string })[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly headers: Readonly<Record<string, Described>>;
    readonly securitySchemes: Readonly<Record<string, Described>>;
  };
}
const document: Document = JSON.parse(JSON.stringify(buildOpenApiDocument(routes)));

const isEmpty = ({ description = '' }: Described): boolean => description.trim() === '';

/** The fields below a schema that have no description, by their path. */
const listUndescribed = (schema: Schema, path: string): string[] => {
  const { properties = {}, items, anyOf = [], additionalProperties } = schema;
  const inner = [
    ...anyOf.map((each) => [path, each] as const),
    ...(items === undefined ? [] : [[`${path}[]`, items] as const]),
    ...(typeof additionalProperties === 'object' ? [[`${path}{}`, additionalProperties] as const] : []),
  ];
  return [
    ...Object.entries(properties).flatMap(([name, field]) => [
      ...(isEmpty(field) ? [`${path}.${name}`] : []),
      ...listUndescribed(field, `${path}.${name}`),
    ]),
    ...inner.flatMap(([place, each]) => listUndescribed(each, place)),
  ];
};

const listUndescribedIn = (exchanged: Exchanged | undefined, path: string): string[] =>
  Object.values(exchanged?.content ?? {}).flatMap(({ schema }) => listUndescribed(schema, path));

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ title: `${method} ${path}`, operation })),
);

test('every operation has a description of its own, beside its title', () => {
  assert.equal(
    routes.filter(({ description = '' }) => description.length < 20).map(({ name }) => name),
    [],
  );
  assert.equal(
    operations.filter(({ operation }) => isEmpty(operation)).map(({ title }) => title),
    [],
  );
});

test('every parameter and every field of a request or a reply has a description', () => {
  const missing = operations.flatMap(({ title, operation }) => [
    ...operation.parameters.filter(isEmpty).map(({ name }) => `${title} ${name}`),
    ...listUndescribedIn(operation.requestBody, `${title} body`),
    ...Object.entries(operation.responses).flatMap(([status, response]) => [
      ...(isEmpty(response) ? [`${title} ${status}`] : []),
      ...listUndescribedIn(response, `${title} ${status}`),
    ]),
  ]);

  assert.equal(missing, []);
});

test('every named schema and every field of it has a description', () => {
  const missing = Object.entries(document.components.schemas).flatMap(([name, schema]) => [
    ...(isEmpty(schema) ? [name] : []),
    ...listUndescribed(schema, name),
  ]);

  assert.equal(missing, []);
});

test('so does every header, kind of token and section', () => {
  const { headers, securitySchemes } = document.components;
  const named = [...Object.entries(headers), ...Object.entries(securitySchemes)];

  assert.equal(
    named.filter(([, each]) => isEmpty(each)).map(([name]) => name),
    [],
  );
  // A section that has no description of its own is described by its name.
  assert.equal(
    document.tags.filter(({ name, description }) => isEmpty({ description }) || description === `${name}.`),
    [],
  );
});

test('titles are short, and differ within a section', () => {
  const long = operations.filter(({ operation }) => operation.summary.length > 40);
  const places = operations.map(({ operation }) => `${operation.tags[0]}: ${operation.summary}`);

  assert.equal(
    long.map(({ operation }) => operation.summary),
    [],
  );
  assert.equal(
    places.filter((place, index) => places.indexOf(place) !== index),
    [],
  );
});

test('stats come first, then votes; every section of an operation is listed', () => {
  const names = document.tags.map(({ name }) => name);

  assert.equal(names.slice(0, 2), ['Stats', 'Votes']);
  for (const { title, operation } of operations)
    assert.ok(
      operation.tags.every((tag) => names.includes(tag)),
      title,
    );
});

test('what is not in the contract has a mark that says so', () => {
  const beyond = 'Beyond the contract';
  const marked = operations.filter(({ operation }) => operation['x-badges']?.[0]?.name === beyond);

  assert.is(marked.length, routes.filter(({ section }) => section === beyond).length);
  assert.is(operations.length - marked.length, 60, 'the contract');
});

test('the search of the page lists an operation once: it has one tag', () => {
  const several = operations.filter(({ operation }) => operation.tags.length !== 1);

  assert.equal(
    several.map(({ title }) => title),
    [],
  );
});

test('the document opens with what a first call needs', () => {
  const headings = [...(document.info.description ?? '').matchAll(/^# (.*)$/gm)].map(([, text]) => text);

  assert.equal(headings, [
    'First call',
    'Tokens',
    'Limits',
    'Errors',
    'Posting',
    'Votes',
    'Webhooks',
    'Live',
  ]);
});

test.run();
