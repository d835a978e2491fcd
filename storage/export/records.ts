/**
 * From rows to records of the import format: per kind, the statement of one page and the shape of one record.
 *
 * Owns the order of the export: users by id, entities by incarnation (the order in which they were listed),
 * votes by itag, sessions by id. Each is an index's order, so a page costs what it holds, and an import of
 * the export makes the same order again. What equals the import's default is left out.
 */
import { offerSections } from './offers.ts';
import { compact, noUuid, pick, type Row, type Section, time } from './section.ts';

const timeOfMs = (value: unknown): string | undefined =>
  value === 0 || value === undefined ? undefined : new Date(value as number).toISOString();

/** Digits of an integer of any size, as a JSON number. */
const digits = (value: unknown): unknown =>
  value === '0' ? 0 : (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(String(value));

const voteTotals = (row: Row): Row => pick(row, ['upvotes', 'downvotes']);
const clickTotals = (row: Row): Row => pick(row, ['clicks', 'unique_clicks', 'invite_clicks']);
const premium = (row: Row): Row => ({
  start_premium_period: time(row.start_premium_period),
  premium_period_length: row.premium_period_hours,
});
const identity = (row: Row): Row => pick(row, ['itag', 'vanity', 'vanity_ref']);
const listing = (row: Row): Row => pick(row, ['tags', 'extra_links', 'nsfw', 'vote_banned']);
const times = (row: Row): Row => ({ created_at: time(row.created_at), updated_at: time(row.updated_at) });

const users: Section = {
  kind: 'user',
  start: '',
  page: (sql, after, limit) => sql`
    select id as key, * from users where id > ${after} order by id limit ${limit}`,
  record: (row) => ({
    ...pick(row, ['id', 'username', 'display_name']),
    ...compact({
      ...pick(row, ['avatar', 'bot', 'flags', 'banned', 'vote_banned']),
      extra_data: Object.keys(row.extra_data as object).length > 0 ? row.extra_data : undefined,
      status: row.status === 'offline' ? undefined : row.status,
    }),
    created_at: time(row.created_at),
  }),
};

const teams: Section = {
  kind: 'team',
  start: '0',
  page: (sql, after, limit) => sql`
    select t.incarnation as key, t.*, n.clicks, n.upvotes, n.downvotes, v.code as vanity,
      (select coalesce(json_agg(m order by m.created_at, m.user_id), '[]')
       from team_members m where m.team_id = t.id) as members
    from teams t join totals n using (incarnation) join vanity v on v.itag = t.vanity_ref
    where t.incarnation > ${after}::bigint order by t.incarnation limit ${limit}`,
  record: (row) => ({
    ...pick(row, ['id', 'name']),
    ...compact({ short: row.short, ...listing(row) }),
    ...pick(row, ['service']),
    ...identity(row),
    ...times(row),
    members: (row.members as Row[]).map(memberOf),
    ...compact({ clicks: row.clicks, ...voteTotals(row) }),
  }),
};

/** A row that SQL aggregated to JSON: its times are text. */
const memberOf = (row: Row): Row => ({
  user_id: row.user_id,
  perms: row.permissions,
  ...compact(pick(row, ['data_holder', 'mentionable', 'flags'])),
  ...pick(row, ['service', 'itag']),
  created_at: new Date(row.created_at as string).toISOString(),
});

const servers: Section = {
  kind: 'server',
  start: '0',
  page: (sql, after, limit) => sql`
    select s.incarnation as key, s.*, n.clicks, n.unique_clicks, n.invite_clicks, n.upvotes, n.downvotes,
      v.code as vanity
    from servers s join totals n using (incarnation) join vanity v on v.itag = s.vanity_ref
    where s.incarnation > ${after}::bigint order by s.incarnation limit ${limit}`,
  record: (row) => ({
    ...pick(row, ['server_id']),
    team_owner: row.team_id,
    ...pick(row, ['type', 'state', 'name', 'short']),
    ...compact({ ...pick(row, ['avatar', 'long', 'invite', 'total_members', 'online_members']) }),
    ...compact({ ...listing(row), ...premium(row) }),
    ...identity(row),
    ...times(row),
    ...compact({ ...clickTotals(row), ...voteTotals(row) }),
  }),
};

const bots: Section = {
  kind: 'bot',
  start: '0',
  page: (sql, after, limit) => sql`
    select b.incarnation as key, b.*, n.clicks, n.unique_clicks, n.invite_clicks, n.upvotes, n.downvotes,
      n.servers, n.shards, n.users, n.shard_list, n.status, n.last_stats_post_ms, n.uptime, n.total_uptime,
      n.uptime_checked_ms, v.code as vanity
    from bots b join totals n using (incarnation) join vanity v on v.itag = b.vanity_ref
    where b.incarnation > ${after}::bigint order by b.incarnation limit ${limit}`,
  record: (row) => ({
    ...pick(row, ['bot_id', 'client_id']),
    ...compact({ owner: row.owner_id, team_owner: row.team_id }),
    ...pick(row, ['type', 'library', 'prefix', 'short', 'long', 'invite']),
    ...compact({ ...listing(row), captcha_opt_out: row.captcha_opt_out, ...premium(row) }),
    ...compact(pick(row, ['approval_note', 'cert_reason', 'claimed_by'])),
    ...(row.staff_note === null ? {} : { staff_note: row.staff_note }),
    ...compact({ last_claimed: time(row.last_claimed), last_japi_update: time(row.last_lookup) }),
    listed_since: time(row.listed_since) ?? null,
    ...identity(row),
    ...times(row),
    ...compact({ ...clickTotals(row), ...voteTotals(row), ...statsOf(row) }),
  }),
};

const statsOf = (row: Row): Row => ({
  servers: digits(row.servers),
  shards: digits(row.shards),
  users: digits(row.users),
  shard_list: row.shard_list === '' ? [] : String(row.shard_list).split(',').map(digits),
  status: row.status,
  last_stats_post: timeOfMs(row.last_stats_post_ms),
  ...pick(row, ['uptime', 'total_uptime']),
  uptime_last_checked: timeOfMs(row.uptime_checked_ms),
});

const packs: Section = {
  kind: 'pack',
  start: '0',
  page: (sql, after, limit) => sql`
    select p.incarnation as key, p.*, n.clicks, n.upvotes, n.downvotes
    from packs p join totals n using (incarnation)
    where p.incarnation > ${after}::bigint order by p.incarnation limit ${limit}`,
  record: (row) => ({
    url: row.url,
    owner: row.owner_id,
    ...pick(row, ['name', 'short', 'tags']),
    ...compact(pick(row, ['bot_ids', 'server_ids', 'vote_banned'])),
    created_at: time(row.created_at),
    ...compact({ clicks: row.clicks, ...voteTotals(row) }),
  }),
};

/** A reset voids by rule; in the export the vote itself says so, and resets need no records. */
const votes: Section = {
  kind: 'vote',
  start: noUuid,
  page: (sql, after, limit) => sql`
    select v.itag as key, v.*,
      not exists (select from totals n where n.incarnation = v.incarnation) as former
    from vote_rows v where v.itag > ${after}::uuid order by v.itag limit ${limit}`,
  record: (row) => ({
    ...pick(row, ['target_type', 'target_id', 'author', 'upvote']),
    created_at: time(row.created_at),
    ...compact({ vote_num: row.vote_num, immutable: row.immutable, ...voidOf(row), former: row.former }),
    itag: row.itag,
  }),
};

const voidOf = (row: Row): Row => {
  if (row.void) {
    return {
      ...pick(row, ['void', 'void_reason']),
      voided_at: time(row.voided_at),
      credit_redeem: row.credit_redeem,
    };
  }
  return row.former ? { void: true, void_reason: 'deleted' } : {};
};

const sessions: Section = {
  kind: 'session',
  start: noUuid,
  page: (sql, after, limit) => sql`
    select id as key, *, encode(token_hash, 'hex') as hash from sessions
    where id > ${after}::uuid order by id limit ${limit}`,
  record: (row) => ({
    ...pick(row, ['id', 'target_type', 'target_id', 'type', 'name']),
    ...compact(pick(row, ['perm_limits', 'minted_by'])),
    token_hash: row.hash,
    created_at: time(row.created_at),
    expiry: time(row.expiry),
  }),
};

/** In an order in which everything named stands before what names it. */
export const sections: readonly Section[] = [
  users,
  teams,
  servers,
  bots,
  packs,
  votes,
  sessions,
  ...offerSections,
];
