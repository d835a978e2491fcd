/**
 * Reads values of a request that several routes share: the page, the entity, the caller.
 *
 * Pure; throws the documented `DomainError`.
 */
import { DomainError } from '../../../engine/errors.ts';
import { foldTargetId } from '../../../engine/ids.ts';
import { parsePageNumber } from '../../../engine/rules/pages.ts';
import type { Caller } from '../../auth/auth.ts';

/** Parses the page number. Throws `page_invalid`. */
export const parsePage = (query: { readonly page?: string }): number => {
  const page = parsePageNumber(query.page);
  if (page !== null) return page;
  throw new DomainError('page_invalid', 'The page must be a whole number from 1.', {
    '/page': 'must be a whole number from 1',
  });
};

/** The path parameters that name an entity. */
interface TargetParams<Kind extends string> {
  readonly target_type: Kind;
  readonly target_id: string;
}

/** The entity that a path names. The url of a pack is changed to lower case, as in `GET /packs/{id}`. */
export const toTarget = <Kind extends string>({ target_type: kind, target_id: id }: TargetParams<Kind>) => ({
  kind,
  id: foldTargetId(kind, id),
});

/** Returns the caller of a route that is not public. Throws a plain `Error` on a public route: a bug. */
export const requireCaller = (request: { readonly caller: Caller | null }): Caller => {
  if (request.caller === null) throw new Error('this route must not be public');
  return request.caller;
};
