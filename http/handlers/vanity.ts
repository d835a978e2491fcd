/**
 * Looks up, follows and changes vanity codes for clients.
 */
import { DomainError } from '../../engine/errors.ts';
import { findVanityCodeFault, foldVanityCode } from '../../engine/rules/vanity.ts';
import type { VanityRow, VanityTarget } from '../../storage/catalogue/shared/vanity.ts';
import { createValidationError } from '../response/validation-error.ts';
import { type App, noContent, type Reply, replyOk } from '../route.ts';
import { isUuid, type Vanity, type VanityQuery } from '../schema/vanity.ts';
import { createNotFoundError, toTimestamp } from './convert.ts';

export interface VanityRequest {
  readonly params: { readonly code: string };
  readonly query: VanityQuery;
}

/** Throws `validation_failed` if `itag=true` and the path has no UUID. */
export const checkItag = ({ params, query }: VanityRequest): void => {
  if (query.itag !== 'true' || isUuid(params.code)) return;
  throw createValidationError('path', { '/code': 'must be a UUID if itag=true' });
};

const findVanity = async (app: App, { params, query }: VanityRequest): Promise<VanityRow> => {
  const { vanity } = app.catalogue;
  const byCode = query.itag === undefined || query.itag === 'false';
  const itag = query.itag === 'true' ? params.code : query.itag;
  const row = byCode ? await vanity.findByCode(params.code) : await vanity.findByItag(itag ?? '');
  if (row === null) throw createNotFoundError('vanity code');
  return row;
};

/** `GET /vanity/{code}`. */
export const showVanity = async (app: App, request: VanityRequest): Promise<Reply> => {
  const row = await findVanity(app, request);
  const vanity: Vanity = {
    code: row.code,
    created_at: toTimestamp(row.created_at),
    itag: row.itag,
    target_id: row.target_id,
    target_type: row.target_type,
  };
  return replyOk(vanity);
};

const toEntityPath = ({ target_type: kind, target_id: id }: VanityRow): string =>
  `/${kind}s/${encodeURIComponent(id)}${kind === 'team' ? '?targets=team_member,bot,server' : ''}`;

/** `GET /@{code}`. */
export const redirectVanity = async (app: App, request: VanityRequest): Promise<Reply> => ({
  status: 302,
  headers: { Location: toEntityPath(await findVanity(app, request)) },
});

/** Throws `validation_failed` for a code that no entity may have. */
export const checkCode = (code: string): void => {
  const fault = findVanityCodeFault(foldVanityCode(code));
  if (fault === null) return;
  throw createValidationError('body', { '/code': fault });
};

/** `PATCH /{target_type}/{target_id}/vanity`. */
export const changeVanity = async (app: App, target: VanityTarget, code: string): Promise<Reply> => {
  const outcome = await app.catalogue.vanity.change(target, code);
  if (outcome === 'not_found') throw createNotFoundError(target.kind);
  if (outcome === 'reserved') throw createValidationError('body', { '/code': 'is reserved' });
  if (outcome === 'taken') {
    throw new DomainError('already_exists', 'Another entity already has this code.', { '/code': 'is taken' });
  }
  app.catalogue[`${target.kind}s`].drop(target.id);
  return noContent;
};
