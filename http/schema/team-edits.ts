/**
 * Request bodies of teams and members, and the replies to them (contract §4.3).
 */
import { type Static, Type } from 'typebox';
import { entityKinds } from '../../engine/ids.ts';
import { plainText } from '../request/patterns.ts';
import { Flag, TargetId, TargetType, TextList, toNullable, UserId, Uuid } from './common.ts';
import { buildObject } from './example.ts';
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
export const TeamBody = buildObject(
  { name, ...optionalFields },
  {
    extra_links: [{ name: 'Website', value: 'https://example.org' }],
    nsfw: false,
    short: 'We keep the lights on.',
    tags: ['utility'],
  },
);
export type TeamBody = Static<typeof TeamBody>;
export const TeamEditBody = buildObject(
  { name: Type.Optional(name), ...optionalFields },
  { short: 'We keep the lights on, day and night.' },
);
export type TeamEditBody = Static<typeof TeamEditBody>;

export const TeamCreated = buildObject({ team_id: Uuid });
export type TeamCreated = Static<typeof TeamCreated>;

const PermissionIds = Type.Array(Type.String({ examples: ['edit_bots'] }), {
  maxItems: permissionIdsMax,
  description: 'Permission ids (see `GET /teams/meta/permissions`).',
});
export const MemberBody = buildObject({
  perms: PermissionIds,
  user_id: Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: plainText,
    examples: ['728871946456137770'],
  }),
});
export type MemberBody = Static<typeof MemberBody>;

export const MemberEditBody = buildObject(
  {
    data_holder: Type.Optional(toNullable(Flag)),
    mentionable: Type.Optional(toNullable(Flag)),
    perms: Type.Optional(toNullable(PermissionIds)),
  },
  { data_holder: null, mentionable: true, perms: ['edit_bots'] },
);
export type MemberEditBody = Static<typeof MemberEditBody>;

export const GrantedPermissions = buildObject({ perms: TextList }, { perms: ['edit_bots', 'view_sessions'] });
