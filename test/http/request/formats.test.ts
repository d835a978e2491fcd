/**
 * Numbers, times and UUIDs in requests: every one of every route, public and private, has bounds that SQL and
 * `Date` can take, for the check of bodies and paths as for the one of queries.
 */
import { type TSchema, Type } from 'typebox';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { statsIntegerMax } from '../../../engine/limits.ts';
import { routes } from '../../../http/api/table.ts';
import { adminOperations } from '../../../http/operator/table.ts';
import { compileCheck } from '../../../http/request/check.ts';
import { coerceQuery } from '../../../http/request/explain.ts';

const test = suite('formats');

type Node = Readonly<Record<string, unknown>>;

/** Finds every schema that `wanted` accepts, with its path as a name. */
const find = (
  value: unknown,
  name: string,
  wanted: (node: Node) => boolean,
): readonly (readonly [string, Node])[] => {
  if (typeof value !== 'object' || value === null) return [];
  const node = value as Node;
  const below = Object.entries(node).filter(([key]) => key !== 'examples');
  const found = below.flatMap(([key, member]) => find(member, `${name}/${key}`, wanted));
  return wanted(node) ? [[name, node], ...found] : found;
};
const findAll = (wanted: (node: Node) => boolean) =>
  [...routes, ...adminOperations.map(({ route }) => route)].flatMap(({ name, params, query, body }) =>
    find({ params, query, body }, name, wanted),
  );

const acceptsQuery = (schema: TSchema, value: unknown): boolean => {
  try {
    coerceQuery(Type.Object({ value: schema }), { value });
    return true;
  } catch {
    return false;
  }
};

test('every number of a request has a lowest and a highest value', () => {
  const numbers = findAll(({ type }) => type === 'integer' || type === 'number');

  assert.ok(numbers.length > 20, String(numbers.length));
  for (const [name, { minimum, maximum }] of numbers) {
    assert.type(minimum, 'number', name);
    assert.type(maximum, 'number', name);
    assert.ok((maximum as number) <= Number(statsIntegerMax), name);
  }
});

const times: readonly [string, boolean][] = [
  ['2026-03-01T12:00:00Z', true],
  ['2026-03-01t12:00:00.123456789z', true],
  ['2000-01-01T00:00:00+00:00', true],
  ['2199-12-31T23:59:59Z', true],
  ['2016-12-31T23:59:60Z', false],
  ['0000-01-01T00:00:00Z', false],
  ['1999-12-31T23:59:59Z', false],
  ['2200-01-01T00:00:00Z', false],
  ['9999-12-31T23:59:59-23:59', false],
  ['+010000-01-01T00:00:00Z', false],
  ['2026-02-30T00:00:00Z', false],
  ['2026-03-01T12:00:00', false],
  ['2026-03-01T12:00:00Z[UTC]', false],
  ['2026-03-01', false],
];
const uuids: readonly [string, boolean][] = [
  ['018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10', true],
  ['018F3B7E-7C1A-7D52-9D1E-2F6B1F6F7A10', true],
  ['urn:uuid:018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10', false],
  ['{018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10}', false],
  ['018f3b7e7c1a7d529d1e2f6b1f6f7a10', false],
];
for (const [format, values] of [
  ['date-time', times],
  ['uuid', uuids],
] as const) {
  test(`every ${format} of a request accepts what SQL and Date take, and nothing else`, () => {
    const schemas = findAll((node) => node.format === format);

    assert.ok(schemas.length >= 5, String(schemas.length));
    for (const [name, schema] of schemas) {
      const accepts = compileCheck(schema as unknown as TSchema);
      for (const [text, isValid] of values) {
        assert.is(accepts(text), isValid, `${name} ${text}`);
        assert.is(acceptsQuery(schema as unknown as TSchema, text), isValid, `${name} ${text}, in a query`);
      }
    }
  });
}

test.run();
