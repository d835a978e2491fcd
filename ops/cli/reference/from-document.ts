/**
 * The pages of docs/reference that come from the OpenAPI document: operations by section, and the messages of
 * the feed and of webhooks with their fields. Pure.
 */

interface Schema {
  readonly const?: unknown;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
}
interface Body {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}
interface Operation {
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly description?: string;
  }[];
  readonly requestBody?: Body;
  readonly responses?: Readonly<Record<string, Body & { readonly description?: string }>>;
  readonly 'x-websocket-messages'?: Schema;
}
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;
export interface ReadDocument {
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Paths;
  readonly webhooks?: Paths;
}

/** Links to documents of the server, as this page's own. */
const toOwnLinks = (text: string): string =>
  text.replaceAll(/\]\(\/docs\/([\w/-]+)(#[\w-]+)?\)/g, '](../$1.md$2)');

const toLine = (text = ''): string => text.split(/\s+/).join(' ').trim();
const readSchema = (body: Body | undefined): Schema => Object.values(body?.content ?? {})[0]?.schema ?? {};

const listFields = ({ properties = {} }: Schema): string[] =>
  Object.entries(properties).map(([name, { description }]) => `  - \`${name}\`: ${toLine(description)}`);

const formatOperation = (method: string, path: string, operation: Operation): string => {
  const parameters = (operation.parameters ?? [])
    .filter(({ in: location }) => location !== 'path')
    .map(({ name, in: location, description }) => `  - \`${name}\` (${location}): ${toLine(description)}`);
  const errors = Object.entries(operation.responses ?? {})
    .filter(([status]) => Number(status) >= 400)
    .map(([status, { description }]) => `${status}: ${toLine(description)}`);
  return [
    `- **\`${method.toUpperCase()} ${path}\`** ${operation.summary}. ${toLine(operation.description)}`,
    ...parameters,
    ...listFields(readSchema(operation.requestBody)),
    ...(errors.length === 0 ? [] : [`  - Errors: ${errors.join('; ')}`]),
  ].join('\n');
};

const listOperations = (paths: Paths): readonly (readonly [string, string, Operation])[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [method, path, operation] as const),
  );

export const formatOperations = ({ tags, paths }: ReadDocument): string =>
  tags
    .flatMap(({ name, description = '' }) => {
      const found = listOperations(paths).filter(([, , operation]) => operation.tags?.[0] === name);
      return [
        `## ${name}`,
        toOwnLinks(description),
        found.map((each) => formatOperation(...each)).join('\n'),
      ];
    })
    .join('\n\n');

const formatMessage = (name: string, schema: Schema): string =>
  [`- **\`${name}\`** ${toLine(schema.description)}`, ...listFields(schema)].join('\n');

/** Messages that differ in the constant of their field `key`; what they carry is in `data`, if it exists. */
const formatMessages = ({ anyOf = [] }: Schema, key: 'event' | 'op'): string =>
  anyOf
    .map((message) =>
      formatMessage(String(message.properties?.[key]?.const), message.properties?.data ?? message),
    )
    .join('\n');

export const formatEvents = ({ paths, webhooks = {} }: ReadDocument): string => {
  const feed = paths['/feed']?.get;
  const sent = listOperations(webhooks).map(([, name, { summary, description, requestBody }]) =>
    formatMessage(name, {
      ...readSchema(requestBody),
      description: toLine(`${summary ?? ''} ${description ?? ''}`),
    }),
  );
  return [
    '## Feed: to clients',
    formatMessages(readSchema(feed?.responses?.[200]), 'event'),
    '## Feed: from clients of a WebSocket',
    formatMessages(feed?.['x-websocket-messages'] ?? {}, 'op'),
    ...(sent.length === 0 ? [] : ['## Webhooks', sent.join('\n')]),
  ].join('\n\n');
};
