/**
 * The limits of bodies against the schemas: the limits let through every body that a schema allows.
 */
import type { TSchema } from 'typebox';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { routes } from '../../http/api/table.ts';
import { adminOperations } from '../../http/operator/table.ts';
import { usualBodyLimits } from '../../http/request/check.ts';

const test = suite('body limits');

interface Shape {
  readonly anyOf?: readonly Shape[];
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly patternProperties?: Readonly<Record<string, Shape>>;
  readonly maxProperties?: number;
  readonly items?: Shape;
  readonly maxItems?: number;
}

/** The most values that a body of this schema has, counted as http/request/check.ts counts them. */
const valuesMaxOf = (shape: Shape, path: string): number => {
  if (shape.anyOf !== undefined) return Math.max(...shape.anyOf.map((one) => valuesMaxOf(one, path)));
  if (shape.items !== undefined) {
    assert.ok(shape.maxItems !== undefined, `${path} is a list without a bound`);
    return Math.max(1, shape.maxItems * (1 + valuesMaxOf(shape.items, `${path}/0`)));
  }
  if (shape.patternProperties !== undefined) {
    assert.ok(shape.maxProperties !== undefined, `${path} is a map without a bound`);
    const each = Object.values(shape.patternProperties).map((one) => valuesMaxOf(one, `${path}/*`));
    return Math.max(1, shape.maxProperties * (1 + Math.max(...each)));
  }
  const members = Object.entries(shape.properties ?? {});
  return members.reduce((sum, [name, one]) => sum + 1 + valuesMaxOf(one, `${path}/${name}`), 0);
};

const withBodies = [...routes, ...adminOperations.map(({ route }) => route)].filter(
  ({ body }) => body !== undefined,
);

for (const route of withBodies) {
  test(`${route.name}: a body that the schema allows is within the bounds, with 64 unknown fields`, () => {
    const limits = route.bodyLimits ?? usualBodyLimits;
    const schema: TSchema & Shape = route.body;
    const fields = Object.keys(schema.properties ?? {}).length;

    assert.ok(fields > 0 && fields <= limits.fieldsMax / 4, `${fields} fields`);
    assert.ok(valuesMaxOf(schema, '') + 64 <= limits.valuesMax, `${valuesMaxOf(schema, '')} values`);
  });
}

test.run();
