/**
 * Builds object schemas whose example is made of the examples of their fields, so that no field is written
 * twice. Used by the other files of this folder.
 */
import { type TProperties, type TSchema, Type } from 'typebox';

/** What a field without an example shows. */
const usualValues: Readonly<Record<string, unknown>> = { boolean: false, integer: 0, number: 0, string: '' };

/** The first example of a schema; without one an empty value of its type. */
export const findExample = (schema: TSchema): unknown => {
  const { examples, type, items, anyOf } = schema as {
    readonly examples?: readonly unknown[];
    readonly type?: string;
    readonly items?: { readonly examples?: readonly unknown[] };
    readonly anyOf?: unknown;
  };
  if (examples !== undefined) return examples[0];
  if (type === 'array') return items?.examples ?? [];
  if (anyOf !== undefined) return null;
  return usualValues[type ?? ''] ?? {};
};

/** Builds an object schema with an example; `own` replaces values of it, and adds optional fields to it. */
export const buildObject = <Fields extends TProperties>(
  fields: Fields,
  own: { readonly [Name in keyof Fields]?: unknown } = {},
) => {
  const { required = [] } = Type.Object(fields) as { readonly required?: readonly string[] };
  const usual = required.map((name) => [name, findExample(fields[name] as TSchema)]);
  return Type.Object(fields, { examples: [{ ...Object.fromEntries(usual), ...own }] });
};
