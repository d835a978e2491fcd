/**
 * The closed table of notes: what an operator has to do something about, or should know to be weaker than it
 * could be.
 *
 * While a note lasts it is in `/readyz` and in `rollcall_notes`; the log has a line when it begins and when
 * it ends (ops/watch/note-log.ts). Its text names the setting or the command that helps.
 * docs/reference/notes.md lists all, and for each a test makes it appear and go.
 */

/**
 * `page`: work is refused, or may be lost; `ticket`: something does not work, or will not; `none`: it may be
 * so by choice.
 */
export const noteSeverities = {
  adjustments_wait: 'ticket',
  cards_off: 'none',
  clock_apart: 'ticket',
  clock_set_back: 'page',
  clock_wrong: 'page',
  dead_letters: 'ticket',
  descriptors_used_up: 'page',
  disk_full: 'page',
  flush_fails: 'ticket',
  home_defaults: 'none',
  hot_store_away: 'page',
  hot_store_damaged: 'page',
  hot_store_fails: 'page',
  hot_store_tables: 'ticket',
  job_fails: 'ticket',
  pubsub_fails: 'ticket',
  push_refused: 'ticket',
  redis_keys_lost: 'page',
  redis_may_evict: 'page',
  redis_policy: 'none',
  redis_rights: 'page',
  redis_slot_moving: 'page',
  redis_weak: 'none',
  search_off: 'ticket',
  service_fails: 'ticket',
  sql_away: 'page',
  sql_commits_wait: 'page',
  sql_connections: 'page',
  sql_damaged: 'page',
  sql_pooler: 'page',
  sql_read_only: 'page',
  sql_weak: 'none',
  votes_paused: 'page',
  webhook_backlog: 'ticket',
  webhook_secrets: 'ticket',
} as const satisfies Record<string, 'page' | 'ticket' | 'none'>;

export type NoteName = keyof typeof noteSeverities;
export type Note = `${NoteName}: ${string}`;

export const toNote = (name: NoteName, text: string): Note => `${name}: ${text}`;
export const toNoteName = (note: Note): NoteName => note.slice(0, note.indexOf(':')) as NoteName;
