/**
 * Schemas of teams, their members and permissions (contract §2.8).
 */
import { type Static, Type } from 'typebox';
import {
  buildFlag,
  buildSum,
  buildText,
  buildTextList,
  ExtraLink,
  TeamIdOrVanity,
  Timestamp,
  User,
  Uuid,
} from './common.ts';
import { buildObject, describe } from './example.ts';
import { IndexBot, IndexServer } from './index-entities.ts';

/** The kinds of entities that a team can include. */
export const teamTargets = ['team_member', 'bot', 'server'] as const;
export type TeamTarget = (typeof teamTargets)[number];

export const TeamParams = Type.Object({ id: TeamIdOrVanity });
export const TeamQuery = Type.Object({
  // The empty default lets the handler refuse a missing value with a message that lists the kinds.
  targets: Type.String({
    default: '',
    description:
      'Comma-separated kinds of entities to return: `team_member`, `bot`, `server`; others are ignored.',
    examples: ['team_member,bot,server'],
  }),
});

const service = buildText('api', 'How it came here: `api`, or `operator` for what the operator imported.');

export const TeamMember = describe(
  buildObject({
    created_at: describe(Timestamp, 'When the user joined the team.'),
    data_holder: buildFlag('Whether the member answers for all data of the team.', true),
    flags: buildTextList('Marks that the operator imported; usually `[]`.', []),
    itag: describe(Uuid, 'Id of this membership; joining again gives a new one.'),
    mentionable: buildFlag('Whether the member may be mentioned in alerts.', true),
    service,
    team_id: buildText('018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10', 'Id of the team.'),
    user: describe(User, 'Who the member is.'),
  }),
  'A member of a team. `GET /users/{id}/team/{target_id}/perms` has their permissions.',
);
export type TeamMember = Static<typeof TeamMember>;

export const TeamEntities = buildObject(
  {
    bots: describe(Type.Array(IndexBot), 'Bots that the team owns; `[]` unless requested.'),
    members: describe(Type.Array(TeamMember), 'Members of the team; `[]` unless requested.'),
    servers: describe(Type.Array(IndexServer), 'Servers that the team owns; `[]` unless requested.'),
    targets: buildTextList('The requested kinds: `team_member`, `bot`, `server`.', ['team_member']),
  },
  { bots: [], servers: [] },
);
export type TeamEntities = Static<typeof TeamEntities>;

export const Team = describe(
  buildObject(
    {
      approximate_votes: buildSum(7, 'Upvotes minus downvotes, as last written to the database.'),
      created_at: describe(Timestamp, 'When the team was created.'),
      entities: describe(TeamEntities, 'What belongs to the team, as far as it was requested.'),
      extra_links: describe(Type.Array(ExtraLink), 'Up to 20 links of the team.'),
      id: buildText('018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10', 'Id of the team.'),
      name: buildText('Keepers', 'Name of the team, 3 to 32 characters.'),
      nsfw: buildFlag('Whether it is for adults only.'),
      service,
      short: buildText('We keep the lights on.', 'Short description, up to 150 characters; may be empty.'),
      tags: buildTextList('Up to 5 different tags of 3 to 30 characters.', ['utility']),
      updated_at: describe(Timestamp, 'When its profile was last changed.'),
      vanity: buildText('keepers', 'Its short address, as in `/@{code}`: 2 to 32 of `a-z 0-9 - _`.'),
      vanity_ref: describe(Uuid, 'Id of the vanity code; it stays when the code changes.'),
      vote_banned: buildFlag('Whether the operator has banned it from receiving votes.'),
      votes: buildSum(7, 'Upvotes minus downvotes, as of now; may be negative.'),
    },
    { extra_links: [] },
  ),
  'A team: users who own bots and servers together.',
);
export type Team = Static<typeof Team>;

export const TeamPermission = describe(
  buildObject({
    category: buildText('General', 'Heading under which menus show it.'),
    dangerous: buildFlag('Whether it can do harm that is hard to undo.', true),
    desc: buildText('Everything, and deleting the team.', 'What it allows, as a sentence.'),
    id: buildText('owner', 'Id, as `perms` and `perm_limits` name it.'),
    name: buildText('Owner', 'Name to show.'),
  }),
  'A permission that a member of a team can have.',
);
export const TeamPermissions = buildObject({
  perms: describe(Type.Array(TeamPermission), 'All 24 permissions, in the order of menus.'),
});
