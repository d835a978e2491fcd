/**
 * Sections of the export: for each kind, the statement of one page and the conversion of a row to a record.
 *
 * The order: users by id, entities by incarnation (the order in which they were listed), votes by itag,
 * sessions by id, then the operator's content. Each is the order of an index, so a page costs only its own
 * rows, and an import of the export gives the same order again. Values that equal the import's defaults are
 * left out. Used by export.ts.
 */
import { offerSections } from './offers.ts';
import { dropEmpty, type ExportRow, type ExportSection, formatTime, noUuid, pickFields } from './section.ts';

const formatTimeMs = (value: unknown): string | undefined =>
  value === 0 || value === undefined ? undefined : new Date(value as number).toISOString();

/** Converts the digits of an integer of any size to a JSON number. */
const toExactNumber = (value: unknown): unknown =>
  value === '0' ? 0 : (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(String(value));

const pickVoteTotals = (row: ExportRow): ExportRow => pickFields(row, ['upvotes', 'downvotes']);
const pickClickTotals = (row: ExportRow): ExportRow =>
  pickFields(row, ['clicks', 'unique_clicks', 'invite_clicks']);
const toPremium = (row: ExportRow): ExportRow => ({
  start_premium_period: formatTime(row.start_premium_period),
  premium_period_length: row.premium_period_hours,
});
const pickIdentity = (row: ExportRow): ExportRow => pickFields(row, ['itag', 'vanity', 'vanity_ref']);
const pickListing = (row: ExportRow): ExportRow =>
  pickFields(row, ['tags', 'extra_links', 'nsfw', 'vote_banned']);
const toTimes = (row: ExportRow): ExportRow => ({
  created_at: formatTime(row.created_at),
  updated_at: formatTime(row.updated_at),
});

const users: ExportSection = {
  kind: 'user',
  start: '',
  page: (sql, after, limit) => sql`
    select id as key, * from users where id > ${after} order by id limit ${limit}`,
  record: (row) => ({
    ...pickFields(row, ['id', 'username', 'display_name']),
    ...dropEmpty({
      ...pickFields(row, ['avatar', 'bot', 'flags', 'banned', 'vote_banned']),
      extra_data: Object.keys(row.extra_data as object).length > 0 ? row.extra_data : undefined,
      status: row.status === 'offline' ? undefined : row.status,
    }),
    created_at: formatTime(row.created_at),
  }),
};

const teams: ExportSection = {
  kind: 'team',
  start: '0',
  page: (sql, after, limit) => sql`
    select t.incarnation as key, t.*, n.clicks, n.upvotes, n.downvotes, v.code as vanity,
      (select coalesce(json_agg(m order by m.created_at, m.user_id), '[]')
       from team_members m where m.team_id = t.id) as members
    from teams t join totals n using (incarnation) join vanity v on v.itag = t.vanity_ref
    where t.incarnation > ${after}::bigint order by t.incarnation limit ${limit}`,
  record: (row) => ({
    ...pickFields(row, ['id', 'name']),
    ...dropEmpty({ short: row.short, ...pickListing(row) }),
    ...pickFields(row, ['service']),
    ...pickIdentity(row),
    ...toTimes(row),
    members: (row.members as ExportRow[]).map(toMember),
    ...dropEmpty({ clicks: row.clicks, ...pickVoteTotals(row) }),
  }),
};

/** The row comes from a JSON aggregate in SQL, so its times are text. */
const toMember = (row: ExportRow): ExportRow => ({
  user_id: row.user_id,
  perms: row.permissions,
  ...dropEmpty(pickFields(row, ['data_holder', 'mentionable', 'flags'])),
  ...pickFields(row, ['service', 'itag']),
  created_at: new Date(row.created_at as string).toISOString(),
});

const servers: ExportSection = {
  kind: 'server',
  start: '0',
  page: (sql, after, limit) => sql`
    select s.incarnation as key, s.*, n.clicks, n.unique_clicks, n.invite_clicks, n.upvotes, n.downvotes,
      v.code as vanity
    from servers s join totals n using (incarnation) join vanity v on v.itag = s.vanity_ref
    where s.incarnation > ${after}::bigint order by s.incarnation limit ${limit}`,
  record: (row) => ({
    ...pickFields(row, ['server_id']),
    team_owner: row.team_id,
    ...pickFields(row, ['type', 'state', 'name', 'short']),
    ...dropEmpty({ ...pickFields(row, ['avatar', 'long', 'invite', 'total_members', 'online_members']) }),
    ...dropEmpty({ ...pickListing(row), ...toPremium(row) }),
    ...pickIdentity(row),
    ...toTimes(row),
    ...dropEmpty({ ...pickClickTotals(row), ...pickVoteTotals(row) }),
  }),
};

const bots: ExportSection = {
  kind: 'bot',
  start: '0',
  page: (sql, after, limit) => sql`
    select b.incarnation as key, b.*, n.clicks, n.unique_clicks, n.invite_clicks, n.upvotes, n.downvotes,
      n.servers, n.shards, n.users, n.shard_list, n.status, n.last_stats_post_ms, n.uptime, n.total_uptime,
      n.uptime_checked_ms, v.code as vanity
    from bots b join totals n using (incarnation) join vanity v on v.itag = b.vanity_ref
    where b.incarnation > ${after}::bigint order by b.incarnation limit ${limit}`,
  record: (row) => ({
    ...pickFields(row, ['bot_id', 'client_id']),
    ...dropEmpty({ owner: row.owner_id, team_owner: row.team_id }),
    ...pickFields(row, ['type', 'library', 'prefix', 'short', 'long', 'invite']),
    ...dropEmpty({ ...pickListing(row), captcha_opt_out: row.captcha_opt_out, ...toPremium(row) }),
    ...dropEmpty(pickFields(row, ['approval_note', 'cert_reason', 'claimed_by'])),
    ...(row.staff_note === null ? {} : { staff_note: row.staff_note }),
    ...dropEmpty({
      last_claimed: formatTime(row.last_claimed),
      last_japi_update: formatTime(row.last_lookup),
    }),
    listed_since: formatTime(row.listed_since) ?? null,
    ...pickIdentity(row),
    ...toTimes(row),
    ...dropEmpty({ ...pickClickTotals(row), ...pickVoteTotals(row), ...toStats(row) }),
  }),
};

const toStats = (row: ExportRow): ExportRow => ({
  servers: toExactNumber(row.servers),
  shards: toExactNumber(row.shards),
  users: toExactNumber(row.users),
  shard_list: row.shard_list === '' ? [] : String(row.shard_list).split(',').map(toExactNumber),
  status: row.status,
  last_stats_post: formatTimeMs(row.last_stats_post_ms),
  ...pickFields(row, ['uptime', 'total_uptime']),
  uptime_last_checked: formatTimeMs(row.uptime_checked_ms),
});

const packs: ExportSection = {
  kind: 'pack',
  start: '0',
  page: (sql, after, limit) => sql`
    select p.incarnation as key, p.*, n.clicks, n.upvotes, n.downvotes
    from packs p join totals n using (incarnation)
    where p.incarnation > ${after}::bigint order by p.incarnation limit ${limit}`,
  record: (row) => ({
    url: row.url,
    owner: row.owner_id,
    ...pickFields(row, ['name', 'short', 'tags']),
    ...dropEmpty(pickFields(row, ['bot_ids', 'server_ids', 'vote_banned'])),
    created_at: formatTime(row.created_at),
    ...dropEmpty({ clicks: row.clicks, ...pickVoteTotals(row) }),
  }),
};

/** Votes that a reset made void are exported as void votes, so resets need no records. */
const votes: ExportSection = {
  kind: 'vote',
  start: noUuid,
  page: (sql, after, limit) => sql`
    select v.itag as key, v.*,
      not exists (select from totals n where n.incarnation = v.incarnation) as former
    from vote_rows v where v.itag > ${after}::uuid order by v.itag limit ${limit}`,
  record: (row) => ({
    ...pickFields(row, ['target_type', 'target_id', 'author', 'upvote']),
    created_at: formatTime(row.created_at),
    ...dropEmpty({ vote_num: row.vote_num, immutable: row.immutable, ...toVoid(row), former: row.former }),
    itag: row.itag,
  }),
};

const toVoid = (row: ExportRow): ExportRow => {
  if (row.void) {
    return {
      ...pickFields(row, ['void', 'void_reason']),
      voided_at: formatTime(row.voided_at),
      credit_redeem: row.credit_redeem,
    };
  }
  return row.former ? { void: true, void_reason: 'deleted' } : {};
};

const sessions: ExportSection = {
  kind: 'session',
  start: noUuid,
  page: (sql, after, limit) => sql`
    select id as key, *, encode(token_hash, 'hex') as hash from sessions
    where id > ${after}::uuid order by id limit ${limit}`,
  record: (row) => ({
    ...pickFields(row, ['id', 'target_type', 'target_id', 'type', 'name']),
    ...dropEmpty(pickFields(row, ['perm_limits', 'minted_by'])),
    token_hash: row.hash,
    created_at: formatTime(row.created_at),
    expiry: formatTime(row.expiry),
  }),
};

/** All sections; a record comes after the records it refers to. */
export const sections: readonly ExportSection[] = [
  users,
  teams,
  servers,
  bots,
  packs,
  votes,
  sessions,
  ...offerSections,
];
