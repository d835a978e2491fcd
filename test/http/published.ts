/**
 * Checks a reply against the *published* document, with a validator that shares no code with the product's
 * own. An operation, status, code or shape that the document does not have is a fault.
 *
 * It reads `/openapi.json` as plain JSON, as a client does, and compiles schemas on first use.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { routes } from '../../http/api/table.ts';
import { buildOpenApiDocument } from '../../http/openapi/document.ts';

export interface Answer {
  readonly method: string;
  /** With or without a query. */
  readonly path: string;
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  /** The names of all headers, in lower case; if absent, they are not checked. */
  readonly headers?: Iterable<string>;
}

interface Content {
  readonly schema: object;
}
interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly headers?: object;
        readonly content?: { 'application/json'?: Content; 'image/svg+xml'?: object; 'text/csv'?: object };
      }
    >
  >;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: object;
}

const document: Document = JSON.parse(JSON.stringify(buildOpenApiDocument(routes)));
const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addSchema({ $id: 'rollcall', components: document.components });

/** Paths with the fewest parameters first, as in the matcher: `/bots/@all` before `/bots/{id}`. */
const paths = Object.keys(document.paths)
  .map((path) => ({
    path,
    pattern: new RegExp(`^${path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+')}$`),
    variables: path.split('{').length - 1,
    start: path.indexOf('{') < 0 ? path.length : path.indexOf('{'),
  }))
  .sort((a, b) => a.variables - b.variables || b.start - a.start);

const decoded = (segment: string): string => {
  try {
    return decodeURIComponent(segment).replaceAll('/', '%2F');
  } catch {
    return segment;
  }
};

const operationsAt = (path: string): Readonly<Record<string, Operation>> | undefined => {
  const bare = (path.split('?')[0] as string).split('/').map(decoded).join('/');
  const found = paths.find(({ pattern }) => pattern.test(bare));
  return found && document.paths[found.path];
};

const compiled = new Map<string, ValidateFunction>();
const validatorOf = (key: string, schema: object): ValidateFunction => {
  const known =
    compiled.get(key) ?? ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"rollcall#/')));
  compiled.set(key, known);
  return known;
};

/** Codes of errors that occur before an operation is found. */
const routerCodes: ReadonlySet<unknown> = new Set([
  'route_not_found',
  'method_not_allowed',
  'malformed_request',
  'content_encoding_unsupported',
  'draining',
  'overloaded',
]);

const faultOfError = (answer: Answer, documented: string[] | null): string => {
  const validate = validatorOf('error', { $ref: '#/components/schemas/Error' });
  const body: unknown = JSON.parse(answer.text);
  if (!validate(body)) return `is no error body: ${ajv.errorsText(validate.errors)}`;
  const { code } = (body as { context: { code: string } }).context;
  if (routerCodes.has(code) || documented === null)
    return routerCodes.has(code) ? '' : `has the code ${code}`;
  return documented.includes(code) ? '' : `has the code ${code}; documented: ${documented.join(', ')}`;
};

const faultOfSuccess = (answer: Answer, operation: Operation): string => {
  const response = operation.responses[answer.status];
  if (response === undefined) return 'has a status that is not documented';
  const schema = response.content?.['application/json']?.schema;
  if (schema === undefined) {
    return answer.text === '' && answer.contentType === '' ? '' : 'has a body that is not documented';
  }
  if (answer.contentType === 'image/svg+xml') {
    const isPicture = response.content?.['image/svg+xml'] !== undefined && answer.text.startsWith('<svg ');
    return isPicture ? '' : 'is a picture that is not documented';
  }
  if (answer.contentType.startsWith('text/csv')) {
    const isTable = response.content?.['text/csv'] !== undefined && answer.text.endsWith('\r\n');
    return isTable ? '' : 'is a table that is not documented';
  }
  if (!answer.contentType.startsWith('application/json')) return `is ${answer.contentType}, not JSON`;
  const validate = validatorOf(`${operation.operationId} ${answer.status}`, schema);
  return validate(JSON.parse(answer.text)) ? '' : ajv.errorsText(validate.errors);
};

