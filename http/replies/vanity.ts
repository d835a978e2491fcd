/**
 * Vanity codes as clients look them up, follow and change them.
 */
import { DomainError } from '../../engine/errors.ts';
import { foldVanityCode, vanityCodeFault } from '../../engine/rules/vanity.ts';
import type { VanityRow, VanityTarget } from '../../storage/catalogue/vanity.ts';
import { invalid } from '../invalid.ts';
import { type App, noContent, ok, type Reply } from '../route.ts';
import { isUuid, type Vanity, type VanityQuery } from '../schema/vanity.ts';
import { notFound, timestamp } from './values.ts';

export interface VanityRequest {
  readonly params: { readonly code: string };
  readonly query: VanityQuery;
}

/** Throws `validation_failed` when the path is to be an itag and is none. */
export const checkItag = ({ params, query }: VanityRequest): void => {
  if (query.itag !== 'true' || isUuid(params.code)) return;
  throw invalid('path', { '/code': 'must be a UUID when itag=true' });
};

const find = async (app: App, { params, query }: VanityRequest): Promise<VanityRow> => {
  const { vanity } = app.catalogue;
  const byCode = query.itag === undefined || query.itag === 'false';
  const itag = query.itag === 'true' ? params.code : query.itag;
  const row = byCode ? await vanity.byCode(params.code) : await vanity.byItag(itag ?? '');
  if (row === null) throw notFound('vanity code');
  return row;
};

/** `GET /vanity/{code}`. */
export const showVanity = async (app: App, request: VanityRequest): Promise<Reply> => {
  const row = await find(app, request);
  const vanity: Vanity = {
    code: row.code,
    created_at: timestamp(row.created_at),
    itag: row.itag,
    target_id: row.target_id,
    target_type: row.target_type,
  };
  return ok(vanity);
};

const addressOf = ({ target_type: kind, target_id: id }: VanityRow): string =>
  `/${kind}s/${encodeURIComponent(id)}${kind === 'team' ? '?targets=team_member,bot,server' : ''}`;

/** `GET /@{code}`. */
export const redirectVanity = async (app: App, request: VanityRequest): Promise<Reply> => ({
  status: 302,
  headers: { Location: addressOf(await find(app, request)) },
});

/** Throws `validation_failed` for a code nobody may have. */
export const checkCode = (code: string): void => {
  const fault = vanityCodeFault(foldVanityCode(code));
  if (fault === null) return;
  throw invalid('body', { '/code': fault });
};

/** `PATCH /{target_type}/{target_id}/vanity`. */
export const changeVanity = async (app: App, target: VanityTarget, code: string): Promise<Reply> => {
  const outcome = await app.catalogue.vanity.change(target, code);
  if (outcome === 'not_found') throw notFound(target.kind);
  if (outcome === 'reserved') throw invalid('body', { '/code': 'is reserved' });
  if (outcome === 'taken') {
    throw new DomainError('already_exists', 'Another entity has this code.', { '/code': 'is taken' });
  }
  app.catalogue[`${target.kind}s`].drop(target.id);
  return noContent;
};
