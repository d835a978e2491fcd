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
import { type AnyRow, type App, type Reply, type Request, type Row, route } from '../../route.ts';

export interface Operation {
  /** `bots approve`: what an operator types; path parameters follow in their order. */
  readonly command: string;
  readonly row: AnyRow;
}

type Told<P extends TObject, Q extends TObject, B extends TSchema> = Omit<
  Row<P, Q, B>,
  'auth' | 'caching' | 'errors' | 'section'
> & { readonly command: string; readonly errors?: Row['errors'] };

const textCharactersMax = 500;
const itemsMax = 20;

/** Never between the two halves of a character, which SQL refuses. */
const briefText = (text: string): string => {
  if (text.length <= textCharactersMax) return text;
  return `${[...text.slice(0, textCharactersMax)].slice(0, -1).join('')}… (${text.length} characters)`;
};

/** Details for the record: what is long is cut, so that a server's description does not fill the table. */
const brief = (value: unknown): unknown => {
  if (typeof value === 'string') return briefText(value);
  if (Array.isArray(value)) {
    const rest = value.length > itemsMax ? [`… (${value.length} items)`] : [];
    return [...value.slice(0, itemsMax).map(brief), ...rest];
  }
  return typeof value === 'object' && value !== null ? briefly(value) : value;
};

const briefly = (fields: object | undefined): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields ?? {}).map(([name, value]) => [name, brief(value)]));

type AnyRequest = Request<TObject, TObject, TSchema>;

const recorded = async (
  app: App,
  operation: string,
  { request, task }: { request: AnyRequest; task: () => Reply | Promise<Reply> },
): Promise<Reply> => {
  const { audit } = app.catalogue.operator;
  const details = { ...briefly(request.query), ...briefly(request.body as object | undefined) };
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
export const operation = <P extends TObject, Q extends TObject, B extends TSchema>(
  told: Told<P, Q, B>,
): Operation => {
  const { command, ...rest } = told;
  const row: Row<P, Q, B> = {
    errors: [],
    ...rest,
    section: 'Operator',
    auth: { word: 'public' },
    caching: 'no-store',
    handle: (app, request) =>
      told.method === 'GET'
        ? told.handle(app, request)
        : recorded(app, command, {
            request: request as unknown as AnyRequest,
            task: () => told.handle(app, request),
          }),
  };
  return { command, row: route(row) };
};
