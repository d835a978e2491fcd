/**
 * Bodies of teams and members, and the small replies about them (contract §4.3).
 */
import { type Static, Type } from 'typebox';
import { entityKinds } from '../../engine/ids.ts';
import { Flag, orNull, TargetId, TargetType, UserId, Uuid, Words } from './common.ts';
import { LinksInput, lineOf, proseOf, tagsOf } from './fields.ts';
import { plainText } from './patterns.ts';

/** More than there are permissions; repeated words are folded. */
const permissionWordsMax = 64;
/** Kinds of entities that a user can hold permissions on. */
export const permissionKinds = entityKinds.filter((kind) => kind !== 'pack');

export const TeamEditParams = Type.Object({ tid: TargetId });
export const MemberParams = Type.Object({ tid: TargetId, mid: UserId });
export const PermsParams = Type.Object({ id: UserId, target_type: TargetType, target_id: TargetId });

const name = lineOf(3, 32, 'Keepers');
const optionalFields = {
  extra_links: Type.Optional(orNull(LinksInput)),
  nsfw: Type.Optional(orNull(Flag)),
  short: Type.Optional(orNull(proseOf(0, 150, 'We keep the lights on.'))),
  tags: Type.Optional(orNull(tagsOf(0))),
};
const teamBodyExample = {
  name: 'Keepers',
  extra_links: [{ name: 'Website', value: 'https://example.org' }],
  nsfw: false,
  short: 'We keep the lights on.',
  tags: ['utility'],
};
export const TeamBody = Type.Object({ name, ...optionalFields }, { examples: [teamBodyExample] });
export type TeamBody = Static<typeof TeamBody>;
export const TeamEditBody = Type.Object(
  { name: Type.Optional(name), ...optionalFields },
  { examples: [{ short: 'We keep the lights on, day and night.' }] },
);
export type TeamEditBody = Static<typeof TeamEditBody>;

export const TeamCreated = Type.Object(
  { team_id: Uuid },
  { examples: [{ team_id: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10' }] },
);
export type TeamCreated = Static<typeof TeamCreated>;

const PermissionWords = Type.Array(Type.String({ examples: ['edit_bots'] }), {
  maxItems: permissionWordsMax,
  description: 'Permission ids (see `GET /teams/meta/permissions`).',
});
export const MemberBody = Type.Object(
  {
    perms: PermissionWords,
    user_id: Type.String({
      minLength: 1,
      maxLength: 128,
      pattern: plainText,
      examples: ['728871946456137770'],
    }),
  },
  { examples: [{ perms: ['edit_bots', 'view_sessions'], user_id: '728871946456137770' }] },
);
export type MemberBody = Static<typeof MemberBody>;

export const MemberEditBody = Type.Object(
  {
    data_holder: Type.Optional(orNull(Flag)),
    mentionable: Type.Optional(orNull(Flag)),
    perms: Type.Optional(orNull(PermissionWords)),
  },
  { examples: [{ data_holder: null, mentionable: true, perms: ['edit_bots'] }] },
);
export type MemberEditBody = Static<typeof MemberEditBody>;

export const HeldPermissions = Type.Object(
  { perms: Words },
  { examples: [{ perms: ['edit_bots', 'view_sessions'] }] },
);
