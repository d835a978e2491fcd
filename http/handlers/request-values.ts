/**
 * What several rows read from a request beyond its schema: the page, the kind of target.
 *
 * Pure; throws the `DomainError` of the documents. Used by rows and by the files of this folder.
 */
import { DomainError } from '../../engine/errors.ts';
import { parsePageNumber } from '../../engine/rules/pages.ts';
import type { Caller } from '../route.ts';

/** The page asked for. Throws `page_invalid`. */
export const parsePage = (query: { readonly page?: string }): number => {
  const page = parsePageNumber(query.page);
  if (page !== null) return page;
  throw new DomainError('page_invalid', 'The page must be a whole number from 1.', {
    '/page': 'must be a whole number from 1',
  });
};

/** The kind of entity in the path; its trailing `s` is already off. Throws `target_type_unsupported`. */
export const parseTargetKind = <Kind extends string>(word: string, supported: readonly Kind[]): Kind => {
  const kind = supported.find((candidate) => word === candidate);
  if (kind !== undefined) return kind;
  throw new DomainError('target_type_unsupported', `"${word}" cannot be used here.`, {
    '/target_type': `must be one of ${supported.join(', ')}`,
  });
};

/** The caller of a row that is not public. */
export const requireCaller = (request: { readonly caller: Caller | null }): Caller => {
  if (request.caller === null) throw new Error('this row must not be public');
  return request.caller;
};
