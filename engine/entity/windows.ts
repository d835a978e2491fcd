/**
 * The operator's settings for votes and uptime: how long voters wait, how uptime is checked. Types only.
 *
 * They are the same on all nodes of a fleet. Used by the rules beside this file and by both hot stores.
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
