/**
 * Parses values of a request that several routes share and a schema cannot check: the page, the kind of
 * target.
 *
 * Pure; throws the documented `DomainError`. Used by the routes and by the files of this folder.
 */
import { DomainError } from '../../engine/errors.ts';
import { entityKinds } from '../../engine/ids.ts';
import { parsePageNumber } from '../../engine/rules/pages.ts';
import type { Caller } from '../route.ts';

/** Parses the page number. Throws `page_invalid`. */
export const parsePage = (query: { readonly page?: string }): number => {
  const page = parsePageNumber(query.page);
  if (page !== null) return page;
  throw new DomainError('page_invalid', 'The page must be a whole number from 1.', {
    '/page': 'must be a whole number from 1',
  });
};

/** Parses a kind of entity, already without its trailing `s`. Throws `target_type_unsupported`. */
export const parseTargetKind = <Kind extends string>(
  targetType: string,
  supported: readonly Kind[],
): Kind => {
  const kind = supported.find((candidate) => targetType === candidate);
  if (kind !== undefined) return kind;
  throw new DomainError('target_type_unsupported', `The target type "${targetType}" is not supported here.`, {
    '/target_type': `must be one of ${supported.join(', ')}`,
  });
};

/** The path parameters that name an entity. */
interface TargetParams {
  readonly target_type: string;
  readonly target_id: string;
}

/** Parses the entity of a path that allows these kinds. Throws `target_type_unsupported`. */
export const parseTarget = <Kind extends string>(params: TargetParams, supported: readonly Kind[]) => ({
  kind: parseTargetKind(params.target_type, supported),
  id: params.target_id,
});

/**
 * Parses an entity that users vote on. The url of a pack is changed to lower case, as in `GET /packs/{id}`.
 * Throws `target_type_unsupported`.
 */
export const parseVoteTarget = (params: TargetParams) => {
  const kind = parseTargetKind(params.target_type, entityKinds);
  return { kind, id: kind === 'pack' ? params.target_id.toLowerCase() : params.target_id };
};

/** Returns the caller of a route that is not public. Throws a plain `Error` on a public route: a bug. */
export const requireCaller = (request: { readonly caller: Caller | null }): Caller => {
  if (request.caller === null) throw new Error('this route must not be public');
  return request.caller;
};