const codesOf = (operation: Operation, status: number): string[] => {
  const content = operation.responses[status]?.content?.['application/json'];
  return Object.keys((content as { examples?: object } | undefined)?.examples ?? {});
};

const checkedHeaders = ['etag', 'ratelimit', 'ratelimit-policy', 'location', 'retry-after'];

/** The headers of a reply about which the document says something, but not for this status. */
const faultOfHeaders = (answer: Answer, operation: Operation | undefined): string => {
  const response = operation?.responses[answer.status];
  if (response === undefined || answer.headers === undefined) return '';
  const documented = Object.keys(response.headers ?? {}).map((name) => name.toLowerCase());
  const sent = [...answer.headers].filter((name) => checkedHeaders.includes(name));
  const missing = sent.find((name) => !documented.includes(name));
  return missing === undefined ? '' : `has the header ${missing}; documented: ${documented.join(', ')}`;
};

const faultOf = (answer: Answer): string => {
  const bodyless = answer.method === 'OPTIONS' && answer.status < 400;
  if (answer.method === 'HEAD' || bodyless) return answer.text === '' ? '' : 'has a body';
  const operation = operationsAt(answer.path)?.[answer.method.toLowerCase()];
  const fault = faultOfHeaders(answer, operation);
  if (fault !== '') return fault;
  if (answer.status === 304) {
    if (answer.text !== '') return 'has a body';
    return operation?.responses[304] === undefined ? 'is not documented' : '';
  }
  if (answer.status >= 400) return faultOfError(answer, operation ? codesOf(operation, answer.status) : null);
  return operation === undefined ? 'comes from no documented operation' : faultOfSuccess(answer, operation);
};

/** Throws an `Error` that describes how the reply differs from the published document. */
export const judgeReply = (answer: Answer): void => {
  const fault = faultOf(answer);
  if (fault === '') return;
  const { method, path, status, text } = answer;
  throw new Error(`The reply ${status} to ${method} ${path} ${fault}\n${text.slice(0, 400)}`);
};

interface Variant {
  readonly properties: Readonly<Record<string, { readonly const?: unknown }>>;
}
interface FeedOperation {
  readonly responses: { readonly 200: { readonly content: { readonly 'text/event-stream': Content } } };
  readonly 'x-websocket-messages': object;
}
const feed = document.paths['/feed']?.get as unknown as FeedOperation;
const listVariants = (union: object): readonly Variant[] =>
  (union as { readonly anyOf: readonly Variant[] }).anyOf;
const variantsByField = {
  event: listVariants(feed.responses[200].content['text/event-stream'].schema),
  op: listVariants(feed['x-websocket-messages']),
} as const;

/** The same schema without room for fields that it does not name. */
const close = (node: unknown): unknown => {
  if (typeof node !== 'object' || node === null) return node;
  if (Array.isArray(node)) return node.map(close);
  const closed = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, close(value)]));
  return 'properties' in node ? { ...closed, additionalProperties: false } : closed;
};

const findMessageFault = (field: keyof typeof variantsByField, message: object): string => {
  const name: unknown = Reflect.get(message, field);
  const variant = variantsByField[field].find(({ properties }) => properties[field]?.const === name);
  if (variant === undefined) return 'is not documented';
  const validate = validatorOf(`feed ${field} ${name}`, close(variant) as object);
  return validate(message) ? '' : ajv.errorsText(validate.errors);
};

/**
 * How a message of the feed differs from the published document, `''` if it does not: one of the server by
 * its `event`, one of a client by its `op`. Fields that are not documented are faults, too.
 */
export const findFeedFault = (field: 'event' | 'op', message: object): string => {
  const fault = findMessageFault(field, message);
  return fault === '' ? '' : `${JSON.stringify(message)} ${fault}`;
};
