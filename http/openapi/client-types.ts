/**
 * Writes http/client/types.ts, the types of the client, from the OpenAPI document, so that they cannot differ
 * from what the server checks. Pure. Used by `npm run document` and a test.
 */

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
  readonly content: { readonly 'application/json': { readonly schema: Schema } };
}
interface Operation {
  readonly requestBody?: Exchanged;
  readonly responses: Readonly<Record<string, Exchanged>>;
}
export interface TypedDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const wrapAt = 100;

/** A comment of one line, or of several. */
const toComment = (description: string | undefined, indent: string): string[] => {
  if (description === undefined) return [];
  const lines = [''];
  for (const word of description.split(/\s+/)) {
    const last = lines.at(-1) as string;
    if (last !== '' && last.length + word.length >= wrapAt) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  if (lines.length === 1) return [`${indent}/** ${lines[0]} */`];
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`), `${indent} */`];
};

const toPascal = (name: string): string =>
  name
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

const plainTypes: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

/** Collects interfaces by name; nested objects become interfaces of their own. */
const createWriter = (schemas: Readonly<Record<string, Schema>>) => {
  const written = new Map<string, string>();

  const toType = (schema: Schema, name: string): string => {
    if (schema.$ref !== undefined) {
      const referred = schema.$ref.slice('#/components/schemas/'.length);
      write(referred, schemas[referred] ?? {});
      return referred;
    }
    if (schema.const !== undefined) return `'${schema.const}'`;
    if (schema.enum !== undefined) return schema.enum.map((value) => `'${value}'`).join(' | ');
    if (schema.anyOf !== undefined) return schema.anyOf.map((each) => toType(each, name)).join(' | ');
    if (schema.items !== undefined) return `readonly ${toType(schema.items, name.replace(/s$/, ''))}[]`;
    if (schema.properties !== undefined) {
      write(name, schema);
      return name;
    }
    if (schema.type === 'object') return 'Readonly<Record<string, string>>';
    return plainTypes[schema.type ?? ''] ?? 'unknown';
  };

  const write = (name: string, schema: Schema): void => {
    if (written.has(name)) return;
    written.set(name, '');
    const required = new Set(schema.required);
    const fields = Object.entries(schema.properties ?? {}).flatMap(([field, each]) => [
      ...toComment(each.description, '  '),
      `  readonly ${field}${required.has(field) ? '' : '?'}: ${toType(each, name + toPascal(field))};`,
    ]);
    const head = [...toComment(schema.description, ''), `export interface ${name} {`];
    written.set(name, [...head, ...fields, '}'].join('\n'));
  };
  return { write, written };
};

const header = `/**
 * The types of requests and replies. Generated from the OpenAPI document by \`npm run document\`.
 */
`;

/** Returns the source text of the types that the client uses. */
export const buildClientTypes = ({ paths, components }: TypedDocument): string => {
  const writer = createWriter(components.schemas);
  const read = (method: string, path: string): Operation => paths[path]?.[method] as Operation;
  const body = ({ requestBody }: Operation) => requestBody?.content['application/json'].schema as Schema;
  const reply = ({ responses }: Operation) => responses[200]?.content['application/json'].schema as Schema;
  writer.write('ApiResponse', components.schemas.ApiResponse as Schema);
  writer.write('StatsBody', body(read('post', '/bots/stats')));
  writer.write('ShardsBody', body(read('post', '/bots/stats/shards')));
  writer.write('VoteStatus', reply(read('get', '/users/{uid}/{target_type}/{target_id}/votes')));
  writer.write('VoteLog', reply(read('get', '/{target_type}/{target_id}/votes/log')));
  return [header, ...writer.written.values()].join('\n').concat('\n');
};
