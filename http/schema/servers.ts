/**
 * Schemas of servers: the condensed form of the contract (§2.5), and the further fields of a single server.
 */
import { type Static, Type } from 'typebox';
import { Count, ExtraLink, Flag, ServerIdOrVanity, Text, Timestamp } from './common.ts';
import { indexServerExample, indexServerFields } from './index-entities.ts';
import { Team, teamExample } from './teams.ts';

export const ServerParams = Type.Object({ id: ServerIdOrVanity });

const serverExample = {
  ...indexServerExample,
  created_at: '2026-01-10T09:30:00.000Z',
  extra_links: [],
  invite: 'https://example.org/join',
  team_owner: teamExample,
  unique_clicks: 230,
  updated_at: '2026-02-01T10:00:00.000Z',
  vote_banned: false,
};
export const Server = Type.Object(
  {
    ...indexServerFields,
    created_at: Timestamp,
    extra_links: Type.Array(ExtraLink),
    invite: Text,
    long: Type.Optional(Type.String({ description: 'Only with `include=long`.' })),
    team_owner: Team,
    unique_clicks: Count,
    updated_at: Timestamp,
    vote_banned: Flag,
  },
  { examples: [serverExample] },
);
export type Server = Static<typeof Server>;
