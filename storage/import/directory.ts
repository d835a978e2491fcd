/**
 * The kinds of records that make a directory: people, what is listed, votes and sessions. Part of the table
 * of record kinds (kinds.ts).
 */
import { createHash } from 'node:crypto';
import Type, { type TSchema } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import {
  type FieldName,
  fields,
  presenceStatuses,
  type totalsFields as Table,
} from '../../engine/entity/fields.ts';
import { entityKinds } from '../../engine/ids.ts';
import { tokenKinds } from '../../engine/rules/token.ts';
import { sourcePattern } from '../../engine/rules/vote-origin.ts';
import { listedTypes } from '../catalogue/shared/index-rows.ts';
import {
  type AnyRecord,
  count,
  createAddress,
  createAnyTags,
  createChoice,
  createInteger,
  createJson,
  createLine,
  createList,
  createName,
  createNested,
  createObjectSchema,
  createPattern,
  createText,
  flag,
  flags,
  hash,
  id,
  makeOptional,
  permissions,
  plannedTime,
  platformId,
  putInColumn,
  putInTotals,
  readFields,
  stat,
  statList,
  time,
  timeMs,
  uuid,
  withEmpty,
  withNull,
} from './fields.ts';
import { created, defineKind, getCreation } from './spec.ts';

/* ---------------------------------------------------- fields of several kinds */

const isListed = (type: unknown): boolean => listedTypes.includes(String(type));

/**
 * The bounds of storage: what an import takes of the texts that requests hold to narrower limits
 * (engine/rules/listings.ts).
 */
export const bounds = {
  name: 128,
  line: 128,
  short: 1_024,
  long: 65_536,
  address: 2_048,
  tags: 25,
  tag: 64,
  links: 50,
};
const short = makeOptional(createText(0, bounds.short));
const long = makeOptional(createText(0, bounds.long));
const invite = makeOptional(createAddress(bounds.address));
const tags = makeOptional(createAnyTags(bounds.tags, bounds.tag));

const personFields = {
  username: createLine(bounds.name),
  display_name: makeOptional(createLine(bounds.name), ({ username }: AnyRecord) => username),
  avatar: makeOptional(createAddress(bounds.address)),
  flags: makeOptional(flags),
  extra_data: makeOptional(createJson(Type.Record(Type.String(), Type.Unknown()), { empty: {} })),
  status: makeOptional(createChoice(presenceStatuses), 'offline'),
};
/** How a record has each kind of counted field. */
const totalsKinds = {
  counter: makeOptional(putInTotals(count)),
  time: makeOptional(putInTotals(timeMs)),
  u64: makeOptional(putInTotals(stat)),
  list: makeOptional(putInTotals(statList)),
  status: makeOptional(putInTotals(withEmpty(createChoice(presenceStatuses)))),
};
/**
 * Opening totals: what `engine/entity/fields.ts` has in records. They include the votes of the same file:
 * imported votes do not change them.
 */
export const totalsFields = Object.fromEntries(
  fields.flatMap(({ kind, record, column }) =>
    record === null ? [] : [[record, putInColumn<TSchema>(column, totalsKinds[kind])]],
  ),
) as {
  readonly [Name in FieldName as NonNullable<
    (typeof Table)[Name]['record']
  >]: (typeof totalsKinds)[(typeof Table)[Name]['kind']];
};
const { clicks, unique_clicks, invite_clicks, upvotes, downvotes } = totalsFields;
const clickTotals = { clicks, unique_clicks, invite_clicks };
const voteTotals = { upvotes, downvotes };

const premium = {
  start_premium_period: makeOptional(plannedTime),
  premium_period_length: makeOptional(putInColumn('premium_period_hours', createInteger(0, 1_000_000))),
};
const link = createObjectSchema({ name: createLine(bounds.name), value: createAddress(bounds.address) });
const listing = {
  extra_links: makeOptional(createJson(Type.Array(link, { maxItems: bounds.links }), { empty: [] })),
  nsfw: makeOptional(flag),
  vote_banned: makeOptional(flag),
  itag: makeOptional(uuid, () => uuidv7()),
  // The plan of an import assigns these two: they are in the table `vanity`, too.
  vanity: makeOptional({ ...createLine(bounds.line), table: null }),
  vanity_ref: makeOptional(uuid, () => undefined),
  ...created,
  updated_at: makeOptional(time, getCreation),
};
const listType = createChoice(['pending', 'approved', 'certified', 'denied']);
const service = makeOptional(createChoice(['api', 'operator']), 'operator');

