/**
 * People and tokens, as operators change them. A ban bites at once: sessions that this node keeps are
 * forgotten here, those of other nodes by the catalogue (storage/nodes/shared-catalogue.ts).
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

const toOperatorUser = (row: UserRow) => ({ ...row, created_at: toTimestamp(row.created_at) });

export const showUser = async (app: App, id: string): Promise<Reply> => {
  const row = await app.catalogue.operator.people.find(id);
  if (row === null) throw createNotFoundError('user');
  return replyOk(toOperatorUser(row));
};

export const showUsers = async (app: App, page: number, ban: BanKind | null): Promise<Reply> => {
  const rows = await app.catalogue.operator.people.page(page, ban);
  return replyOk({ users: rows.map(toOperatorUser) });
};

/** Absent fields stay as they are. */
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
  const words = `User ${id} ${banPhrases[ban][value ? 0 : 1]}.`;
  return replyMessage(stranger ? `${words} Nobody knew this id before: is it right?` : words);
};

const thirtyDaysSeconds = 30 * 86_400;

const unchangedFields = { username: null, displayName: null, avatar: null, flags: null } as const;

/** The token is in this reply and nowhere else. A user whom nobody knew comes into being. */
export const issueToken = async (
  app: App,
  target: { readonly kind: TokenKind; readonly id: string },
  body: TokenBody,
): Promise<Reply> => {
  const permLimits = (body.perm_limits ?? []).map((word) => {
    if (isPermission(word)) return word;
    throw createValidationError('body', { '/perm_limits': `there is no permission ${word}` });
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
    throw new DomainError('limit_reached', 'It has as many sessions as it may have: revoke one first.');
  }
  return replyCreated({ session_id: id, target_id: target.id, token });
};
