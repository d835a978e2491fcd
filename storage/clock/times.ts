/**
 * The table of stored times: one entry per column of SQL and per field of a hot store that holds a time.
 *
 * A *happened* time was read from a clock, so it never lies ahead of a right one. A *planned* time may. The
 * start looks up some of the happened ones (look-up.ts), and `--accept-clock` mends all of them (accept.ts).
 * A test compares the table with the schema and with the records of the hot stores. Pure.
 */

export interface StoredTime {
  readonly is: 'happened' | 'planned';
  /**
   * What happens to one ahead of the clock: `set` to the clock; its row is `removed`, because time is a part
   * of its key; its table is `emptied`, because it is computed again; or it is `kept`.
   */
  readonly mend: 'set' | 'removed' | 'emptied' | 'kept';
  /**
   * Looked up at each start, because every node writes it: of all rows, where the table has few or is divided
   * by time, or of a sample.
   */
  readonly look?: 'all' | 'sample';
}

const happened = { is: 'happened', mend: 'set' } as const;
const looked = { ...happened, look: 'all' } as const;
const removed = { is: 'happened', mend: 'removed' } as const;
const lookedRemoved = { ...removed, look: 'all' } as const;
const emptied = { is: 'happened', mend: 'emptied' } as const;
/** A copy that bounds a segment: it may lie anywhere, and recounting joins empty segments. */
const bound = { is: 'happened', mend: 'kept' } as const;
const planned = { is: 'planned', mend: 'kept' } as const;
/** When work is next to be looked at. Looking early is harmless, looking ten years late is not. */
const due = { is: 'planned', mend: 'set' } as const;

const created = { created_at: happened } as const;
const edited = { created_at: happened, updated_at: happened } as const;
const shop = { created_at: happened, last_updated: happened } as const;
const samples = { at: removed } as const;

export const sqlTimes: Readonly<Record<string, Readonly<Record<string, StoredTime>>>> = {
  adjustments: { created_at: happened, settled_at: happened },
  apps: { created_at: happened, reviewed_at: happened },
  audit: { asked_at: happened, ended_at: happened },
  blog_posts: created,
  board_counts: { edition: emptied },
  board_editions: { edition: emptied, made_at: emptied, day: emptied },
  board_listings: { days_at: emptied, past_until: emptied },
  bots: {
    start_premium_period: planned,
    last_claimed: happened,
    last_lookup: happened,
    listed_since: happened,
    ...edited,
  },
  dead_letters: { created_at: happened, newest_at: happened },
  // The start of premium, once the facts until then are sent.
  edited: { at: due },
  // The newest heartbeat of each node.
  fleet: { seen_at: lookedRemoved },
  history_days: samples,
  history_fine: samples,
  // Without a head a listing is sampled again.
  history_heads: samples,
  history_hours: samples,
  history_state: { at: looked, whole_at: happened, hour: happened, day: happened },
  history_times: samples,
  hot_store: { claimed_at: happened },
  idempotency_keys: created,
  imports: { updated_at: looked },
  // The newest due time of a job that has begun: it is not due again before the next one.
  job_runs: { due_at: lookedRemoved, started_at: happened, lease_until: due, finished_at: happened },
  list_changes: { at: bound },
  list_segments: { low_at: bound },
  login_uses: { used_at: happened },
  notices: { at: happened },
  outages: { from_at: removed, to_at: looked },
  packs: created,
  push_messages: { next_at_ms: due },
  push_subscriptions: created,
  reminders: { created_at: happened, voted_at_ms: happened, due_at_ms: due, last_acked: happened },
  reserved_words: created,
  search_entries: created,
  servers: { start_premium_period: planned, ...edited },
  // The end of one that was created ahead of the clock moves with its beginning.
  sessions: { created_at: happened, expiry: planned },
  shop_benefits: shop,
  shop_coupons: shop,
  shop_items: shop,
  team_members: created,
  teams: edited,
  totals: {
    last_stats_post_ms: { ...happened, look: 'sample' },
    uptime_checked_ms: happened,
    released_before_ms: happened,
    flushed_at: happened,
  },
  users: created,
  vanity: created,
  void_plan_votes: created,
  void_plans: { created_at: happened, started_at: happened },
  vote_counts: { hour: removed },
  vote_credit_tiers: created,
  vote_months: { month: removed },
  vote_months_archived: { month: removed },
  vote_origins: { at: happened },
  vote_redeems: { cycle: happened, redeemed_at: happened, created_at: happened },
  // `infinity` says that the listing was deleted, and stays.
  vote_resets: { at: happened, created_at: happened },
  vote_suspects: { at: removed, first_at: happened, last_at: removed },
  voter_changes: { noted_at: emptied },
  voter_orders: { read_at: emptied },
  voter_segments: { low_at: emptied },
  voters: { at: emptied },
  votes: { created_at: looked, voided_at: happened },
  webhook_deliveries: { next_at_ms: due, created_at: happened },
  webhook_endpoints: {
    former_until_ms: planned,
    failing_since_ms: happened,
    wait_until_ms: due,
    slow_until_ms: due,
    due_at_ms: due,
    lease_until_ms: due,
    last_delivered_at: happened,
    created_at: happened,
  },
};

/** By the path in a record (storage/move/records.ts). */
export const hotTimes: Readonly<Record<string, StoredTime>> = {
  'state.lastStatsPostMs': happened,
  'state.uptimeCheckedMs': happened,
  'state.releasedBeforeMs': happened,
  'state.facts.premiumUntilMs': planned,
  'state.facts.listedSinceMs': happened,
  'state.parts.dueMs': due,
  'state.parts.current.sinceMs': happened,
  'state.parts.building.sinceMs': happened,
  'votes.atMs': happened,
  'part.atMs': happened,
  // Marks: the last batch of each node, with every commit, by the clock that bounds all of these.
  'producers.seenMs': lookedRemoved,
};

/** How a column holds a time. */
export type TimeUnit = 'time' | 'ms' | 'minutes' | 'month';

export const getUnit = (table: string, column: string): TimeUnit => {
  if (column.endsWith('_ms') || column === 'edition') return 'ms';
  if (table.startsWith('history_')) return 'minutes';
  return column === 'month' ? 'month' : 'time';
};
