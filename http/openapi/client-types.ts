/**
 * Writes the types of the client libraries, http/client/types.ts and _types.py of http/client-python, from
 * the OpenAPI document, so that they cannot differ from what the server checks. Pure.
 */

import { isDeepStrictEqual } from 'node:util';

interface Schema {
  readonly type?: string;
  readonly $ref?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
}
interface Exchanged {
  readonly content: { readonly 'application/json'?: { readonly schema: Schema } };
}
interface Operation {
  readonly operationId: string;
  readonly requestBody?: Exchanged;
  readonly responses: Readonly<Record<string, Partial<Exchanged>>>;
}
export interface TypedDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface NamedType {
  readonly name: string;
  readonly description: string;
  readonly fields: readonly Field[];
}
interface Field {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  readonly type: string;
}
/** How a language writes types. */
interface Syntax {
  readonly header: string;
  /** Between two types. */
  readonly gap: string;
  readonly plain: Readonly<Record<string, string>>;
  readonly texts: string;
  readonly unknown: string;
  literal(values: readonly unknown[]): string;
  list(type: string): string;
  /** `base` has some of its fields; `null` for none. */
  type(type: NamedType, base: NamedType | null): string;
}

const wrapAt = 100;

const wrap = (description: string): string[] => {
  const lines = [''];
  for (const word of description.split(/\s+/)) {
    const last = lines.at(-1) as string;
    if (last !== '' && last.length + word.length >= wrapAt) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
};

/** A comment of one line, or of several. */
const toComment = (description: string, indent: string): string[] => {
  if (description === '') return [];
  const lines = wrap(description);
  if (lines.length === 1) return [`${indent}/** ${lines[0]} */`];
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`), `${indent} */`];
};

const typescript: Syntax = {
  header: `/**
 * The types of requests and replies. Generated from the OpenAPI document by \`npm run document\`.
 */
`,
  gap: '\n',
  plain: { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' },
  texts: 'Readonly<Record<string, string>>',
  unknown: 'unknown',
  literal: (values) => values.map((value) => `'${value}'`).join(' | '),
  list: (type) => (type.includes(' ') ? `readonly (${type})[]` : `readonly ${type}[]`),
  type: ({ name, description, fields }, base) =>
    [
      ...toComment(description, ''),
      `export interface ${name} ${base === null ? '' : `extends ${base.name} `}{`,
      ...fields
        .filter((field) => base === null || !includesField(base, field))
        .flatMap((field) => [
          ...toComment(field.description, '  '),
          `  readonly ${field.name}${field.required ? '' : '?'}: ${field.type};`,
        ]),
      '}',
    ].join('\n'),
};

/** A text below a class or a field, which editors show. */
const toDocstring = (description: string): string[] => {
  if (description === '') return [];
  const [first = '', ...others] = wrap(description);
  if (others.length === 0) return [`    """${first}"""`];
  return [`    """${first}`, ...others.map((line) => `    ${line}`), '    """'];
};
const toPythonClass = (head: string, description: string, fields: readonly Field[]): string => {
  const lines = fields.flatMap(({ name, type, ...field }) => [
    `    ${name}: ${type}`,
    ...toDocstring(field.description),
  ]);
  const described = toDocstring(description);
  const gap = described.length > 0 && lines.length > 0 ? [''] : [];
  return [head, ...described, ...gap, ...lines].join('\n');
};

const python: Syntax = {
  header: `"""The types of requests and replies. Generated from the document by \`npm run document\`."""

from __future__ import annotations

from typing import Literal, Mapping, Sequence, TypedDict

`,
  gap: '\n\n\n',
  plain: { string: 'str', integer: 'int', number: 'float', boolean: 'bool', null: 'None' },
  texts: 'Mapping[str, str]',
  unknown: 'object',
  literal: (values) => `Literal[${values.map((value) => `"${value}"`).join(', ')}]`,
  list: (type) => `Sequence[${type}]`,
  // Python 3.9 says of a whole class whether its fields may be absent.
  type: ({ name, description, fields }) => {
    const required = fields.filter((field) => field.required);
    const optional = fields.filter((field) => !field.required);
    if (optional.length === 0) return toPythonClass(`class ${name}(TypedDict):`, description, required);
    if (required.length === 0)
      return toPythonClass(`class ${name}(TypedDict, total=False):`, description, optional);
    const base = toPythonClass(`class _${name}Required(TypedDict):`, '', required);
    const head = `class ${name}(_${name}Required, total=False):`;
    return `${base}\n\n\n${toPythonClass(head, description, optional)}`;
  },
};

const toPascal = (name: string): string =>
  name
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

const toShape = (schema: Schema): string => JSON.stringify({ ...schema, description: '' });

/** Collects types by name; nested objects become types of their own. */
const createWriter = (schemas: Readonly<Record<string, Schema>>, syntax: Syntax) => {
  const written = new Map<string, NamedType>();
  /** The name of a type by its schema: objects alike but for their description share one. */
  const names = new Map(Object.entries(schemas).map(([name, schema]) => [toShape(schema), name]));

  const toType = (schema: Schema, name: string): string => {
    if (schema.$ref !== undefined) {
      const referred = schema.$ref.slice('#/components/schemas/'.length);
      write(referred, schemas[referred] ?? {});
      return referred;
    }
    if (schema.const !== undefined) return syntax.literal([schema.const]);
    if (schema.enum !== undefined) return syntax.literal(schema.enum);
    if (schema.anyOf !== undefined) return schema.anyOf.map((each) => toType(each, name)).join(' | ');
    if (schema.items !== undefined) return syntax.list(toType(schema.items, name.replace(/s$/, '')));
    if (schema.properties !== undefined) {
      const type = names.get(toShape(schema)) ?? name;
      write(type, schema);
      return type;
    }
    if (schema.type === 'object') return syntax.texts;
    return syntax.plain[schema.type ?? ''] ?? syntax.unknown;
  };

  const write = (name: string, schema: Schema): void => {
    if (written.has(name)) return;
    names.set(toShape(schema), name);
    const { description = '' } = schema;
    written.set(name, { name, description, fields: [] });
    const required = new Set(schema.required);
    const fields = Object.entries(schema.properties ?? {}).map(([field, each]) => ({
      name: field,
      description: each.description ?? '',
      required: required.has(field),
      type: toType(each, name + toPascal(field)),
    }));
    written.set(name, { name, description, fields });
  };
  return { toType, write, written };
};
type Writer = ReturnType<typeof createWriter>;

/** A type that repeats fewer fields of another does not extend it. */
const sharedFieldsMin = 5;

const includesField = ({ fields }: NamedType, field: Field): boolean =>
  fields.some((one) => isDeepStrictEqual(one, field));

/** The largest other type all of whose fields this type has; `null` for none. */
const findBase = (type: NamedType, types: readonly NamedType[]): NamedType | null =>
  types
    .filter(({ fields }) => fields.length >= sharedFieldsMin && fields.length < type.fields.length)
    .filter(({ fields }) => fields.every((field) => includesField(type, field)))
    .toSorted((one, other) => other.fields.length - one.fields.length)[0] ?? null;

const findReply = ({ responses }: Operation): Schema | undefined =>
  Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content?.['application/json']
    ?.schema;

/** Types of the library's own functions, written first, so that they keep these names. */
const writeUsed = ({ write }: Writer, { paths, components }: TypedDocument): void => {
  const read = (method: string, path: string): Operation => paths[path]?.[method] as Operation;
  const body = ({ requestBody }: Operation) => requestBody?.content['application/json']?.schema as Schema;
  const reply = (operation: Operation) => findReply(operation) as Schema;
  write('ApiResponse', components.schemas.ApiResponse as Schema);
  write('StatsBody', body(read('post', '/bots/stats')));
  write('ShardsBody', body(read('post', '/bots/stats/shards')));
  write('VoteStatus', reply(read('get', '/users/{uid}/{target_type}/{target_id}/votes')));
  write('VoteLog', reply(read('get', '/{target_type}/{target_id}/votes/log')));
};

const toSource = (syntax: Syntax, { written }: Writer, ...more: readonly NamedType[]): string => {
  const types = [...written.values()];
  const texts = [...types, ...more].map((type) => syntax.type(type, findBase(type, types)));
  return `${syntax.header}\n${texts.join(syntax.gap)}\n`;
};

/** Returns the source of http/client/types.ts: also what every operation replies. */
export const buildClientTypes = (document: TypedDocument): string => {
  const writer = createWriter(document.components.schemas, typescript);
  writeUsed(writer, document);
  const replies = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => {
      const schema = findReply(operation);
      const name = `${operation.operationId.charAt(0).toUpperCase()}${operation.operationId.slice(1)}Reply`;
      const type = schema === undefined ? 'null' : writer.toType(schema, name);
      return { name: `'${method.toUpperCase()} ${path}'`, description: '', required: true, type };
    }),
  );
  const described = 'What each operation replies, by method and path; `null` for nothing.';
  return toSource(typescript, writer, { name: 'Replies', description: described, fields: replies });
};

/** Returns the source of _types.py. */
export const buildPythonTypes = (document: TypedDocument): string => {
  const writer = createWriter(document.components.schemas, python);
  writeUsed(writer, document);
  return toSource(python, writer);
};
