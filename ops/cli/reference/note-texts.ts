/**
 * What each note means and what to do, for docs/reference/notes.md. Links are as that page needs them.
 */
import type { NoteName } from '../../../engine/tools/notes.ts';

export const noteTexts: Readonly<Record<NoteName, readonly [meaning: string, remedy: string]>> = {
  adjustments_wait: [
    'changes of past votes that Redis or the embedded hot store does not take, with their listings',
    'repair what the note in parentheses says (`damaged`: see [data is ' +
      'damaged](../runbook/damaged.md)); they are delivered then',
  ],
  cards_off: [
    '`@resvg/resvg-js` is not installed, so link previews of listings without a picture have none',
    '`npm install` brings it; goes with the next start',
  ],
  clock_apart: [
    'jobs and sessions come early or late, because the clock of the node differs from that of Postgres',
    'run NTP on both',
  ],
  clock_set_back: [
    'the clock of the node was set back, and the stores have later times: votes may count for nothing',
    '[set the clock, or accept it](../runbook/clock-wrong.md)',
  ],
  clock_wrong: [
    'votes are refused, because the clock of the node differs from that of Redis',
    'run NTP on both',
  ],
  dead_letters: [
    'rows that SQL refused wait',
    '`rollcall ops dead-letters list` says why; when the cause is gone, `rollcall ops dead-letters ' +
      'retry`',
  ],
  descriptors_used_up: [
    'new connections wait, work on files fails',
    'raise `ulimit -n` (`LimitNOFILE` of systemd) and start again',
  ],
  disk_full: ['changes are refused, or the embedded SQL waits', 'make room on the named disk'],
  flush_fails: [
    'totals and votes do not reach SQL; nothing is lost, counting goes on',
    'the cause is in parentheses, and in the log of Postgres',
  ],
  home_defaults: [
    'others reach this directory (`HOST`, `PUBLIC_URL`), and defaults that suit only your own machine ' +
      'are in force',
    'set what the note names: `PUBLIC_URL`, `PUSH_CONTACT`, `TRUSTED_PROXIES`, `DEMO`',
  ],
  hot_store_away: [
    'Redis, or one primary, does not answer or refuses everything',
    'bring it back; the note says why it refuses',
  ],
  hot_store_damaged: ['records that cannot be read: their listings are 503', 'the note has the steps'],
  hot_store_fails: [
    'the hot store refuses changes',
    'the cause is in parentheses: `maxmemory`, a replica, rights of the user',
  ],
  hot_store_tables: [
    'LMDB cannot write its tables; its journal holds up to 64 MiB',
    'make room, or mend the disk of `DATA_DIR`',
  ],
  job_fails: [
    'a scheduled job of this node has failed for two minutes, while both stores answer',
    'the note has the error, the log each failure',
  ],
  pubsub_fails: [
    'messages of other nodes do not arrive: sessions are read again at each request, edits are seen ' +
      'late',
    'give the user of `REDIS_URL` the channels `rollcall:signals*` and the commands `SUBSCRIBE` and ' +
      '`PUBLISH`',
  ],
  push_refused: [
    'a push service refuses the messages of this directory, which are abandoned',
    'set `PUSH_CONTACT` to an address that reaches you',
  ],
  redis_keys_lost: [
    'somebody deleted accepted votes in Redis before they were in SQL (totals count them, lists lack ' +
      'them), or visitors of listings (they count as unique once more)',
    'find who did; the note has the command that ends it',
  ],
  redis_may_evict: [
    'Redis deletes counters when its memory is full',
    'set `maxmemory-policy noeviction` there',
  ],
  redis_policy: [
    'it would with a memory limit, or does not show its policy',
    'set `maxmemory-policy noeviction` there',
  ],
  redis_rights: [
    'the user of `REDIS_URL` lacks a right, or the server a command: what needs it is 503',
    'run the `ACL SETUSER` line of the note; all rights are in ' +
      '[needs](../operators/needs.md#your-redis)',
  ],
  redis_slot_moving: [
    'a resharding was broken off: the listings of a slot are 503',
    '`redis-cli --cluster fix HOST:PORT`',
  ],
  redis_weak: [
    'a crash or a failover of Redis may lose confirmed writes',
    '`appendonly yes` and `appendfsync always`, unless you chose otherwise',
  ],
  search_off: [
    '`/search` is 503: its index is missing or being built',
    '`CREATE EXTENSION pg_trgm` as a superuser in the database, or give the role `CREATE` on it; the ' +
      'index follows within two minutes',
  ],
  service_fails: [
    'the login provider, the verifier of votes or the look-up of bots has failed three times in a row',
    'check the settings that the note names, and the service',
  ],
  sql_away: [
    'edits and past votes are 503',
    'bring Postgres back; the cause is in parentheses (an ended certificate, a changed password)',
  ],
  sql_commits_wait: [
    'commits wait for a synchronous standby that is absent',
    "bring it back, or `ALTER SYSTEM SET synchronous_standby_names = ''`",
  ],
  sql_connections: [
    'Postgres has no connection left for this node, which needs 11',
    'raise `max_connections`, or the `CONNECTION LIMIT` of the role or the database',
  ],
  sql_damaged: ['data that SQL cannot read: what needs it is 503', 'the note has the steps'],
  sql_pooler: [
    'the pooler has changed to statement or transaction mode',
    '[managed Postgres and poolers](../operators/postgres.md#managed-postgres-and-poolers)',
  ],
  sql_read_only: [
    'Postgres takes no writes',
    'name the primary in `DATABASE_URL`; or make room and `ALTER DATABASE … RESET ' +
      'default_transaction_read_only`',
  ],
  sql_weak: ['`fsync` is off in Postgres', 'turn it on, unless you chose otherwise'],
  votes_paused: ['votes are refused: a million wait for SQL', 'bring SQL back; it ends below 800,000'],
  webhook_backlog: [
    'more than 5,000,000 deliveries wait: none are written for webhooks that fail',
    'see why they fail, and replay them later',
  ],
  webhook_secrets: [
    'secrets of webhooks cannot be read: their deliveries fail',
    'give `SECRETS_KEY` the value that it had, or let owners create new secrets',
  ],
};
