/**
 * Schemas of the private listener. The command line reads them too: a path parameter becomes a positional
 * argument, a field becomes an option, and its description becomes the help text.
 */
import { type Static, Type } from 'typebox';
import { BotBody } from '../api/bot-edits.ts';
import {
  buildInputTime,
  buildName,
  Flag,
  PackUrl,
  Sum,
  TargetId,
  TeamIdOrVanity,
  Text,
  TextList,
  Timestamp,
  toNullable,
  Uuid,
} from '../api/shared/common.ts';
import { buildLine, buildProse, buildTags } from '../api/shared/fields.ts';
import { httpsTextOrEmpty, plainText, platformId, userId } from '../api/shared/patterns.ts';
import { buildList, buildListOf } from './list-schema.ts';

export const Done = Type.Object({ message: Text, context: Type.Record(Type.String(), Type.String()) });

/** Id of a user whom the directory may not have yet: one that tokens and exports can carry. */
export const NewUserId = Type.String({
  pattern: userId,
  description: 'Id of the user: 1 to 64 letters, digits or hyphens.',
});
export const NewUserParams = Type.Object({ id: NewUserId });

/** The path of a bot that the directory does not have yet. */
export const NewBotParams = Type.Object({
  id: Type.String({ pattern: platformId, description: 'Id of the bot: 15 to 20 digits.' }),
});

export const OperatorServerParams = Type.Object({
  id: Type.String({ pattern: platformId, description: 'Id of the server: 15 to 20 digits.' }),
});

export const OperatorTeamParams = Type.Object({
  id: Type.String({ ...TargetId, description: 'Id of a team; its vanity code is not accepted.' }),
});

export const OperatorTeamLookupParams = Type.Object({ id: TeamIdOrVanity });
export const OperatorPackParams = Type.Object({ url: PackUrl });

export const OperatorUser = Type.Object({
  id: Text,
  username: Text,
  display_name: Text,
  avatar: Text,
  bot: Flag,
  flags: TextList,
  banned: Flag,
  vote_banned: Flag,
  created_at: Timestamp,
});

export const Users = buildListOf('users', OperatorUser);

export const UserBody = Type.Object({
  username: Type.Optional(buildLine(1, 64, 'robin')),
  display_name: Type.Optional(buildLine(1, 64, 'Robin')),
  avatar: Type.Optional(buildLine(0, 512, 'https://cdn.example.org/a.webp')),
  flags: Type.Optional(Type.Array(buildLine(1, 32, 'staff'), { maxItems: 32, uniqueItems: true })),
});

export const TokenParams = Type.Object({
  target_type: Type.Enum(['user', 'bot', 'server', 'team'], { description: 'user, bot, server or team.' }),
  target_id: TargetId,
});

export const OperatorSessionParams = Type.Object({
  ...TokenParams.properties,
  session_id: Type.String({ ...Uuid, description: 'Id of the session, as `tokens list` shows it.' }),
});

export const TokenBody = Type.Object({
  name: Type.Optional(buildLine(1, 64, 'by the operator')),
  expiry: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 315_360_000,
      description: 'How long the token is valid, in seconds; 30 days if absent.',
    }),
  ),
  perm_limits: Type.Optional(
    Type.Array(buildLine(1, 64, 'edit_bots'), {
      maxItems: 32,
      description: 'A permission of the token; it has all permissions if absent.',
    }),
  ),
});
export type TokenBody = Static<typeof TokenBody>;
export const TokenIssued = Type.Object({ session_id: Text, target_id: Text, token: Text });

const noteUse = 'The owner gets a push message with it, and a bot has it on its page.';

const note = Type.String({
  ...buildProse(0, 2_000, 'Tested, works as described.'),
  description: `Up to 2,000 characters. ${noteUse}`,
});

export const NoteBody = Type.Object({ note: Type.Optional(note) });
export const DenialBody = Type.Object({
  note: Type.String({
    ...buildProse(1, 2_000, 'The invite leads nowhere.'),
    description: `The reason, 1 to 2,000 characters. ${noteUse}`,
  }),
});
export const ReasonBody = Type.Object({ reason: Type.Optional(note) });

export const PremiumBody = Type.Object({
  hours: Type.Integer({ minimum: 0, maximum: 876_000, description: 'Number of hours; 0 ends premium.' }),
  start_at: Type.Optional(buildInputTime('When premium begins; now if absent.')),
});
export type PremiumBody = Static<typeof PremiumBody>;
const { bot_id: _, ...botFields } = BotBody.properties;

export const AddBotBody = Type.Object({
  ...botFields,
  owner: Type.Optional(NewUserId),
  team_owner: Type.Optional(buildName(128, 'Id of the team.')),
});
export type AddBotBody = Static<typeof AddBotBody>;
export const ClaimBody = Type.Object({ user_id: NewUserId });

/** Other listings whose name looks like this one. */
const LookAlikes = Type.Array(Type.Object({ kind: Text, id: Text, name: Text }));

