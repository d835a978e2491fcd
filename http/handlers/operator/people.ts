/**
 * Shows and changes users and tokens for operators. A ban takes effect at once: this file drops the sessions
 * that this node caches, and storage/nodes/shared-catalogue.ts drops those on the other nodes.
 */
import { DomainError } from '../../../engine/errors.ts';
import { isPermission } from '../../../engine/rules/permissions.ts';
import type { TokenKind } from '../../../engine/rules/token.ts';
import type { BanKind, UserRow } from '../../../storage/catalogue/people/people-edits.ts';
import { mintToken } from '../../auth/mint.ts';
import { createValidationError } from '../../response/validation-error.ts';
import { type App, type Reply, replyCreated, replyMessage, replyOk } from '../../route.ts';
import type { TokenBody, UserBody } from '../../schema/operator.ts';
import { createNotFoundError, toTimestamp } from '../convert.ts';
import { toSession } from '../sessions.ts';
import { replyWhole } from './lists.ts';

const toOperatorUser = (row: UserRow) => ({ ...row, created_at: toTimestamp(row.created_at) });

export const showUser = async (app: App, id: string): Promise<Reply> => {
  const row = await app.catalogue.operator.people.find(id);
  if (row === null) throw createNotFoundError('user');
  return replyOk(toOperatorUser(row));
};

/** Creates or changes a user; absent fields keep their value. *Ledger* when it resolves. */
export const putUser = async (app: App, id: string, body: UserBody): Promise<Reply> => {
  await app.catalogue.operator.people.put(id, {
    username: body.username ?? null,
    displayName: body.display_name ?? null,
    avatar: body.avatar ?? null,
    flags: body.flags ?? null,
  });
  return replyMessage(`User ${id} is written.`);
};

const banPhrases: Readonly<Record<BanKind, readonly [string, string]>> = {
  banned: ['is banned', 'is no longer banned'],
  vote_banned: ['may not vote', 'may vote again'],
};

export const setBan = async (
  app: App,
  id: string,
  { ban, value }: { readonly ban: BanKind; readonly value: boolean },
): Promise<Reply> => {
  const { stranger, sessions } = await app.catalogue.operator.people.setBan(id, ban, value);
  app.sessions.forgetTarget('user', id);
  app.sessions.forget(...sessions);
  if (stranger && !value) throw createNotFoundError('user');
  const message = `User ${id} ${banPhrases[ban][value ? 0 : 1]}.`;
  return replyMessage(stranger ? `${message} The id was unknown before: check that it is right.` : message);
};

/** Lists the sessions of a target without their tokens. */
export const showTokens = async (
  app: App,
  target: { readonly kind: TokenKind; readonly id: string },
): Promise<Reply> => {
  const rows = await app.catalogue.sessions.list(target);
  return replyWhole('sessions', rows.map(toSession));
};

const thirtyDaysSeconds = 30 * 86_400;

const unchangedFields = { username: null, displayName: null, avatar: null, flags: null } as const;

/** Issues a token; only this reply has it. Creates a user who does not exist. *Ledger* when it resolves. */
export const issueToken = async (
  app: App,
  target: { readonly kind: TokenKind; readonly id: string },
  body: TokenBody,
): Promise<Reply> => {
  const permLimits = (body.perm_limits ?? []).map((id) => {
    if (isPermission(id)) return id;
    throw createValidationError('body', { '/perm_limits': `there is no permission ${id}` });
  });
  if (target.kind === 'user') await app.catalogue.operator.people.put(target.id, unchangedFields);
  const { id, token, tokenHash } = mintToken(target);
  const outcome = await app.catalogue.sessions.insert(
    {
      id,
      target,
      type: target.kind === 'user' ? 'login' : 'api',
      name: body.name ?? 'by the operator',
      permLimits,
      tokenHash,
      lastsSeconds: body.expiry ?? thirtyDaysSeconds,
      mintedBy: '',
      mintedWith: null,
      onlyIfThere: true,
    },
    app.settings.sessionsPerEntityMax,
  );
  if (outcome === 'refused') throw createNotFoundError(target.kind);
  if (outcome === 'limit_reached') {
    throw new DomainError('limit_reached', 'The maximum number of sessions is reached. Revoke one first.');
  }
  return replyCreated({ session_id: id, target_id: target.id, token });
};
