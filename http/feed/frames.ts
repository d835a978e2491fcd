/**
 * The messages of the feed, each rendered at most once per encoding however many clients get it.
 *
 * A client of server-sent events gets `event:` and `data:` lines, a WebSocket the same as one JSON object.
 * Pure.
 */
import type { WatchedView } from '../../engine/engine.ts';
import { computeVotes } from '../../engine/entity/state.ts';
import { computePresence } from '../../engine/rules/presence.ts';
import type { LogRow } from '../../storage/catalogue/votes/vote-log.ts';
import { renderTimestamp, toTimestamp } from '../response/reply.ts';
import type { PushConnection } from '../server/push-connection.ts';
import type { FeedEvent } from '../telemetry/counts.ts';

/** One message. `data` is JSON text. */
export class Frame {
  readonly event: FeedEvent;
  readonly data: string;
  #events = '';
  #text = '';

  constructor(event: FeedEvent, data: string) {
    this.event = event;
    this.data = data;
  }

  /** As it goes to a connection of this kind. */
  render(kind: PushConnection['kind']): string {
    if (kind === 'websocket') {
      this.#text ||= `{"event":"${this.event}","data":${this.data}}`;
      return this.#text;
    }
    this.#events ||= `event: ${this.event}\ndata: ${this.data}\n\n`;
    return this.#events;
  }
}

export const buildFrame = (event: FeedEvent, data: object): Frame => new Frame(event, JSON.stringify(data));

/** Renders the numbers of an entity as JSON text. Posted ones are exact, also beyond 2^53. */
export const renderTotals = ({ ref, state }: WatchedView, nowMs: number): string => {
  const counted =
    `{"votes":${computeVotes(state)},"clicks":${state.clicks},"unique_clicks":${state.uniqueClicks}` +
    `,"invite_clicks":${state.inviteClicks}`;
  if (ref.kind !== 'bot') return `${counted}}`;
  return (
    `${counted},"servers":${state.servers},"users":${state.users},"shards":${state.shards}` +
    `,"status":"${computePresence(state, nowMs)}"` +
    `,"last_stats_post":${renderTimestamp(state.lastStatsPostMs)}}`
  );
};

interface ShownTotals {
  /** `bot/123` */
  readonly key: string;
  readonly generation: number;
  readonly version: number;
  /** JSON text. */
  readonly totals: string;
}

/** Builds a message with the totals of an entity. */
export const buildTotalsFrame = ({ key, generation, version, totals }: ShownTotals): Frame => {
  const position = `"generation":${generation},"version":${version}`;
  return new Frame('totals', `{"target":${JSON.stringify(key)},${position},"totals":${totals}}`);
};

/** Builds the message of one vote. `cursor` is its position in the log. */
export const buildVoteFrame = (target: string, cursor: string, row: LogRow): Frame =>
  buildFrame('vote', {
    target,
    number: row.number,
    cursor,
    itag: row.itag,
    author: row.author,
    upvote: row.upvote,
    created_at: toTimestamp(row.created_at),
    ref: row.ref,
    void: row.void,
    ...(row.voter && { voter: row.voter }),
  });
