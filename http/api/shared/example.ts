/**
 * Builds object schemas whose example is made of the examples of their fields, so that no field is written
 * twice, and gives a shared schema, or a shared example, a description for one place.
 */
import { type TProperties, type TSchema, Type } from 'typebox';

/** For each copy that `describe` made, the schema it was made of. */
const originals = new WeakMap<object, object>();

/**
 * A copy of a schema that says what the value means in one place. The document still refers to a named schema
 * by its name (openapi/schemas.ts).
 */
export const describe = <Schema extends TSchema>(schema: Schema, description: string): Schema => {
  // Some members are not enumerable: TypeBox marks kinds and optional fields with them.
  const members = { ...Object.getOwnPropertyDescriptors(schema), description: toMember(description) };
  const copy = Object.defineProperties({}, members) as Schema;
  originals.set(copy, findOriginal(schema));
  return copy;
};

const toMember = (value: string) => ({ value, enumerable: true, writable: true, configurable: true });

/** The schema that `describe` was given first; the schema itself if it is no copy. */
export const findOriginal = (schema: object): object => originals.get(schema) ?? schema;

/** Builds the schema of the address of a picture. */
export const buildPicture = (description: string) =>
  Type.String({ description, examples: ['https://cdn.example.org/avatars/815553000470478850.webp'] });

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

/** The same, with what the object is. */
export const describeObject = <Fields extends TProperties>(
  description: string,
  fields: Fields,
  own?: Parameters<typeof buildObject<Fields>>[1],
) => describe(buildObject(fields, own), description);