const findClickFault = (record: { clicks?: number; unique_clicks?: number }): string | null =>
  (record.unique_clicks ?? 0) > (record.clicks ?? 0) ? 'unique_clicks is greater than clicks' : null;

/* ------------------------------------------------------------------ directory */

const user = defineKind('user', {
  table: 'users',
  key: 'id',
  fields: {
    id,
    ...personFields,
    bot: makeOptional(flag),
    banned: makeOptional(flag),
    vote_banned: makeOptional(flag),
    ...created,
  },
  ignoreConflicts: true,
});

/** They have a table of their own, team_members. */
export const memberFields = {
  user_id: id,
  perms: putInColumn('permissions', permissions),
  data_holder: makeOptional(flag),
  mentionable: makeOptional(flag),
  flags: makeOptional(flags),
  itag: makeOptional(uuid, () => uuidv7()),
  service,
  ...created,
};
const team = defineKind('team', {
  table: 'teams',
  key: 'id',
  listing: 'named',
  fields: {
    id,
    name: createLine(bounds.name),
    short,
    tags,
    service,
    ...listing,
    members: createNested(Type.Array(createObjectSchema(memberFields), { minItems: 1, maxItems: 200 }), {
      fromCell: (rows: AnyRecord[]) => rows.map((row) => readFields(memberFields, row)),
    }),
    clicks,
    ...voteTotals,
  },
  listReferences: ({ members }) => members.map(({ user_id }) => ['user', user_id]),
  findContradiction: ({ members }) => {
    if (new Set(members.map(({ user_id }) => user_id)).size < members.length) {
      return 'members names a user twice';
    }
    return members.some(({ perms }) => perms.includes('owner'))
      ? null
      : 'members must include a user with the permission owner';
  },
  select: `, (select coalesce(json_agg(m order by m.created_at, m.user_id), '[]')
    from team_members m where m.team_id = e.id) as members`,
});

const server = defineKind('server', {
  table: 'servers',
  key: 'server_id',
  listing: 'named',
  fields: {
    server_id: platformId,
    team_owner: putInColumn('team_id', id),
    type: makeOptional(listType, 'pending'),
    state: makeOptional(createChoice(['public', 'private', 'unlisted']), 'public'),
    name: createLine(bounds.name),
    avatar: makeOptional(createAddress(bounds.address)),
    short,
    long,
    invite,
    tags,
    total_members: makeOptional(count),
    online_members: makeOptional(count),
    ...premium,
    ...listing,
    ...clickTotals,
    ...voteTotals,
  },
  listReferences: ({ team_owner }) => [['team', team_owner]],
  findContradiction: findClickFault,
});

const bot = defineKind('bot', {
  table: 'bots',
  key: 'bot_id',
  listing: 'named',
  unique: 'client_id',
  fields: {
    bot_id: platformId,
    client_id: makeOptional(platformId, ({ bot_id }: AnyRecord) => bot_id),
    owner: makeOptional(putInColumn('owner_id', id)),
    team_owner: makeOptional(putInColumn('team_id', id)),
    user: makeOptional(createNested(createObjectSchema(personFields))),
    type: makeOptional(listType, 'pending'),
    library: makeOptional(createLine(bounds.line)),
    prefix: makeOptional(createLine(bounds.line)),
    short,
    long,
    invite,
    tags,
    captcha_opt_out: makeOptional(flag),
    ...premium,
    approval_note: makeOptional(createText(0, 4096)),
    cert_reason: makeOptional(createText(0, 4096)),
    staff_note: makeOptional(withNull(createText(0, 512)), null),
    claimed_by: makeOptional(createText(0, 64)),
    last_claimed: makeOptional(time),
    last_japi_update: makeOptional(putInColumn('last_lookup', time)),
    // A listed bot without it is listed from now on: earlier uptime is in its totals only.
    listed_since: makeOptional(withNull(time), ({ type }: AnyRecord, now: string) =>
      isListed(type) ? now : null,
    ),
    ...listing,
    ...totalsFields,
  },
  listReferences: ({ owner, team_owner }) => [
    owner === undefined ? ['team', team_owner ?? ''] : ['user', owner],
  ],
  findContradiction: (record) => {
    const fault = findClickFault(record);
    if (fault !== null) return fault;
    if ((record.owner === undefined) === (record.team_owner === undefined)) {
      return 'exactly one of owner and team_owner must be given';
    }
    return (record.uptime ?? 0) > (record.total_uptime ?? 0) ? 'uptime is greater than total_uptime' : null;
  },
});

