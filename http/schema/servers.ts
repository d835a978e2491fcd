/**
 * Schemas of servers: the condensed form of the contract (§2.5), and the further fields of a single server.
 */
import { type Static, Type } from 'typebox';
import { buildCount, buildFlag, buildText, ExtraLink, ServerIdOrVanity, Timestamp } from './common.ts';
import { buildObject, describe } from './example.ts';
import { indexServerFields } from './index-entities.ts';
import { Team } from './teams.ts';

export const ServerParams = Type.Object({ id: ServerIdOrVanity });

export const Server = describe(
  buildObject(
    {
      ...indexServerFields,
      created_at: describe(Timestamp, 'When the server was added to this directory.'),
      extra_links: describe(Type.Array(ExtraLink), 'Up to 20 links of the server.'),
      invite: buildText('https://example.org/join', 'An https address that leads in; may be empty.'),
      long: Type.Optional(
        Type.String({
          description: 'Long description, up to 65,536 characters. Only with `include=long`.',
          examples: ['We meet every evening. …'],
        }),
      ),
      team_owner: describe(Team, 'The team that owns it.'),
      unique_clicks: buildCount(230, 'Visitors of its page, each counted once, up to 1,000,000.'),
      updated_at: describe(Timestamp, 'When its profile was last changed.'),
      vote_banned: buildFlag('Whether the operator has banned it from receiving votes.'),
    },
    { extra_links: [] },
  ),
  'A chat server with all that is public about it. Its numbers are live.',
);
export type Server = Static<typeof Server>;
