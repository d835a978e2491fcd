/**
 * Schemas of the login exchange (contract §4.1).
 */
import { type Static, Type } from 'typebox';
import { plainText } from '../request/patterns.ts';
import { buildText } from './common.ts';
import { buildObject } from './example.ts';

const buildBoundedLine = (maxLength: number, about: { description: string; example: string }) =>
  Type.String({
    minLength: 1,
    maxLength,
    pattern: plainText,
    description: about.description,
    examples: [about.example],
  });
const exampleUri = 'https://example.org/login';

export const LoginUrlQuery = Type.Object({
  redirect_uri: Type.Optional(
    buildBoundedLine(2_048, {
      description: 'The address to which the provider sends the user back; the first allowed one if absent.',
      example: exampleUri,
    }),
  ),
});
export type LoginUrlQuery = Static<typeof LoginUrlQuery>;

const stateExample = 'm9ksr3t4.2lN1xq5cV0aYd8fGh3jKlw.b6Zr0m7Q9pXcV2nB4tYs8uWk1eHd5gJf3aLqRoTiMxU';

export const LoginUrl = buildObject({
  client_id: buildText('815553000470478850', "This directory's id at the provider."),
  url: Type.String({
    description: 'Address of the login page. Send the user there.',
    examples: ['https://chat.example.org/oauth2/authorize?response_type=code'],
  }),
  state: Type.String({
    description:
      'Compare it with the state that comes back, then send it with the code. Valid for 10 minutes.',
    examples: [stateExample],
  }),
});
export type LoginUrl = Static<typeof LoginUrl>;

export const loginProtocol = 'persepolis';

export const LoginBody = buildObject({
  client_id: buildBoundedLine(256, {
    description: "This directory's id at the provider, as `GET` returns it.",
    example: '815553000470478850',
  }),
  code: buildBoundedLine(4_096, {
    description: 'The code that the provider issued; valid once.',
    example: 'NhhvTDYsFcdg',
  }),
  protocol: Type.String({ description: `Must be \`${loginProtocol}\`.`, examples: [loginProtocol] }),
  redirect_uri: buildBoundedLine(2_048, {
    description: 'The address to which the provider sent the user back; one that the operator allows.',
    example: exampleUri,
  }),
  scope: Type.Enum(['normal', 'ban_exempt', 'external_auth'], {
    description: 'Banned users must use `ban_exempt`; other users must not.',
    examples: ['normal'],
  }),
  state: Type.Optional(
    buildBoundedLine(256, {
      description: 'The state from `GET`. It binds the exchange to that login page; valid once.',
      example: stateExample,
    }),
  ),
});
export type LoginBody = Static<typeof LoginBody>;
