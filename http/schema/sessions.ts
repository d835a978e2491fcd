/**
 * Schemas of sessions and of the token test (contract §2.10, §4.1).
 */
import { type Static, Type } from 'typebox';
import { tokenKinds } from '../../engine/rules/token.ts';
import { plainText } from '../request/patterns.ts';
import {
  buildFlag,
  buildTargetParams,
  buildTargetType,
  buildText,
  buildTextList,
  TargetId,
  Timestamp,
  Uuid,
} from './common.ts';
import { buildObject, describe } from './example.ts';

/** Ten years of 365 days. */
const sessionSecondsMax = 315_360_000;
/** More than there are permissions; duplicates are dropped. */
const permLimitsMax = 64;

export const SessionsParams = buildTargetParams(tokenKinds);
export const SessionParams = Type.Object({
  target_type: buildTargetType(tokenKinds),
  target_id: TargetId,
  session_id: describe(Uuid, 'Id of the session, as the list of sessions shows it.'),
});

const sessionFields = buildObject(
  {
    created_at: describe(Timestamp, 'When the session was created.'),
    expiry: describe(Timestamp, 'When its token stops working.'),
    id: describe(Uuid, 'Id of the session, to revoke it by.'),
    name: buildText('stats poster', 'Name that was given at creation, 1 to 64 characters.'),
    perm_limits: buildTextList('Ids of the permissions it is limited to; `[]`: unlimited.', []),
    target_id: buildText('815553000470478850', 'Id of the entity that its token acts for.'),
    target_type: buildText('bot', 'Kind of that entity: `user`, `bot`, `server` or `team`.'),
    type: Type.String({
      description: '`login` (a user logged in) or `api` (created by `POST …/sessions`).',
      examples: ['api'],
    }),
  },
  { expiry: '2027-03-01T12:00:00.000Z' },
);
export const Session = describe(sessionFields, 'What is known about a token, without the token.');
export type Session = Static<typeof Session>;
export const Sessions = buildObject({
  sessions: describe(Type.Array(Session), 'The sessions of the entity.'),
});

export const SessionBody = buildObject(
  {
    expiry: Type.Integer({
      minimum: 1,
      maximum: sessionSecondsMax,
      description: 'How long the session lasts, in seconds: up to 315,360,000 (ten years).',
      examples: [31_536_000],
    }),
    name: Type.String({
      minLength: 1,
      maxLength: 64,
      pattern: plainText,
      description: 'Name by which you recognise it in the list, 1 to 64 characters.',
      examples: ['stats poster'],
    }),
    perm_limits: Type.Array(Type.String({ examples: ['view_sessions'] }), {
      maxItems: permLimitsMax,
      description:
        'Permission ids to which the session is limited. An empty list means unlimited; only the owner may ' +
        'create an unlimited session.',
    }),
    type: Type.String({ description: 'Must be `api`.', examples: ['api'] }),
  },
  { perm_limits: [] },
);
export type SessionBody = Static<typeof SessionBody>;

export const SessionCreated = buildObject({
  session_id: describe(Uuid, 'Id of the session, to revoke it by.'),
  target_id: buildText('815553000470478850', 'Id of the entity that the token acts for.'),
  token: buildText('<ACCESS_TOKEN>', 'The token. No other reply shows it.'),
});
export type SessionCreated = Static<typeof SessionCreated>;

export const AuthTestBody = buildObject({
  auth_type: Type.Enum([...tokenKinds], { description: 'The kind of token.', examples: ['bot'] }),
  target_id: Type.String({
    maxLength: 128,
    description: 'Id of the entity that the token should act for.',
    examples: ['815553000470478850'],
  }),
  token: Type.String({
    maxLength: 512,
    description: 'The token to test, with or without the kind in front (`Bot <token>`).',
    examples: ['<ACCESS_TOKEN>'],
  }),
});
export type AuthTestBody = Static<typeof AuthTestBody>;

export const AuthTest = buildObject(
  {
    authorized: buildFlag('Whether the token is valid now and acts for this entity.', true),
    banned: buildFlag('Whether the user behind the token is banned.'),
    data: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Of a valid token: `session_id`, and `perm_limits` (`[]`: unlimited). Else `{}`.',
    }),
    id: buildText('815553000470478850', 'The `target_id` of the request.'),
    target_type: buildText('bot', 'The `auth_type` of the request.'),
  },
  { data: { session_id: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a16', perm_limits: [] } },
);
export type AuthTest = Static<typeof AuthTest>;
