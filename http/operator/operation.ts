/**
 * Defines an operation of the private listener: its route, and the command of the command line that calls it.
 *
 * All operations require an operator's token (operators.ts checks it). An operation that changes something
 * writes an audit record before it runs and completes the record afterwards. One that is hard to
 * undo has a preview: with `?dry_run=true` it changes nothing and says what it would do; the command line
 * shows that and asks.
 */
import { type TObject, type TSchema, Type } from 'typebox';
import { DomainError, type ErrorCode } from '../../engine/errors.ts';
import type { App } from '../app.ts';
import { toDomainError } from '../response/errors.ts';
import { type Reply, replyMessage } from '../response/reply.ts';
import {
  type AnyRoute,
  defineRoute,
  type Route,
  type RouteDefinition,
  type RoutePattern,
  type RouteRequest,
} from '../route.ts';
import { Done } from './schema.ts';

export interface AdminOperation {
  /** What an operator types, such as `bots approve`; the path parameters follow in their order. */
  readonly command: string;
  readonly route: AnyRoute;
  /** It has a preview: the command line asks before it sends the request. */
  readonly isPreviewed: boolean;
}

/**
 * Describes in one or two sentences what a request would do; or replies with what it has planned, whose
 * `plan` the body of the request then names. Rejects as the operation itself would.
 */
export type Preview<Request> = (app: App, request: Request) => Promise<string | Reply>;

export type OperationDefinition<P extends TObject, Q extends TObject, B extends TSchema> = Omit<
  RouteDefinition<P, Q, B>,
  'auth' | 'section' | 'replies'
> & {
  /** Default: a message. */
  readonly replies?: Route['replies'];
  /** False for the steps of an operation that is recorded as a whole. Default: all but GET. */
  readonly isAudited?: boolean;
  readonly preview?: Preview<RouteRequest<P, Q, B>>;
  /** More for the audit record than the fields of the request. */
  readonly describe?: (
    app: App,
    request: RouteRequest<P, Q, B>,
  ) => Readonly<Record<string, unknown>> | Promise<Readonly<Record<string, unknown>>>;
};

/** The query of operations with a preview. */
const DryRunQuery = Type.Object({
  dry_run: Type.Optional(Type.Boolean({ description: 'Changes nothing; says what the command would do.' })),
});

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
  { request, more, task }: { request: AnyRequest; more: object; task: () => Reply | Promise<Reply> },
): Promise<Reply> => {
  const { audit } = app.catalogue.operator;
  const fields = { ...request.query, ...(request.body as object | undefined), ...more };
  const details = truncateFields(fields);
  const target = Object.values(request.params).join(' ');
  const id = await audit.begin({ operator: request.operator, operation, target, details });
  // The reply says more than a record that cannot be completed: that one stays open.
  const complete = (outcome: string): Promise<unknown> => audit.end(id, outcome).catch(() => undefined);
  try {
    const reply = await task();
    await complete('done');
    return reply;
  } catch (error) {
    const code = findRefusal(error);
    if (code !== null) await complete(code);
    throw error;
  }
};

/** The code of an error after which it is known what was done; `null` if that is not known. */
const findRefusal = (error: unknown): ErrorCode | null => {
  const { code, context } = toDomainError(error);
  const { outcome } = context;
  return outcome === 'not_applied' || (error instanceof DomainError && outcome === undefined) ? code : null;
};

const toPreviewReply = (preview: string | Reply): Reply =>
  typeof preview === 'string' ? replyMessage(preview) : preview;

const isDryRun = (query: unknown): boolean => (query as { readonly dry_run?: boolean }).dry_run === true;

/** Builds the route of an operation, whose name is the command. Reads (GET) and dry runs are not audited. */
export const defineOperation = <P extends TObject, Q extends TObject, B extends TSchema>(
  command: string,
  pattern: RoutePattern,
  definition: OperationDefinition<P, Q, B>,
): AdminOperation => {
  const { preview, describe, isAudited = !pattern.startsWith('GET '), ...routeFields } = definition;
  const run = async (app: App, request: RouteRequest<P, Q, B>): Promise<Reply> =>
    !isAudited
      ? definition.handle(app, request)
      : runAudited(app, command, {
          request: request as unknown as AnyRequest,
          more: (await describe?.(app, request)) ?? {},
          task: () => definition.handle(app, request),
        });
  const route = defineRoute<P, Q, B>(command, pattern, {
    replies: { 200: Done },
    ...routeFields,
    ...(preview && { query: DryRunQuery as unknown as Q }),
    section: 'Operator',
    auth: { kind: 'public' },
    handle: async (app, request) =>
      preview !== undefined && isDryRun(request.query)
        ? toPreviewReply(await preview(app, request))
        : run(app, request),
  });
  return { command, route, isPreviewed: preview !== undefined };
};
