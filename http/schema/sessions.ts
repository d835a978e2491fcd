/**
 * Schemas of sessions and of the token test (contract §2.10, §4.1).
 */
import { type Static, Type } from 'typebox';
import { tokenKinds } from '../../engine/rules/token.ts';
import { plainText } from '../request/patterns.ts';
import { buildText, Flag, TargetId, TargetType, TextList, Timestamp, TrueFlag, Uuid } from './common.ts';
import { buildObject } from './example.ts';

/** Ten years of 365 days. */
const sessionSecondsMax = 315_360_000;
/** More than there are permissions; duplicates are dropped. */
const permLimitsMax = 64;

export const SessionsParams = Type.Object({ target_type: TargetType, target_id: TargetId });
export const SessionParams = Type.Object({
  target_type: TargetType,
  target_id: TargetId,
  session_id: Uuid,
});

export const Session = buildObject(
  {
    created_at: Timestamp,
    expiry: Timestamp,
    id: Uuid,
    name: buildText('stats poster'),
    perm_limits: TextList,
    target_id: buildText('815553000470478850'),
    target_type: buildText('bot'),
    type: Type.String({ description: '`login` or `api`.', examples: ['api'] }),
  },
  { expiry: '2027-03-01T12:00:00.000Z' },
);
export type Session = Static<typeof Session>;
export const Sessions = buildObject({ sessions: Type.Array(Session) });

export const SessionBody = buildObject(
  {
    expiry: Type.Integer({
      minimum: 1,
      maximum: sessionSecondsMax,
      description: 'How long the session lasts, in seconds.',
      examples: [31_536_000],
    }),
    name: Type.String({ minLength: 1, maxLength: 64, pattern: plainText, examples: ['stats poster'] }),
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
  session_id: Uuid,
  target_id: buildText('815553000470478850'),
  token: buildText('<ACCESS_TOKEN>'),
});
export type SessionCreated = Static<typeof SessionCreated>;

export const AuthTestBody = buildObject({
  auth_type: Type.Enum([...tokenKinds], { examples: ['bot'] }),
  target_id: Type.String({ maxLength: 128, examples: ['815553000470478850'] }),
  token: Type.String({ maxLength: 512, examples: ['<ACCESS_TOKEN>'] }),
});
export type AuthTestBody = Static<typeof AuthTestBody>;

export const AuthTest = buildObject(
  {
    authorized: TrueFlag,
    banned: Flag,
    data: Type.Record(Type.String(), Type.Unknown()),
    id: buildText('815553000470478850'),
    target_type: buildText('bot'),
  },
  { data: { session_id: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a16', perm_limits: [] } },
);
export type AuthTest = Static<typeof AuthTest>;
