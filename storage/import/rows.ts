/**
 * Converts planned records to rows: the columns of each SQL table, and the statement that inserts many rows.
 *
 * Sets the defaults of fields that a record leaves out. A batch is sent as one array per column, which
 * `unnest` expands: one statement per table and batch. Rows keep the order given. Used by write.ts and
 * offers.ts.
 */
import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { Listing, Placed } from './plan.ts';
import type {
  BotRecord,
  PackRecord,
  ServerRecord,
  SessionRecord,
  TeamRecord,
  UserRecord,
  VoteRecord,
} from './schema.ts';

type Cell = string | number | boolean | null | undefined;
interface Column<Row> {
  readonly name: string;
  /** SQL type of the array's elements. */
  readonly type: 'text' | 'bigint' | 'numeric' | 'boolean' | 'uuid' | 'timestamptz' | 'integer';
  /** Composite values are sent as text and cast after `unnest`. */
  readonly cast?: 'text[]' | 'jsonb' | 'bytea';
  readonly value: (row: Row) => Cell;
}
export interface TableRows<Row> {
  readonly table: string;
  readonly columns: readonly Column<Row>[];
  /** For rows that others may insert at the same time, or that were not looked up before. */
  readonly ignoreConflicts?: true;
}

const quoted = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`;

/** Writes texts as a Postgres array literal. */
export const toTextArray = (texts: readonly string[]): string => `{${texts.map(quoted).join(',')}}`;

const arrayLiteral = <Row>(column: Column<Row>, rows: readonly Row[]): string => {
  const isText = column.type === 'text';
  const cells = rows.map((row) => {
    const value = column.value(row);
    if (value === null || value === undefined) return 'null';
    return isText ? quoted(String(value)) : String(value);
  });
  return `{${cells.join(',')}}`;
};

export interface Insert {
  readonly text: string;
  readonly parameters: string[];
}

/** Builds the statement and its parameters. The text depends on the table only, so it is prepared once. */
export const buildInsert = <Row>(table: TableRows<Row>, rows: readonly Row[]): Insert => {
  const names = table.columns.map((column) => column.name);
  const unfolded = table.columns.map((column, index) => `$${index + 1}::${column.type}[]`);
  const selected = table.columns.map((column) =>
    column.cast ? `${column.name}::${column.cast}` : column.name,
  );
  const text =
    `insert into ${table.table} (${names.join(', ')}) select ${selected.join(', ')} ` +
    `from unnest(${unfolded.join(', ')}) as n (${names.join(', ')})` +
    (table.ignoreConflicts ? ' on conflict do nothing' : '');
  return { text, parameters: table.columns.map((column) => arrayLiteral(column, rows)) };
};

export const toJson = (value: unknown): string => JSON.stringify(value);

/** Computes a UUID from `parts`: always the same, so that a vote without an itag is not imported twice. */
const uuidOf = (...parts: readonly (string | number)[]): string => {
  const digest = createHash('sha256').update(parts.join('\n')).digest('hex');
  const hex = `${digest.slice(0, 12)}8${digest.slice(13, 16)}a${digest.slice(17, 32)}`;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
};

export interface Wanted {
  /** ISO time of the import, for times that records leave out. */
  readonly now: string;
}

export const buildUserTable = ({ now }: Wanted): TableRows<UserRecord> => ({
  table: 'users',
  ignoreConflicts: true,
  columns: [
    { name: 'id', type: 'text', value: (r) => r.id },
    { name: 'username', type: 'text', value: (r) => r.username },
    { name: 'display_name', type: 'text', value: (r) => r.display_name ?? r.username },
    { name: 'avatar', type: 'text', value: (r) => r.avatar ?? '' },
    { name: 'bot', type: 'boolean', value: (r) => r.bot ?? false },
    { name: 'flags', type: 'text', cast: 'text[]', value: (r) => toTextArray(r.flags ?? []) },
    { name: 'extra_data', type: 'text', cast: 'jsonb', value: (r) => toJson(r.extra_data ?? {}) },
    { name: 'status', type: 'text', value: (r) => r.status ?? 'offline' },
    { name: 'banned', type: 'boolean', value: (r) => r.banned ?? false },
    { name: 'vote_banned', type: 'boolean', value: (r) => r.vote_banned ?? false },
    { name: 'created_at', type: 'timestamptz', value: (r) => r.created_at ?? now },
  ],
});

const msOf = (time: string | undefined): number => (time === undefined ? 0 : Date.parse(time));
type Counted = Partial<Omit<BotRecord, 'kind'>>;
const counted = (listing: Listing): Counted => listing.record as Counted;

export const totalsRows: TableRows<Listing> = {
  table: 'totals',
  columns: [
    { name: 'incarnation', type: 'bigint', value: (l) => l.incarnation },
    { name: 'kind', type: 'text', value: (l) => l.kind },
    { name: 'entity_id', type: 'text', value: (l) => l.id },
    { name: 'shard', type: 'integer', value: (l) => l.shard },
    { name: 'clicks', type: 'bigint', value: (l) => counted(l).clicks ?? 0 },
    { name: 'unique_clicks', type: 'bigint', value: (l) => counted(l).unique_clicks ?? 0 },
    { name: 'invite_clicks', type: 'bigint', value: (l) => counted(l).invite_clicks ?? 0 },
    { name: 'upvotes', type: 'bigint', value: (l) => l.record.upvotes ?? 0 },
    { name: 'downvotes', type: 'bigint', value: (l) => l.record.downvotes ?? 0 },
    { name: 'servers', type: 'numeric', value: (l) => counted(l).servers ?? 0 },
    { name: 'shards', type: 'numeric', value: (l) => counted(l).shards ?? 0 },
    { name: 'users', type: 'numeric', value: (l) => counted(l).users ?? 0 },
    { name: 'shard_list', type: 'text', value: (l) => (counted(l).shard_list ?? []).join(',') },
    { name: 'status', type: 'text', value: (l) => counted(l).status ?? '' },
    { name: 'last_stats_post_ms', type: 'bigint', value: (l) => msOf(counted(l).last_stats_post) },
    { name: 'uptime', type: 'bigint', value: (l) => counted(l).uptime ?? 0 },
    { name: 'total_uptime', type: 'bigint', value: (l) => counted(l).total_uptime ?? 0 },
    { name: 'uptime_checked_ms', type: 'bigint', value: (l) => msOf(counted(l).uptime_last_checked) },
  ],
};

type Named = Listing<TeamRecord | ServerRecord | BotRecord>;
/** A listing with its itags. Its own row and its vanity row both use `vanityRef`. */
export interface Addressed<Kind extends TeamRecord | ServerRecord | BotRecord> extends Listing<Kind> {
  readonly itag: string;
  readonly vanityRef: string;
}
export const toAddressed = <Kind extends TeamRecord | ServerRecord | BotRecord>(
  listing: Listing<Kind>,
): Addressed<Kind> => ({
  ...listing,
  itag: listing.record.itag ?? uuidv7(),
  vanityRef: listing.record.vanity_ref ?? uuidv7(),
});

export const buildVanityTable = ({ now }: Wanted): TableRows<Addressed<Named['record']>> => ({
  table: 'vanity',
  columns: [
    { name: 'itag', type: 'uuid', value: (l) => l.vanityRef },
    { name: 'code', type: 'text', value: (l) => l.vanity },
    { name: 'target_type', type: 'text', value: (l) => l.kind },
    { name: 'target_id', type: 'text', value: (l) => l.id },
    { name: 'created_at', type: 'timestamptz', value: (l) => l.record.created_at ?? now },
  ],
});

/** The columns that teams, servers and bots share. */
const commonColumns = <Kind extends TeamRecord | ServerRecord | BotRecord>(
  now: string,
): Column<Addressed<Kind>>[] => [
  { name: 'incarnation', type: 'bigint', value: (l) => l.incarnation },
  { name: 'itag', type: 'uuid', value: (l) => l.itag },
  { name: 'vanity_ref', type: 'uuid', value: (l) => l.vanityRef },
  { name: 'tags', type: 'text', cast: 'text[]', value: (l) => toTextArray(l.record.tags ?? []) },
  { name: 'extra_links', type: 'text', cast: 'jsonb', value: (l) => toJson(l.record.extra_links ?? []) },
  { name: 'nsfw', type: 'boolean', value: (l) => l.record.nsfw ?? false },
  { name: 'vote_banned', type: 'boolean', value: (l) => l.record.vote_banned ?? false },
  { name: 'created_at', type: 'timestamptz', value: (l) => l.record.created_at ?? now },
  {
    name: 'updated_at',
    type: 'timestamptz',
    value: (l) => l.record.updated_at ?? l.record.created_at ?? now,
  },
];

export const buildTeamTable = ({ now }: Wanted): TableRows<Addressed<TeamRecord>> => ({
  table: 'teams',
  columns: [
    ...commonColumns<TeamRecord>(now),
    { name: 'id', type: 'text', value: (l) => l.id },
    { name: 'name', type: 'text', value: (l) => l.record.name },
    { name: 'short', type: 'text', value: (l) => l.record.short ?? '' },
    { name: 'service', type: 'text', value: (l) => l.record.service ?? 'operator' },
  ],
});

export interface TeamMembership {
  readonly team: Listing<TeamRecord>;
  readonly member: TeamRecord['members'][number];
}
export const buildMemberTable = ({ now }: Wanted): TableRows<TeamMembership> => ({
  table: 'team_members',
  columns: [
    { name: 'team_id', type: 'text', value: (m) => m.team.id },
    { name: 'user_id', type: 'text', value: (m) => m.member.user_id },
    { name: 'itag', type: 'uuid', value: (m) => m.member.itag ?? uuidv7() },
    { name: 'permissions', type: 'text', cast: 'text[]', value: (m) => toTextArray(m.member.perms) },
    { name: 'data_holder', type: 'boolean', value: (m) => m.member.data_holder ?? false },
    { name: 'mentionable', type: 'boolean', value: (m) => m.member.mentionable ?? false },
    { name: 'flags', type: 'text', cast: 'text[]', value: (m) => toTextArray(m.member.flags ?? []) },
    { name: 'service', type: 'text', value: (m) => m.member.service ?? 'operator' },
    {
      name: 'created_at',
      type: 'timestamptz',
      value: (m) => m.member.created_at ?? m.team.record.created_at ?? now,
    },
  ],
});

const premiumColumns = <Kind extends ServerRecord | BotRecord>(): Column<Addressed<Kind>>[] => [
  { name: 'start_premium_period', type: 'timestamptz', value: (l) => l.record.start_premium_period },
  { name: 'premium_period_hours', type: 'integer', value: (l) => l.record.premium_period_length ?? 0 },
];

export const buildServerTable = ({ now }: Wanted): TableRows<Addressed<ServerRecord>> => ({
  table: 'servers',
  columns: [
    ...commonColumns<ServerRecord>(now),
    ...premiumColumns<ServerRecord>(),
    { name: 'server_id', type: 'text', value: (l) => l.id },
    { name: 'team_id', type: 'text', value: (l) => l.record.team_owner },
    { name: 'type', type: 'text', value: (l) => l.record.type ?? 'pending' },
    { name: 'state', type: 'text', value: (l) => l.record.state ?? 'public' },
    { name: 'name', type: 'text', value: (l) => l.record.name },
    { name: 'avatar', type: 'text', value: (l) => l.record.avatar ?? '' },
    { name: 'short', type: 'text', value: (l) => l.record.short },
    { name: 'long', type: 'text', value: (l) => l.record.long ?? '' },
    { name: 'invite', type: 'text', value: (l) => l.record.invite ?? '' },
    { name: 'total_members', type: 'bigint', value: (l) => l.record.total_members ?? 0 },
    { name: 'online_members', type: 'bigint', value: (l) => l.record.online_members ?? 0 },
  ],
});

const isListed = (type: string | undefined): boolean => type === 'approved' || type === 'certified';

/** A listed bot without `listed_since` is listed from now on: earlier uptime is in its totals only. */
const listedSince = (record: BotRecord, now: string): string | null => {
  if (record.listed_since !== undefined) return record.listed_since;
  return isListed(record.type) ? now : null;
};

export const buildBotTable = ({ now }: Wanted): TableRows<Addressed<BotRecord>> => ({
  table: 'bots',
  columns: [
    ...commonColumns<BotRecord>(now),
    ...premiumColumns<BotRecord>(),
    { name: 'bot_id', type: 'text', value: (l) => l.id },
    { name: 'client_id', type: 'text', value: (l) => l.record.client_id ?? l.id },
    { name: 'type', type: 'text', value: (l) => l.record.type ?? 'pending' },
    { name: 'owner_id', type: 'text', value: (l) => l.record.owner },
    { name: 'team_id', type: 'text', value: (l) => l.record.team_owner },
    { name: 'library', type: 'text', value: (l) => l.record.library },
    { name: 'prefix', type: 'text', value: (l) => l.record.prefix },
    { name: 'short', type: 'text', value: (l) => l.record.short },
    { name: 'long', type: 'text', value: (l) => l.record.long },
    { name: 'invite', type: 'text', value: (l) => l.record.invite },
    { name: 'captcha_opt_out', type: 'boolean', value: (l) => l.record.captcha_opt_out ?? false },
    { name: 'approval_note', type: 'text', value: (l) => l.record.approval_note ?? '' },
    { name: 'cert_reason', type: 'text', value: (l) => l.record.cert_reason ?? '' },
    { name: 'staff_note', type: 'text', value: (l) => l.record.staff_note },
    { name: 'claimed_by', type: 'text', value: (l) => l.record.claimed_by ?? '' },
    { name: 'last_claimed', type: 'timestamptz', value: (l) => l.record.last_claimed },
    { name: 'last_lookup', type: 'timestamptz', value: (l) => l.record.last_japi_update },
    { name: 'listed_since', type: 'timestamptz', value: (l) => listedSince(l.record, now) },
  ],
});

export const buildPackTable = ({ now }: Wanted): TableRows<Listing<PackRecord>> => ({
  table: 'packs',
  columns: [
    { name: 'url', type: 'text', value: (l) => l.id },
    { name: 'incarnation', type: 'bigint', value: (l) => l.incarnation },
    { name: 'owner_id', type: 'text', value: (l) => l.record.owner },
    { name: 'name', type: 'text', value: (l) => l.record.name },
    { name: 'short', type: 'text', value: (l) => l.record.short },
    { name: 'tags', type: 'text', cast: 'text[]', value: (l) => toTextArray(l.record.tags) },
    { name: 'bot_ids', type: 'text', cast: 'text[]', value: (l) => toTextArray(l.record.bot_ids ?? []) },
    {
      name: 'server_ids',
      type: 'text',
      cast: 'text[]',
      value: (l) => toTextArray(l.record.server_ids ?? []),
    },
    { name: 'vote_banned', type: 'boolean', value: (l) => l.record.vote_banned ?? false },
    { name: 'created_at', type: 'timestamptz', value: (l) => l.record.created_at ?? now },
  ],
});

const voteItag = (record: VoteRecord): string => {
  const { target_type, target_id, author, created_at, vote_num } = record;
  return record.itag ?? uuidOf('vote', target_type, target_id, author, Date.parse(created_at), vote_num ?? 0);
};

export const voteRows: TableRows<Placed<VoteRecord>> = {
  table: 'votes',
  ignoreConflicts: true,
  columns: [
    { name: 'itag', type: 'uuid', value: ({ record }) => voteItag(record) },
    { name: 'created_at', type: 'timestamptz', value: ({ record }) => record.created_at },
    { name: 'incarnation', type: 'bigint', value: ({ incarnation }) => incarnation },
    { name: 'target_type', type: 'text', value: ({ record }) => record.target_type },
    { name: 'target_id', type: 'text', value: ({ record }) => record.target_id },
    { name: 'author', type: 'text', value: ({ record }) => record.author },
    { name: 'upvote', type: 'boolean', value: ({ record }) => record.upvote },
    { name: 'vote_num', type: 'integer', value: ({ record }) => record.vote_num ?? 0 },
    { name: 'immutable', type: 'boolean', value: ({ record }) => record.immutable ?? false },
    { name: 'void', type: 'boolean', value: ({ record }) => record.void ?? false },
    { name: 'void_reason', type: 'text', value: ({ record }) => record.void_reason ?? '' },
    { name: 'voided_at', type: 'timestamptz', value: ({ record }) => record.voided_at },
    { name: 'credit_redeem', type: 'uuid', value: ({ record }) => record.credit_redeem },
  ],
};

export const buildSessionTable = ({ now }: Wanted): TableRows<SessionRecord> => ({
  table: 'sessions',
  ignoreConflicts: true,
  columns: [
    { name: 'id', type: 'uuid', value: (r) => r.id ?? uuidOf('session', r.token_hash) },
    { name: 'target_type', type: 'text', value: (r) => r.target_type },
    { name: 'target_id', type: 'text', value: (r) => r.target_id },
    { name: 'type', type: 'text', value: (r) => r.type },
    { name: 'name', type: 'text', value: (r) => r.name },
    { name: 'perm_limits', type: 'text', cast: 'text[]', value: (r) => toTextArray(r.perm_limits ?? []) },
    { name: 'token_hash', type: 'text', cast: 'bytea', value: (r) => `\\x${r.token_hash}` },
    { name: 'minted_by', type: 'text', value: (r) => r.minted_by ?? '' },
    { name: 'created_at', type: 'timestamptz', value: (r) => r.created_at ?? now },
    { name: 'expiry', type: 'timestamptz', value: (r) => r.expiry },
  ],
});