const pack = defineKind('pack', {
  table: 'packs',
  key: 'url',
  listing: 'entity',
  fields: {
    url: createPattern(/^[a-z0-9-]{3,20}$/, 'must be 3 to 20 characters of a-z, 0-9 and "-"'),
    owner: putInColumn('owner_id', id),
    name: createLine(bounds.name),
    short,
    tags,
    bot_ids: makeOptional(createList(platformId, 10)),
    server_ids: makeOptional(createList(platformId, 10)),
    vote_banned: makeOptional(flag),
    ...created,
    clicks,
    ...voteTotals,
  },
  listReferences: ({ owner }) => [['user', owner]],
});

/** Computes a UUID from `parts`: always the same, so that the same line is the same record. */
const hashToUuid = (...parts: readonly unknown[]): string => {
  const digest = createHash('sha256').update(parts.join('\n')).digest('hex');
  const hex = `${digest.slice(0, 12)}8${digest.slice(13, 16)}a${digest.slice(17, 32)}`;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
};
const voteItag = ({ target_type, target_id, author, created_at, vote_num }: AnyRecord): string =>
  hashToUuid('vote', target_type, target_id, author, Date.parse(created_at as string), vote_num ?? 0);

/** Whether the reason alone says that a vote counts nowhere, not for its voter either. */
const isRejecting = ({ void_reason }: AnyRecord): boolean =>
  void_reason === 'operator' || void_reason === 'deleted';

const vote = defineKind('vote', {
  table: 'votes',
  key: 'itag',
  fields: {
    target_type: createChoice(entityKinds),
    target_id: id,
    author: id,
    upvote: flag,
    created_at: time,
    vote_num: makeOptional(createInteger(0, 100)),
    immutable: makeOptional(flag),
    void: makeOptional(flag),
    void_reason: makeOptional(createText(0, 64)),
    voided_at: makeOptional(time),
    credit_redeem: makeOptional(uuid),
    rejected: makeOptional(flag, isRejecting),
    ref: makeOptional(createPattern(new RegExp(sourcePattern), 'must be 1 to 64 of A-Z a-z 0-9 . _ ~ -')),
    former: makeOptional({ ...flag, table: null }),
    itag: makeOptional(uuid, voteItag),
  },
  isBlind: true,
  listReferences: ({ target_type, target_id, former }) => (former ? [] : [[target_type, target_id]]),
  findContradiction: (record) => {
    if (record.void) return null;
    if (record.void_reason || record.voided_at || record.credit_redeem || record.rejected) {
      return 'only a void vote may have void_reason, voided_at, credit_redeem or rejected';
    }
    return record.former ? 'a vote of a former listing must be void' : null;
  },
  // Votes that a reset made void are exported as void votes, so resets need no records.
  from: 'vote_rows',
  select: ', not exists (select from totals n where n.incarnation = e.incarnation) as former',
  adaptRow: (row) => {
    if (row.void) return row.rejected === isRejecting(row) ? { ...row, rejected: undefined } : row;
    const counts = { ...row, voided_at: null, credit_redeem: null, rejected: undefined };
    return row.former ? { ...counts, void: true, void_reason: 'deleted' } : { ...counts, void_reason: '' };
  },
});

const session = defineKind('session', {
  table: 'sessions',
  key: 'id',
  fields: {
    id: makeOptional(uuid, ({ token_hash }: AnyRecord) => hashToUuid('session', token_hash)),
    target_type: createChoice(tokenKinds),
    target_id: id,
    type: createChoice(['login', 'api']),
    name: createName(0, 64),
    perm_limits: makeOptional(permissions),
    minted_by: makeOptional(createText(0, 64)),
    token_hash: hash,
    ...created,
    expiry: plannedTime,
  },
  ignoreConflicts: true,
  isBlind: true,
  listReferences: ({ target_type, target_id }) => [[target_type, target_id]],
});

/** In the order of their references. */
export const directoryKinds = { user, team, server, bot, pack, vote, session };
