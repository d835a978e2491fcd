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
  extraLinks,
  flags,
  httpsUrl,
  id,
  matching,
  oneOf,
  optional,
  permissions,
  platformId,
  record,
  stat,
  tags,
  time,
  uuid,
  vanity,
  words,
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

const listType = oneOf(['pending', 'approved', 'certified', 'denied']);
const service = oneOf(['api', 'operator']);

const personFields = {
  username: words(1, 64),
  display_name: optional(words(0, 64)),
  avatar: optional(words(0, 512)),
  flags: optional(flags),
  extra_data: optional(Type.Record(Type.String(), Type.Unknown())),
  status: optional(oneOf(presenceStatuses)),
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
  tags: tags(1),
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
    name: words(3, 32),
    short: optional(words(0, 150)),
    service: optional(service),
    ...identity,
    ...listing,
    tags: optional(tags(0)),
    members: Type.Array(member, { minItems: 1, maxItems: 200 }),
    clicks: optional(count),
    ...voteTotals,
  }),
  server: record({
    kind: Type.Literal('server'),
    server_id: platformId,
    team_owner: id,
    type: optional(listType),
    state: optional(oneOf(['public', 'private', 'unlisted'])),
    name: words(1, 100),
    avatar: optional(words(0, 512)),
    short: words(30, 150),
    long: optional(words(0, 65_536)),
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
    library: words(1, 50),
    prefix: words(1, 10),
    short: words(30, 150),
    long: words(500, 65_536),
    invite: httpsUrl,
    captcha_opt_out: optional(Type.Boolean()),
    approval_note: optional(words(0, 4096)),
    cert_reason: optional(words(0, 4096)),
    staff_note: optional(Type.Union([Type.Null(), words(0, 512)])),
    claimed_by: optional(words(0, 64)),
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
    status: optional(Type.Union([Type.Literal(''), oneOf(presenceStatuses)])),
    last_stats_post: optional(time),
    uptime: optional(count),
    total_uptime: optional(count),
    uptime_last_checked: optional(time),
  }),
  pack: record({
    kind: Type.Literal('pack'),
    url: matching(/^[a-z0-9-]{3,20}$/, 'must be 3 to 20 characters of a-z, 0-9 and "-"'),
    owner: id,
    name: words(3, 20),
    short: words(10, 100),
    tags: tags(1),
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
    target_type: oneOf(entityKinds),
    target_id: id,
    author: id,
    upvote: Type.Boolean(),
    created_at: time,
    vote_num: optional(Type.Integer({ minimum: 0, maximum: 100 })),
    immutable: optional(Type.Boolean()),
    void: optional(Type.Boolean()),
    void_reason: optional(words(0, 64)),
    voided_at: optional(time),
    credit_redeem: optional(uuid),
    former: optional(Type.Boolean()),
  }),
  session: record({
    kind: Type.Literal('session'),
    id: optional(uuid),
    target_type: oneOf(tokenKinds),
    target_id: id,
    type: oneOf(['login', 'api']),
    name: words(0, 64),
    perm_limits: optional(permissions),
    token_hash: matching(/^[0-9a-f]{64}$/, 'must be the SHA-256 of the token in 64 hexadecimal digits'),
    minted_by: optional(words(0, 64)),
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
