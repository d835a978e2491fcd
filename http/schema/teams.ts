/**
 * Schemas of teams, their members and permissions (contract §2.8).
 */
import { type Static, Type } from 'typebox';
import {
  ExtraLink,
  Flag,
  Sum,
  TeamIdOrVanity,
  Text,
  TextList,
  Timestamp,
  User,
  Uuid,
  userExample,
} from './common.ts';
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

const memberExample = {
  created_at: '2026-01-10T09:30:00.000Z',
  data_holder: true,
  flags: [],
  itag: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a13',
  mentionable: true,
  service: 'api',
  team_id: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10',
  user: userExample,
};
export const TeamMember = Type.Object(
  {
    created_at: Timestamp,
    data_holder: Flag,
    flags: TextList,
    itag: Uuid,
    mentionable: Flag,
    service: Text,
    team_id: Text,
    user: User,
  },
  { examples: [memberExample] },
);
export type TeamMember = Static<typeof TeamMember>;

export const teamExample = {
  approximate_votes: 7,
  created_at: '2026-01-10T09:30:00.000Z',
  entities: { bots: [], members: [memberExample], servers: [], targets: ['team_member'] },
  extra_links: [],
  id: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10',
  name: 'Keepers',
  nsfw: false,
  service: 'api',
  short: 'We keep the lights on.',
  tags: [],
  updated_at: '2026-02-01T10:00:00.000Z',
  vanity: 'keepers',
  vanity_ref: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a14',
  vote_banned: false,
  votes: 7,
};
export const TeamEntities = Type.Object({
  bots: Type.Array(IndexBot),
  members: Type.Array(TeamMember),
  servers: Type.Array(IndexServer),
  targets: Type.Array(Type.String({ description: 'The requested kinds.' })),
});
export type TeamEntities = Static<typeof TeamEntities>;

export const Team = Type.Object(
  {
    approximate_votes: Sum,
    created_at: Timestamp,
    entities: TeamEntities,
    extra_links: Type.Array(ExtraLink),
    id: Text,
    name: Text,
    nsfw: Flag,
    service: Text,
    short: Text,
    tags: TextList,
    updated_at: Timestamp,
    vanity: Text,
    vanity_ref: Uuid,
    vote_banned: Flag,
    votes: Sum,
  },
  { examples: [teamExample] },
);
export type Team = Static<typeof Team>;

export const TeamPermission = Type.Object({
  category: Text,
  dangerous: Flag,
  desc: Text,
  id: Text,
  name: Text,
});
export const TeamPermissions = Type.Object(
  { perms: Type.Array(TeamPermission) },
  {
    examples: [
      {
        perms: [
          {
            category: 'General',
            dangerous: true,
            desc: 'Everything, and deleting the team.',
            id: 'owner',
            name: 'Owner',
          },
        ],
      },
    ],
  },
);
