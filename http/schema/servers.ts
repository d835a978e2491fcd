/**
 * Schemas of servers: the condensed form of the contract (§2.5), and the further fields of a single server.
 */
import { type Static, Type } from 'typebox';
import { buildCount, buildText, ExtraLink, Flag, ServerIdOrVanity, Timestamp } from './common.ts';
import { buildObject } from './example.ts';
import { indexServerFields } from './index-entities.ts';
import { Team } from './teams.ts';

export const ServerParams = Type.Object({ id: ServerIdOrVanity });

export const Server = buildObject(
  {
    ...indexServerFields,
    created_at: Timestamp,
    extra_links: Type.Array(ExtraLink),
    invite: buildText('https://example.org/join'),
    long: Type.Optional(Type.String({ description: 'Only with `include=long`.' })),
    team_owner: Team,
    unique_clicks: buildCount(230),
    updated_at: Timestamp,
    vote_banned: Flag,
  },
  { extra_links: [], tags: ['community'] },
);
export type Server = Static<typeof Server>;
