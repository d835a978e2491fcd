/**
 * Request bodies of teams and members, and the replies to them (contract §4.3).
 */
import { type Static, Type } from 'typebox';
import { entityKinds } from '../../engine/ids.ts';
import { plainText } from '../request/patterns.ts';
import { buildTargetType, buildTextList, Flag, TargetId, toNullable, UserId, Uuid } from './common.ts';
import { buildObject, describe } from './example.ts';
import { buildLine, buildProse, buildTags, LinksInput } from './fields.ts';

/** More than there are permissions; duplicates are dropped. */
const permissionIdsMax = 64;
/** The kinds of entities on which a user can have permissions. */
export const permissionKinds = entityKinds.filter((kind) => kind !== 'pack');

const TeamId = describe(TargetId, 'Id of the team.');
export const TeamEditParams = Type.Object({ tid: TeamId });
export const MemberParams = Type.Object({ tid: TeamId, mid: describe(UserId, 'Id of the member (a user).') });
export const PermissionsParams = Type.Object({
  id: UserId,
  target_type: buildTargetType(permissionKinds),
  target_id: TargetId,
});

const name = describe(buildLine(3, 32, 'Keepers'), 'Name of the team, 3 to 32 characters.');
const optionalFields = {
  extra_links: Type.Optional(
    describe(toNullable(LinksInput), 'Up to 20 links; `null` is the same as absent.'),
  ),
  nsfw: Type.Optional(
    describe(toNullable(Flag), 'Whether the team is for adults only; `null` is the same as absent.'),
  ),
  short: Type.Optional(
    describe(
      toNullable(buildProse(0, 150, 'We keep the lights on.')),
      'Short description, up to 150 characters; `null` is the same as absent.',
    ),
  ),
  tags: Type.Optional(
    describe(
      toNullable(buildTags(0)),
      'Up to 5 different tags of 3 to 30 characters; `null` is the same as absent.',
    ),
  ),
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

export const TeamCreated = buildObject({ team_id: describe(Uuid, 'Id of the new team.') });
export type TeamCreated = Static<typeof TeamCreated>;

const PermissionIds = Type.Array(Type.String({ examples: ['edit_bots'] }), {
  maxItems: permissionIdsMax,
  description: 'Permission ids (see `GET /teams/meta/permissions`), up to 64.',
});
export const MemberBody = buildObject({
  perms: PermissionIds,
  user_id: Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: plainText,
    description: 'Id of a user whom the directory knows, and who is not a bot.',
    examples: ['728871946456137770'],
  }),
});
export type MemberBody = Static<typeof MemberBody>;

export const MemberEditBody = buildObject(
  {
    data_holder: Type.Optional(
      describe(
        toNullable(Flag),
        'Whether the member answers for all data of the team. Absent or `null`: unchanged.',
      ),
    ),
    mentionable: Type.Optional(
      describe(
        toNullable(Flag),
        'Whether the member may be mentioned in alerts. Absent or `null`: unchanged.',
      ),
    ),
    perms: Type.Optional(
      describe(
        toNullable(PermissionIds),
        'All permission ids that the member has from now on, up to 64. Absent, `null` or `[]`: unchanged.',
      ),
    ),
  },
  { data_holder: null, mentionable: true, perms: ['edit_bots'] },
);
export type MemberEditBody = Static<typeof MemberEditBody>;

export const GrantedPermissions = buildObject({
  perms: buildTextList('Ids of all permissions that the user has there, in the order of the catalogue.', [
    'edit_bots',
    'view_sessions',
  ]),
});
