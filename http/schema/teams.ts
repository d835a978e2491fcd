/**
 * Schemas of teams, their members and permissions (contract §2.8).
 */
import { type Static, Type } from 'typebox';
import {
  buildSum,
  buildText,
  ExtraLink,
  Flag,
  TeamIdOrVanity,
  TextList,
  Timestamp,
  TrueFlag,
  User,
  Uuid,
} from './common.ts';
import { buildObject } from './example.ts';
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

export const TeamMember = buildObject({
  created_at: Timestamp,
  data_holder: TrueFlag,
  flags: TextList,
  itag: Uuid,
  mentionable: TrueFlag,
  service: buildText('api'),
  team_id: buildText('018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10'),
  user: User,
});
export type TeamMember = Static<typeof TeamMember>;

export const TeamEntities = buildObject(
  {
    bots: Type.Array(IndexBot),
    members: Type.Array(TeamMember),
    servers: Type.Array(IndexServer),
    targets: Type.Array(Type.String({ description: 'The requested kinds.', examples: ['team_member'] })),
  },
  { bots: [], servers: [] },
);
export type TeamEntities = Static<typeof TeamEntities>;

export const Team = buildObject(
  {
    approximate_votes: buildSum(7),
    created_at: Timestamp,
    entities: TeamEntities,
    extra_links: Type.Array(ExtraLink),
    id: buildText('018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10'),
    name: buildText('Keepers'),
    nsfw: Flag,
    service: buildText('api'),
    short: buildText('We keep the lights on.'),
    tags: TextList,
    updated_at: Timestamp,
    vanity: buildText('keepers'),
    vanity_ref: Uuid,
    vote_banned: Flag,
    votes: buildSum(7),
  },
  { extra_links: [] },
);
export type Team = Static<typeof Team>;

export const TeamPermission = buildObject({
  category: buildText('General'),
  dangerous: TrueFlag,
  desc: buildText('Everything, and deleting the team.'),
  id: buildText('owner'),
  name: buildText('Owner'),
});
export const TeamPermissions = buildObject({ perms: Type.Array(TeamPermission) });
