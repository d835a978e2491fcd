/**
 * Says in words who may call an operation, from the same `auth` that auth/authorise.ts checks, so that the
 * document cannot differ from the check. Pure.
 */

import type { Auth } from '../auth/auth.ts';
import type { AnyRoute } from '../route.ts';

type Of<Kind extends Auth['kind']> = Extract<Auth, { kind: Kind }>;

const joinWords = (words: readonly string[]): string =>
  words.length === 1 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;

const describeEntityAccess = (auth: Of<'entity'>): string => {
  const sentences = [
    `Needs the permission \`${auth.permission}\` there.`,
    `Accepts tokens of: ${joinWords(auth.kinds)}. A token of the entity itself, or of the team that owns ` +
      'it, has all permissions.',
  ];
  if (auth.unless !== undefined) sentences.push('Members need no permission to act on themselves.');
  if (auth.into !== undefined)
    sentences.push(`Also needs \`${auth.into.permission}\` in the team that the body names.`);
  return sentences.join(' ');
};

const describeAuth = (auth: Auth): string => {
  switch (auth.kind) {
    case 'public':
      return 'Needs no token.';
    case 'bot':
      return 'Needs any token of the bot.';
    case 'user':
      return 'Needs an unlimited user token.';
    case 'self':
      return 'Needs an unlimited token of the user in the path.';
    case 'kinds':
      return `Needs a ${joinWords(auth.kinds)} token; a limited one needs \`${auth.permission}\`.`;
    case 'owner':
      return `Needs a ${joinWords(auth.kinds)} token; for a team, a user needs \`${auth.permission}\` there.`;
    case 'entity':
      return describeEntityAccess(auth);
  }
};

/** Returns sentences about tokens, permissions and limits, in Markdown. */
export const describeAccess = (route: AnyRoute): string => {
  const sentences = [describeAuth(route.auth)];
  if (route.bannedAllowed === true && route.auth.kind !== 'public')
    sentences.push('A ban does not matter here.');
  if (route.limit !== undefined) sentences.push('Limited: `RateLimit` in the reply says what is left.');
  return sentences.join(' ');
};
