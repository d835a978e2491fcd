/**
 * The records of the import format, one schema per `kind` (docs/import-format.md).
 *
 * Owns what one line may say on its own: fields, types, lengths, and their words when wrong. Whether what it
 * names exists is `resolve.ts`' matter. Names are those of the wire; unknown fields are refused, because a
 * mistyped field that is silently dropped is data lost. Lengths count Unicode code points.
 */
import Type, { type Static, type TSchema } from 'typebox';
import { presenceStatuses } from '../../engine/entity/state.ts';
import { entityKinds } from '../../engine/ids.ts';
import { limits, statsIntegerMax } from '../../engine/limits.ts';
import { isPermission } from '../../engine/rules/permissions.ts';
import { tokenKinds } from '../../engine/rules/token.ts';
import { foldVanityCode, vanityCodeFault } from '../../engine/rules/vanity.ts';

export const recordKinds = ['user', 'team', 'server', 'bot', 'pack', 'vote', 'session'] as const;
export type RecordKind = (typeof recordKinds)[number];

const optional = Type.Optional;

/** A string that a function accepts, with the words for when it does not. */
const checked = (accepts: (text: string) => boolean, words: string) =>
  Type.Refine(Type.String(), accepts, () => words);
const matching = (pattern: RegExp, words: string) => checked((text) => pattern.test(text), words);
const oneOf = <Word extends string>(words: readonly Word[]) =>
  Type.Unsafe<Word>(
    checked((text) => (words as readonly string[]).includes(text), `must be one of ${words.join(', ')}`),
  );

const codePointsWithin = (text: string, min: number, max: number): boolean => {
  if (text.length < min) return false;
  if (text.length <= max && text.length >= min * 2) return true;
  let count = 0;
  for (const _ of text) count++;
  return count >= min && count <= max;
};
const words = (min: number, max: number) =>
  checked((text) => codePointsWithin(text, min, max), `must have ${min} to ${max} characters`);

const id = matching(/^[A-Za-z0-9-]{1,64}$/, 'must be 1 to 64 letters, digits or hyphens');
const platformId = matching(/^\d{15,20}$/, 'must be 15 to 20 digits');
const uuid = matching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'must be a UUID in lower case');
/** Also that the day exists: `Date` reads 30 February as 2 March, SQL refuses it. */
const isTime = (text: string): boolean => {
  const ms = timeShape.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text.slice(0, 19));
};
const timeShape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/;
const time = checked(isTime, 'must be a UTC time like 2026-01-31T12:00:00.000Z');
const isHttpsUrl = (text: string): boolean =>
  text.length <= 512 && text.startsWith('https://') && URL.canParse(text);
const httpsUrl = checked(isHttpsUrl, 'must be an https URL of at most 512 characters');
const vanity = checked(
  (text) => vanityCodeFault(foldVanityCode(text)) === null,
  'must be 2 to 32 characters of a-z, 0-9, "-" and "_", not a reserved word and not like an id',
);
const count = Type.Integer({ minimum: 0, maximum: limits.counterMax });

/** Numbers up to 2^64: JSON numbers while they are exact, else the digits as the line has them. */
const isStat = (value: unknown): boolean =>
  typeof value === 'number'
    ? Number.isSafeInteger(value) && value >= 0
    : typeof value === 'string' && /^\d{1,20}$/.test(value) && BigInt(value) <= statsIntegerMax;
const stat = Type.Refine(
  Type.Unsafe<number | string>({}),
  isStat,
  () => `must be an integer from 0 to ${statsIntegerMax}`,
);

const tags = (min: number) => Type.Array(words(3, 30), { minItems: min, maxItems: 5, uniqueItems: true });
const flags = Type.Array(words(1, 64), { maxItems: 100 });
const extraLinks = Type.Array(
  Type.Object({ name: words(1, 64), value: httpsUrl }, { additionalProperties: false }),
  {
    maxItems: 20,
  },
);
const permissions = Type.Array(checked(isPermission, 'must be a permission id'), { uniqueItems: true });
const listType = oneOf(['pending', 'approved', 'certified', 'denied']);
const service = oneOf(['api', 'operator']);

const record = <Fields extends Record<string, TSchema>>(fields: Fields) =>
  Type.Object(fields, { additionalProperties: false });

const personFields = {
  username: words(1, 64),
  display_name: optional(words(0, 64)),
  avatar: optional(words(0, 512)),
  flags: optional(flags),
  extra_data: optional(Type.Record(Type.String(), Type.Unknown())),
  status: optional(oneOf(presenceStatuses)),
};

/** Opening totals: they are taken to include the votes of the same file. */
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
};

export type UserRecord = Static<typeof recordSchemas.user>;
export type TeamRecord = Static<typeof recordSchemas.team>;
export type ServerRecord = Static<typeof recordSchemas.server>;
export type BotRecord = Static<typeof recordSchemas.bot>;
export type PackRecord = Static<typeof recordSchemas.pack>;
export type VoteRecord = Static<typeof recordSchemas.vote>;
export type SessionRecord = Static<typeof recordSchemas.session>;
export type EntityRecord = TeamRecord | ServerRecord | BotRecord | PackRecord;
export type ImportRecord = UserRecord | EntityRecord | VoteRecord | SessionRecord;
