/**
 * Schemas of the operator's lists: the rows, and what every list says about its length.
 */
import { type Static, type TProperties, type TSchema, Type } from 'typebox';
import {
  buildInputTime,
  buildName,
  Flag,
  TargetId,
  Text,
  Timestamp,
  toNullable,
  UserId,
} from '../api/shared/common.ts';

/** A list whose rows, which have these fields, are in the member `name`. */
export const buildList = (name: string, fields: TProperties) => buildListOf(name, Type.Object(fields));

/** The same for rows of a schema. */
export const buildListOf = (name: string, row: TSchema) =>
  Type.Object({
    [name]: Type.Array(row),
    total: Type.Integer(),
    total_is: Type.Enum(['exact', 'about', 'at_least']),
    next_page: toNullable(Type.Integer()),
  });

const page = Type.Optional(Type.String({ description: 'Page number, from 1.' }));

const search = Type.Optional(buildName(128, 'Only this id, and names that begin with this text.'));

const buildTypes = (description: string) =>
  Type.Optional(Type.Enum(['pending', 'approved', 'certified', 'denied'], { description }));
export const PageOnlyQuery = Type.Object({ page });

export const AuditQuery = Type.Object({
  operator: Type.Optional(buildName(64, 'Only what this operator did.')),
  operation: Type.Optional(
    buildName(64, 'Only this command, or commands that begin with this word: bots approve, or bots.'),
  ),
  target: Type.Optional(buildName(128, 'Only changes of this id, in any letter case.')),
  rows: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000, description: 'Rows on a page, 1 to 1,000; 50 if not given.' }),
  ),
  page,
});
export const SearchQuery = Type.Object({ search, page });
export type SearchQuery = Static<typeof SearchQuery>;

export const UsersQuery = Type.Object({
  ban: Type.Optional(
    Type.Enum(['banned', 'vote_banned'], { description: 'Only users with this ban: banned or vote_banned.' }),
  ),
  ...SearchQuery.properties,
});

export const ListBotsQuery = Type.Object({
  type: buildTypes('pending, approved, certified or denied; pending if neither this nor a search is given.'),
  ...SearchQuery.properties,
});

export const ListServersQuery = Type.Object({
  type: buildTypes('Only this type: pending, approved, certified or denied.'),
  ...SearchQuery.properties,
});

export const BotList = buildList('bots', {
  bot_id: Text,
  name: Text,
  type: Text,
  owner: Text,
  claimed_by: Text,
  created_at: Timestamp,
});

export const ServerList = buildList('servers', {
  server_id: Text,
  name: Text,
  type: Text,
  state: Text,
  team_owner: Text,
  created_at: Timestamp,
});

export const TeamList = buildList('teams', {
  id: Text,
  name: Text,
  vote_banned: Flag,
  created_at: Timestamp,
});

export const PackList = buildList('packs', {
  url: Text,
  name: Text,
  owner: Text,
  vote_banned: Flag,
  created_at: Timestamp,
});

export const VotesQuery = Type.Object({
  target_type: Type.Optional(
    Type.Enum(['bot', 'server', 'team', 'pack'], {
      description: 'bot, server, team or pack; with target_id.',
    }),
  ),
  target_id: Type.Optional(
    Type.String({ ...TargetId, description: 'Only votes for this listing; with target_type.' }),
  ),
  user: Type.Optional(Type.String({ ...UserId, description: 'Only votes of this user.' })),
  since: Type.Optional(buildInputTime('Only votes cast at this time or later.')),
  before: Type.Optional(buildInputTime('Only votes cast before this time.')),
  page,
});
export type VotesQuery = Static<typeof VotesQuery>;

/** What every list of votes says of a vote. */
export const voteFields = {
  created_at: Timestamp,
  target_type: Text,
  target_id: Text,
  author: Text,
  upvote: Flag,
};

export const VoteList = buildList('votes', {
  ...voteFields,
  void: Flag,
  void_reason: Text,
  itag: Text,
});
