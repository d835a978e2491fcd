/**
 * Reads the token out of a request's headers, in every form clients use: `Authorization: <Kind> <token>`, a
 * bare `Authorization: <token>`, and `User-Auth`, `Bot-Auth`, `Server-Auth`, `Team-Auth` with or without
 * the kind word. All headers present must agree. Pure. Used by authenticate.ts.
 */
import { DomainError } from '../../engine/errors.ts';
import type { TokenKind } from '../../engine/rules/token.ts';
import type { RequestHeaders } from '../request-headers.ts';

export interface Presented {
  /** `''` when no token was sent. */
  token: string;
  /** What the header or its kind word claims the token to be; `null` when nothing is claimed. */
  claim: TokenKind | null;
}

const kindWords: Readonly<Record<string, TokenKind>> = {
  user: 'user',
  bot: 'bot',
  server: 'server',
  team: 'team',
};

const disagree = (): DomainError =>
  new DomainError('tokens_disagree', 'The request carries more than one token. Send exactly one.');
const wrongKind = (): DomainError =>
  new DomainError('token_kind_unsupported', 'The kind words of the token headers contradict each other.');

const takeClaim = (presented: Presented, claim: TokenKind | null): void => {
  if (claim === null) return;
  if (presented.claim !== null && presented.claim !== claim) throw wrongKind();
  presented.claim = claim;
};

/** Takes one header's value in. Throws when it contradicts what was there before. */
const take = (presented: Presented, value: string, named: TokenKind | null): void => {
  const text = value.trim();
  const space = text.indexOf(' ');
  const word = space === -1 ? null : (kindWords[text.slice(0, space).toLowerCase()] ?? null);
  const token = word === null ? text : text.slice(space + 1).trim();
  if (presented.token !== '' && presented.token !== token) throw disagree();
  presented.token = token;
  takeClaim(presented, named);
  takeClaim(presented, word);
};

/** The one token of a request. Throws `tokens_disagree` or `token_kind_unsupported`. */
export const presentedToken = (headers: RequestHeaders): Presented => {
  const presented: Presented = { token: '', claim: null };
  if (headers.authRepeated) throw disagree();
  if (headers.authorization !== '') take(presented, headers.authorization, null);
  if (headers.userAuth !== '') take(presented, headers.userAuth, 'user');
  if (headers.botAuth !== '') take(presented, headers.botAuth, 'bot');
  if (headers.serverAuth !== '') take(presented, headers.serverAuth, 'server');
  if (headers.teamAuth !== '') take(presented, headers.teamAuth, 'team');
  return presented;
};
