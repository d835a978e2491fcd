/**
 * The schemas of import records, one per `kind` (docs/import-format.md).
 *
 * They check one line alone: fields, types and lengths, with messages. resolve.ts checks that references
 * exist. Field names are those of the HTTP API. Unknown fields are refused, because silently dropping a
 * mistyped field would lose data. Lengths count Unicode code points.
 */
import Type, { type Static } from 'typebox';
import { presenceStatuses } from '../../engine/entity/state.ts';
import { entityKinds } from '../../engine/ids.ts';
import { limits } from '../../engine/limits.ts';
import { tokenKinds } from '../../engine/rules/token.ts';
import {
  count,
  createChoiceField,
  createPatternField,
  createTagsField,
  createTextField,
  extraLinks,
  flags,
  httpsUrl,
  id,
  optional,
  permissions,
  platformId,
  record,
  stat,
  time,
  uuid,
  vanity,
} from './fields.ts';
import { type OfferRecord, offerKinds, offerSchemas } from './offers-schema.ts';

export const recordKinds = [
  'user',
  'team',
  'server',
  'bot',
  'pack',
  'vote',
  'session',
  ...offerKinds,
] as const;
export type RecordKind = (typeof recordKinds)[number];

const listType = createChoiceField(['pending', 'approved', 'certified', 'denied']);
const service = createChoiceField(['api', 'operator']);

const personFields = {
  username: createTextField(1, 64),
  display_name: optional(createTextField(0, 64)),
  avatar: optional(createTextField(0, 512)),
  flags: optional(flags),
  extra_data: optional(Type.Record(Type.String(), Type.Unknown())),
  status: optional(createChoiceField(presenceStatuses)),
};

/** Initial totals. They include the votes of the same file: imported votes do not change them. */
const voteTotals = { upvotes: optional(count), downvotes: optional(count) };
const clickTotals = {
  clicks: optional(count),
  unique_clicks: optional(count),
  invite_clicks: optional(count),
};

const premium = {
  start_premium_period: optional(time),
  premium_period_length: optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
};
const identity = { itag: optional(uuid), vanity: optional(vanity), vanity_ref: optional(uuid) };
const listing = {
  tags: createTagsField(1),
  extra_links: optional(extraLinks),
  nsfw: optional(Type.Boolean()),
  vote_banned: optional(Type.Boolean()),
  created_at: optional(time),
  updated_at: optional(time),
};

const member = record({
  user_id: id,
  perms: permissions,
  data_holder: optional(Type.Boolean()),
  mentionable: optional(Type.Boolean()),
  flags: optional(flags),
  itag: optional(uuid),
  service: optional(service),
  created_at: optional(time),
});

