/**
 * Request bodies of teams and members, and the replies to them (contract §4.3).
 */
import { type Static, Type } from 'typebox';
import { entityKinds } from '../../engine/ids.ts';
import { plainText } from '../request/patterns.ts';
import { Flag, TargetId, TargetType, TextList, toNullable, UserId, Uuid } from './common.ts';
import { buildLine, buildProse, buildTags, LinksInput } from './fields.ts';

/** More than there are permissions; duplicates are dropped. */
const permissionIdsMax = 64;
/** The kinds of entities on which a user can have permissions. */
export const permissionKinds = entityKinds.filter((kind) => kind !== 'pack');

export const TeamEditParams = Type.Object({ tid: TargetId });
export const MemberParams = Type.Object({ tid: TargetId, mid: UserId });
export const PermissionsParams = Type.Object({ id: UserId, target_type: TargetType, target_id: TargetId });

const name = buildLine(3, 32, 'Keepers');
const optionalFields = {
  extra_links: Type.Optional(toNullable(LinksInput)),
  nsfw: Type.Optional(toNullable(Flag)),
  short: Type.Optional(toNullable(buildProse(0, 150, 'We keep the lights on.'))),
  tags: Type.Optional(toNullable(buildTags(0))),
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

const PermissionIds = Type.Array(Type.String({ examples: ['edit_bots'] }), {
  maxItems: permissionIdsMax,
  description: 'Permission ids (see `GET /teams/meta/permissions`).',
});
export const MemberBody = Type.Object(
  {
    perms: PermissionIds,
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
    data_holder: Type.Optional(toNullable(Flag)),
    mentionable: Type.Optional(toNullable(Flag)),
    perms: Type.Optional(toNullable(PermissionIds)),
  },
  { examples: [{ data_holder: null, mentionable: true, perms: ['edit_bots'] }] },
);
export type MemberEditBody = Static<typeof MemberEditBody>;

export const GrantedPermissions = Type.Object(
  { perms: TextList },
  { examples: [{ perms: ['edit_bots', 'view_sessions'] }] },
);
