/**
 * Reads the token from a request's headers, in every form clients use: `Authorization: <Kind> <token>`, a
 * bare `Authorization: <token>`, and `User-Auth`, `Bot-Auth`, `Server-Auth`, `Team-Auth` with or without the
 * kind word. All headers present must agree. Pure.
 */
import { DomainError } from '../../engine/errors.ts';
import type { TokenKind } from '../../engine/rules/token.ts';
import type { RequestHeaders } from '../server/request-headers.ts';

export interface PresentedToken {
  /** `''` when no token was sent. */
  token: string;
  /** The kind that the header's name or its kind word claims; `null` when neither does. */
  claimedKind: TokenKind | null;
}

const tokenKindNames: Readonly<Record<string, TokenKind>> = {
  user: 'user',
  bot: 'bot',
  server: 'server',
  team: 'team',
};

const createTokensDisagreeError = (): DomainError =>
  new DomainError('tokens_disagree', 'The request carries more than one token. Send exactly one.');
const createKindsDisagreeError = (): DomainError =>
  new DomainError('token_kind_unsupported', 'The kind words of the token headers contradict each other.');

const takeClaimedKind = (token: PresentedToken, claim: TokenKind | null): void => {
  if (claim === null) return;
  if (token.claimedKind !== null && token.claimedKind !== claim) throw createKindsDisagreeError();
  token.claimedKind = claim;
};

/** Adds one header's value. Throws when it contradicts an earlier header. */
const takeToken = (presented: PresentedToken, value: string, headerKind: TokenKind | null): void => {
  const text = value.trim();
  const space = text.indexOf(' ');
  const wordKind = space === -1 ? null : (tokenKindNames[text.slice(0, space).toLowerCase()] ?? null);
  const token = wordKind === null ? text : text.slice(space + 1).trim();
  if (presented.token !== '' && presented.token !== token) throw createTokensDisagreeError();
  presented.token = token;
  takeClaimedKind(presented, headerKind);
  takeClaimedKind(presented, wordKind);
};

/** Returns the one token of a request. Throws `tokens_disagree` or `token_kind_unsupported`. */
export const parseTokenHeaders = (headers: RequestHeaders): PresentedToken => {
  const token: PresentedToken = { token: '', claimedKind: null };
  if (headers.authRepeated) throw createTokensDisagreeError();
  if (headers.authorization !== '') takeToken(token, headers.authorization, null);
  if (headers.userAuth !== '') takeToken(token, headers.userAuth, 'user');
  if (headers.botAuth !== '') takeToken(token, headers.botAuth, 'bot');
  if (headers.serverAuth !== '') takeToken(token, headers.serverAuth, 'server');
  if (headers.teamAuth !== '') takeToken(token, headers.teamAuth, 'team');
  return token;
};