export const recordSchemas = {
  user: record({
    kind: Type.Literal('user'),
    id,
    ...personFields,
    bot: optional(Type.Boolean()),
    banned: optional(Type.Boolean()),
    vote_banned: optional(Type.Boolean()),
    created_at: optional(time),
  }),
  team: record({
    kind: Type.Literal('team'),
    id,
    name: createTextField(3, 32),
    short: optional(createTextField(0, 150)),
    service: optional(service),
    ...identity,
    ...listing,
    tags: optional(createTagsField(0)),
    members: Type.Array(member, { minItems: 1, maxItems: 200 }),
    clicks: optional(count),
    ...voteTotals,
  }),
  server: record({
    kind: Type.Literal('server'),
    server_id: platformId,
    team_owner: id,
    type: optional(listType),
    state: optional(createChoiceField(['public', 'private', 'unlisted'])),
    name: createTextField(1, 100),
    avatar: optional(createTextField(0, 512)),
    short: createTextField(30, 150),
    long: optional(createTextField(0, 65_536)),
    invite: optional(Type.Union([Type.Literal(''), httpsUrl])),
    total_members: optional(count),
    online_members: optional(count),
    ...identity,
    ...listing,
    ...premium,
    ...clickTotals,
    ...voteTotals,
  }),
  bot: record({
    kind: Type.Literal('bot'),
    bot_id: platformId,
    client_id: optional(platformId),
    owner: optional(id),
    team_owner: optional(id),
    user: optional(record(personFields)),
    type: optional(listType),
    library: createTextField(1, 50),
    prefix: createTextField(1, 10),
    short: createTextField(30, 150),
    long: createTextField(500, 65_536),
    invite: httpsUrl,
    captcha_opt_out: optional(Type.Boolean()),
    approval_note: optional(createTextField(0, 4096)),
    cert_reason: optional(createTextField(0, 4096)),
    staff_note: optional(Type.Union([Type.Null(), createTextField(0, 512)])),
    claimed_by: optional(createTextField(0, 64)),
    last_claimed: optional(time),
    last_japi_update: optional(time),
    listed_since: optional(Type.Union([Type.Null(), time])),
    ...identity,
    ...listing,
    ...premium,
    ...clickTotals,
    ...voteTotals,
    servers: optional(stat),
    shards: optional(stat),
    users: optional(stat),
    shard_list: optional(Type.Array(stat, { maxItems: limits.shardListEntriesMax })),
    status: optional(Type.Union([Type.Literal(''), createChoiceField(presenceStatuses)])),
    last_stats_post: optional(time),
    uptime: optional(count),
    total_uptime: optional(count),
    uptime_last_checked: optional(time),
  }),
  pack: record({
    kind: Type.Literal('pack'),
    url: createPatternField(/^[a-z0-9-]{3,20}$/, 'must be 3 to 20 characters of a-z, 0-9 and "-"'),
    owner: id,
    name: createTextField(3, 20),
    short: createTextField(10, 100),
    tags: createTagsField(1),
    bot_ids: optional(Type.Array(platformId, { maxItems: 10, uniqueItems: true })),
    server_ids: optional(Type.Array(platformId, { maxItems: 10, uniqueItems: true })),
    vote_banned: optional(Type.Boolean()),
    created_at: optional(time),
    clicks: optional(count),
    ...voteTotals,
  }),
  vote: record({
    kind: Type.Literal('vote'),
    itag: optional(uuid),
    target_type: createChoiceField(entityKinds),
    target_id: id,
    author: id,
    upvote: Type.Boolean(),
    created_at: time,
    vote_num: optional(Type.Integer({ minimum: 0, maximum: 100 })),
    immutable: optional(Type.Boolean()),
    void: optional(Type.Boolean()),
    void_reason: optional(createTextField(0, 64)),
    voided_at: optional(time),
    credit_redeem: optional(uuid),
    former: optional(Type.Boolean()),
  }),
  session: record({
    kind: Type.Literal('session'),
    id: optional(uuid),
    target_type: createChoiceField(tokenKinds),
    target_id: id,
    type: createChoiceField(['login', 'api']),
    name: createTextField(0, 64),
    perm_limits: optional(permissions),
    token_hash: createPatternField(
      /^[0-9a-f]{64}$/,
      'must be the SHA-256 of the token in 64 hexadecimal digits',
    ),
    minted_by: optional(createTextField(0, 64)),
    created_at: optional(time),
    expiry: time,
  }),
  ...offerSchemas,
};

export type UserRecord = Static<typeof recordSchemas.user>;
export type TeamRecord = Static<typeof recordSchemas.team>;
export type ServerRecord = Static<typeof recordSchemas.server>;
export type BotRecord = Static<typeof recordSchemas.bot>;
export type PackRecord = Static<typeof recordSchemas.pack>;
export type VoteRecord = Static<typeof recordSchemas.vote>;
export type SessionRecord = Static<typeof recordSchemas.session>;
export type EntityRecord = TeamRecord | ServerRecord | BotRecord | PackRecord;
export type DirectoryRecord = UserRecord | EntityRecord | VoteRecord | SessionRecord;
export type ImportRecord = DirectoryRecord | OfferRecord;
