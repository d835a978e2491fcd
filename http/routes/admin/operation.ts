/**
 * Defines an operation of the private listener: its route, and the command of the command line that calls it.
 *
 * All operations require the operator's token (http/admin.ts checks it). An operation that changes something
 * writes an audit record before it runs and completes the record afterwards. Used by the other files of this
 * folder.
 */
import type { TObject, TSchema } from 'typebox';
import { DomainError } from '../../../engine/errors.ts';
import {
  type AnyRoute,
  type App,
  defineRoute,
  type Reply,
  type Route,
  type RouteRequest,
} from '../../route.ts';

export interface AdminOperation {
  /** What an operator types, such as `bots approve`; the path parameters follow in their order. */
  readonly command: string;
  readonly route: AnyRoute;
}

type OperationDefinition<P extends TObject, Q extends TObject, B extends TSchema> = Omit<
  Route<P, Q, B>,
  'auth' | 'caching' | 'errors' | 'section'
> & { readonly command: string; readonly errors?: Route['errors'] };

const textCharactersMax = 500;
const itemsMax = 20;

/** Cuts long text, but not between the two surrogates of a character: SQL refuses half a character. */
const truncateText = (text: string): string => {
  if (text.length <= textCharactersMax) return text;
  return `${[...text.slice(0, textCharactersMax)].slice(0, -1).join('')}… (${text.length} characters)`;
};

/** Shortens long values for the audit record, so that a server's description does not fill the table. */
const truncate = (value: unknown): unknown => {
  if (typeof value === 'string') return truncateText(value);
  if (Array.isArray(value)) {
    const rest = value.length > itemsMax ? [`… (${value.length} items)`] : [];
    return [...value.slice(0, itemsMax).map(truncate), ...rest];
  }
  return typeof value === 'object' && value !== null ? truncateFields(value) : value;
};

const truncateFields = (fields: object | undefined): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields ?? {}).map(([name, value]) => [name, truncate(value)]));

type AnyRequest = RouteRequest<TObject, TObject, TSchema>;

const runAudited = async (
  app: App,
  operation: string,
  { request, task }: { request: AnyRequest; task: () => Reply | Promise<Reply> },
): Promise<Reply> => {
  const { audit } = app.catalogue.operator;
  const details = { ...truncateFields(request.query), ...truncateFields(request.body as object | undefined) };
  const id = await audit.begin({ operation, target: Object.values(request.params).join(' '), details });
  try {
    const reply = await task();
    await audit.end(id, 'done');
    return reply;
  } catch (error) {
    if (error instanceof DomainError) await audit.end(id, error.code);
    throw error;
  }
};

/** Builds the route of an operation. Reads (GET) are not audited. */
export const defineOperation = <P extends TObject, Q extends TObject, B extends TSchema>(
  definition: OperationDefinition<P, Q, B>,
): AdminOperation => {
  const { command, ...routeFields } = definition;
  const route: Route<P, Q, B> = {
    errors: [],
    ...routeFields,
    section: 'Operator',
    auth: { kind: 'public' },
    caching: 'no-store',
    handle: (app, request) =>
      definition.method === 'GET'
        ? definition.handle(app, request)
        : runAudited(app, command, {
            request: request as unknown as AnyRequest,
            task: () => definition.handle(app, request),
          }),
  };
  return { command, route: defineRoute(route) };
};
