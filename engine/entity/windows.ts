/**
 * The operator's settings for votes, uptime and parts: how long voters wait, how uptime is checked, how long
 * the shards of a bot count. Types only.
 *
 * They are the same on all nodes of a fleet.
 *
 * In Lua, too: 2-rules.lua (ARCHITECTURE.md, *Rules in two languages*).
 */

/** How long a voter waits, in ms, and how many votes a request grants. */
export interface VoteWindow {
  readonly waitMs: number;
  readonly perUser: number;
}
export interface VoteWindows {
  readonly standard: VoteWindow;
  readonly premium: VoteWindow;
  /** Friday 00:00 to Sunday 24:00 UTC, for entities that are not premium. */
  readonly weekend: VoteWindow;
}
export interface UptimeRules {
  readonly checkMs: number;
  /** A check passes when stats were posted at most this long before it. */
  readonly freshMs: number;
  /** Half-open intervals in which the whole fleet was down, oldest first. Checks inside do not count. */
  readonly downtimes: readonly { readonly fromMs: number; readonly toMs: number }[];
}
/** When parts of a bot stop counting, and when a table of them comes into force. */
export interface PartsRules {
  /** A part that was posted longer ago is stale: it counts, but the bot's status does not depend on it. */
  readonly staleMs: number;
  /** A part that was posted longer ago is gone: it no longer counts. */
  readonly goneMs: number;
  /** How long after its last new part a table comes into force without the missing ones. */
  readonly switchMs: number;
}
