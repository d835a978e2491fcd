/**
 * An operation of the private listener: a row like all others, and the words of the command line that ask
 * for it.
 *
 * Who may ask is one question for all of them (the operator's token, http/admin.ts). Everything that changes
 * something is written to the audit table before it is tried, and completed after. Used by the files beside
 * this one.
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
  /** `bots approve`: what an operator types; path parameters follow in their order. */
  readonly command: string;
  readonly route: AnyRoute;
}

type OperationDefinition<P extends TObject, Q extends TObject, B extends TSchema> = Omit<
  Route<P, Q, B>,
  'auth' | 'caching' | 'errors' | 'section'
> & { readonly command: string; readonly errors?: Route['errors'] };

const textCharactersMax = 500;
const itemsMax = 20;

/** Never between the two halves of a character, which SQL refuses. */
const truncateText = (text: string): string => {
  if (text.length <= textCharactersMax) return text;
  return `${[...text.slice(0, textCharactersMax)].slice(0, -1).join('')}… (${text.length} characters)`;
};

/** Details for the record: what is long is cut, so that a server's description does not fill the table. */
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

/** Makes a row of it. Reads are not recorded. */
export const defineOperation = <P extends TObject, Q extends TObject, B extends TSchema>(
  told: OperationDefinition<P, Q, B>,
): AdminOperation => {
  const { command, ...rest } = told;
  const route: Route<P, Q, B> = {
    errors: [],
    ...rest,
    section: 'Operator',
    auth: { kind: 'public' },
    caching: 'no-store',
    handle: (app, request) =>
      told.method === 'GET'
        ? told.handle(app, request)
        : runAudited(app, command, {
            request: request as unknown as AnyRequest,
            task: () => told.handle(app, request),
          }),
  };
  return { command, route: defineRoute(route) };
};
