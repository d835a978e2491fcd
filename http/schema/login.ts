/**
 * Schemas of the login exchange (contract §4.1).
 */
import { type Static, Type } from 'typebox';
import { plainText } from '../request/patterns.ts';
import { Text } from './common.ts';

const buildBoundedLine = (maxLength: number, about: { description: string; example: string }) =>
  Type.String({
    minLength: 1,
    maxLength,
    pattern: plainText,
    description: about.description,
    examples: [about.example],
  });
const redirectUri = buildBoundedLine(2_048, {
  description: 'Where the provider sent the user back to: one of the addresses the operator allows.',
  example: 'https://example.org/login',
});

export const LoginUrlQuery = Type.Object({
  redirect_uri: Type.Optional(
    buildBoundedLine(2_048, {
      description: 'Where the provider is to send the user back to; when absent the first allowed address.',
      example: 'https://example.org/login',
    }),
  ),
});
export type LoginUrlQuery = Static<typeof LoginUrlQuery>;

const stateExample = 'm9ksr3t4.2lN1xq5cV0aYd8fGh3jKlw.b6Zr0m7Q9pXcV2nB4tYs8uWk1eHd5gJf3aLqRoTiMxU';

export const LoginUrl = Type.Object(
  {
    client_id: Text,
    url: Type.String({ description: 'Send the user here.' }),
    state: Type.String({
      description: 'Compare it with the one that comes back, then hand it in with the code. For 10 minutes.',
    }),
  },
  {
    examples: [
      {
        client_id: '815553000470478850',
        url: 'https://chat.example.org/oauth2/authorize?response_type=code',
        state: stateExample,
      },
    ],
  },
);
export type LoginUrl = Static<typeof LoginUrl>;

export const loginProtocol = 'persepolis';

export const LoginBody = Type.Object(
  {
    client_id: buildBoundedLine(256, {
      description: 'Our id at the provider, as `GET` says it.',
      example: '815553000470478850',
    }),
    code: buildBoundedLine(4_096, {
      description: 'What the provider handed out; good once.',
      example: 'NhhvTDYsFcdg',
    }),
    protocol: Type.String({ description: `Must be \`${loginProtocol}\`.`, examples: [loginProtocol] }),
    redirect_uri: redirectUri,
    scope: Type.Enum(['normal', 'ban_exempt', 'external_auth'], {
      description: '`ban_exempt` is for banned users, who may use no other.',
      examples: ['normal'],
    }),
    state: Type.Optional(
      buildBoundedLine(256, {
        description: 'From `GET`; with it the exchange is bound to that address. Good once.',
        example: stateExample,
      }),
    ),
  },
  {
    examples: [
      {
        client_id: '815553000470478850',
        code: 'NhhvTDYsFcdg',
        protocol: loginProtocol,
        redirect_uri: 'https://example.org/login',
        scope: 'normal',
      },
    ],
  },
);
export type LoginBody = Static<typeof LoginBody>;
