/**
 * Vanity codes (contract §2.17, §4.9): look up, follow and change a code.
 */
import { type Static, Type } from 'typebox';
import { DomainError } from '../../engine/errors.ts';
import { tokenKinds } from '../../engine/rules/token.ts';
import { findVanityCodeFault, foldVanityCode, vanityKinds } from '../../engine/rules/vanity.ts';
import type { VanityRow, VanityTarget } from '../../storage/catalogue/shared/vanity.ts';
import type { App } from '../app.ts';
import { createNotFoundError } from '../response/errors.ts';
import { noContent, type Reply, replyOk } from '../response/reply.ts';
import { createValidationError } from '../response/validation-error.ts';
import { showRow } from '../response/values.ts';
import { defineRoute, defineRoutes } from '../route.ts';
import { buildTargetParams, buildText, Timestamp, Uuid } from './shared/common.ts';
import { buildObject, describe } from './shared/example.ts';
import { itagText, plainText, uuidText } from './shared/patterns.ts';
import { toTarget } from './shared/request-values.ts';

export const VanityParams = Type.Object({
  code: Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: plainText,
    description: 'A vanity code (upper and lower case are the same), or the id of a bot, server or team.',
    examples: ['keepers'],
  }),
});

const uuid = new RegExp(uuidText);
export const isUuid = (text: string): boolean => uuid.test(text);

export const VanityQuery = Type.Object({
  itag: Type.Optional(
    Type.String({
      pattern: itagText,
      description: 'A UUID is looked up as an itag. `true` means that the code in the path is the itag.',
      examples: ['018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a14'],
    }),
  ),
});
export type VanityQuery = Static<typeof VanityQuery>;

export const Vanity = describe(
  buildObject({
    code: buildText('keepers', 'The vanity code: 2 to 32 of `a-z 0-9 - _`.'),
    created_at: describe(Timestamp, 'When the entity got its first vanity code.'),
    itag: describe(Uuid, 'Id of the vanity code; it stays when the code changes.'),
    target_id: buildText('018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10', 'Id of the entity that has the code.'),
    target_type: buildText('team', '`bot`, `server` or `team`.'),
  }),
  'A short address, and the entity that has it.',
);
export const VanityTargetParams = buildTargetParams(vanityKinds);

export const VanityBody = buildObject({
  code: Type.String({
    maxLength: 128,
    description: '2 to 32 characters of `a-z 0-9 - _`; upper case is changed to lower case.',
    examples: ['keepers'],
  }),
});

export const vanityRoutes = defineRoutes('Vanity', [
  defineRoute('getVanity', 'GET /vanity/{code}', {
    summary: 'Look up a vanity code',
    description: 'The entity that has a vanity code, a target id or an itag.',
    auth: { kind: 'public' },
    caching: 'entity',
    params: VanityParams,
    query: VanityQuery,
    replies: { 200: Vanity },
    errors: ['not_found'],
    check: (request) => checkItag(request),
    handle: (app, request) => showVanity(app, request),
  }),
  defineRoute('followVanity', 'GET /@{code}', {
    summary: 'Follow a vanity code',
    description: 'Redirects to the entity that has the code: `Location` is a path of this API.',
    auth: { kind: 'public' },
    params: VanityParams,
    query: VanityQuery,
    replies: { 302: null },
    errors: ['not_found'],
    check: (request) => checkItag(request),
    handle: (app, request) => redirectVanity(app, request),
  }),
  defineRoute('changeVanity', 'PATCH /{target_type}/{target_id}/vanity', {
    summary: 'Change a vanity code',
    description:
      'Gives the entity another short address. The old code is free at once; a code that another ' +
      'entity has is 409.',
    auth: {
      kind: 'entity',
      kinds: tokenKinds,
      permission: 'set_vanity',
      type: 'target_type',
      id: 'target_id',
    },
    params: VanityTargetParams,
    body: VanityBody,
    replies: { 204: null },
    errors: ['already_exists'],
    check: ({ body }) => void checkCode(body.code),
    handle: (app, { params, body }) => changeVanity(app, toTarget(params), body.code),
  }),
]);

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
  return replyOk(showRow(Vanity, row));
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