export const OperatorBot = Type.Object({
  bot_id: Text,
  client_id: Text,
  name: Text,
  look_alikes: LookAlikes,
  type: Text,
  owner: Text,
  owner_name: Text,
  vanity: Text,
  short: Text,
  long: Text,
  invite: Text,
  extra_links: Type.Array(Type.Object({ name: Text, value: Text })),
  library: Text,
  prefix: Text,
  tags: TextList,
  staff_note: Text,
  nsfw: Flag,
  vote_banned: Flag,
  premium_until: toNullable(Timestamp),
  claimed_by: Text,
  approval_note: Text,
  cert_reason: Text,
  votes: Sum,
  clicks: Sum,
  servers: Sum,
  created_at: Timestamp,
  updated_at: Timestamp,
  tokens: Type.Integer(),
});
export const ListedBot = Type.Object({ bot_id: Text, name: Text, type: Text });
export const ListedServer = Type.Object({ server_id: Text, name: Text, type: Text, state: Text });

export const OperatorTeam = Type.Object({
  id: Text,
  name: Text,
  look_alikes: LookAlikes,
  short: Text,
  vanity: Text,
  tags: TextList,
  nsfw: Flag,
  vote_banned: Flag,
  votes: Sum,
  created_at: Timestamp,
  updated_at: Timestamp,
  members: Type.Array(
    Type.Object({ user_id: Text, username: Text, data_holder: Flag, permissions: TextList }),
  ),
  bots: Type.Array(ListedBot),
  servers: Type.Array(ListedServer),
});

export const OperatorPack = Type.Object({
  url: Text,
  name: Text,
  look_alikes: LookAlikes,
  short: Text,
  owner: Text,
  owner_name: Text,
  tags: TextList,
  vote_banned: Flag,
  votes: Sum,
  created_at: Timestamp,
  deleted: TextList,
  bots: Type.Array(ListedBot),
  servers: Type.Array(ListedServer),
});
const members = Type.Integer({ minimum: 0, maximum: 1_000_000_000, description: '0 if absent.' });

export const ServerBody = Type.Object({
  team_owner: buildName(128, 'Id of the team that owns the server.'),
  name: buildLine(1, 100, 'Harbour'),
  short: buildLine(30, 150, 'Where ships and their crews meet at night.'),
  long: Type.Optional(buildProse(0, 65_536, 'All about it.')),
  avatar: Type.Optional(buildLine(0, 512, 'https://cdn.example.org/a.webp')),
  invite: Type.Optional(
    Type.String({ maxLength: 512, pattern: httpsTextOrEmpty, description: 'An https address.' }),
  ),
  tags: Type.Optional(buildTags(0)),
  nsfw: Type.Optional(Flag),
  state: Type.Optional(
    Type.Enum(['public', 'private', 'unlisted'], {
      description: 'public, private or unlisted; only public servers are listed and receive votes.',
    }),
  ),
  total_members: Type.Optional(members),
  online_members: Type.Optional(members),
});
export type ServerBody = Static<typeof ServerBody>;

export const VoteParams = Type.Object({
  itag: Type.String({ ...Uuid, description: 'The `itag` of a vote, as its voter sees it.' }),
});

export const FindParams = Type.Object({
  uuid: Type.String({
    ...Uuid,
    description: 'The `itag` of a listing or a vote, or the id of a webhook or a token.',
  }),
});

export const FoundList = buildList('found', {
  what: Type.Enum(['listing', 'vote', 'webhook', 'token'], { description: 'What has this id.' }),
  target_type: Type.String({ description: 'user, bot, server, team or pack: whose it is.' }),
  target_id: Type.String({ description: 'The id of that user or listing.' }),
});

export const ListingParams = Type.Object({
  target_type: Type.Enum(['bot', 'server', 'team', 'pack'], { description: 'bot, server, team or pack.' }),
  target_id: TargetId,
});

export const ResetBody = Type.Object({
  before: Type.Optional(buildInputTime('Votes cast before this time become void; now if absent.')),
});
export type ResetBody = Static<typeof ResetBody>;

export const ResetAllBody = Type.Object({
  confirm: Type.Enum(['all'], { description: 'Must be all: every listing loses its votes.' }),
  before: ResetBody.properties.before,
});
export type ResetAllBody = Static<typeof ResetAllBody>;

export const AuditList = buildList('entries', {
  id: Type.Integer(),
  asked_at: Timestamp,
  operator: Text,
  operation: Text,
  target: Text,
  outcome: Text,
  took_ms: toNullable(Type.Integer()),
  details: Type.Record(Type.String(), Type.Unknown()),
});

export const ReservedNameParams = Type.Object({
  word: Type.String({ minLength: 2, maxLength: 32, pattern: plainText, description: '2 to 32 characters.' }),
});

export const ReservedNameList = buildListOf('words', Text);

export const JobRunList = buildList('runs', {
  job: Text,
  due_at: Timestamp,
  node: Text,
  attempts: Type.Integer(),
  started_at: Timestamp,
  finished_at: toNullable(Timestamp),
  error: Text,
});

export const DeadLetterList = buildList('dead_letters', {
  id: Type.Integer(),
  created_at: Timestamp,
  newest_at: Timestamp,
  refusals: Type.Integer(),
  source: Text,
  reason: Text,
  body: Type.Unknown(),
});
