/**
 * The Prometheus metrics of the feed. It counts in plain numbers, which are read at each scrape: a message
 * costs an addition. Counted by http/feed/; registered by metrics.ts.
 */
import { Counter, Gauge, type Registry } from 'prom-client';

export interface FeedCounts {
  /** Connections now. */
  readonly connections: { sse: number; websocket: number };
  /** Messages sent, by event. */
  readonly frames: Record<string, number>;
  /** Totals that a full socket skipped. */
  conflated: number;
  /** Gaps sent: the client was too far behind, or SQL lacks the rows. */
  readonly gaps: { behind: number; missing: number };
  /** Connections and subscriptions refused, and connections closed because they sent too much. */
  readonly refused: { connections: number; address: number; subscriptions: number; messages: number };
  /** What the feed keeps in memory now, by what it is. */
  countEntries: () => Readonly<Record<string, number>>;
}

export const createFeedCounts = (events: readonly string[]): FeedCounts => ({
  connections: { sse: 0, websocket: 0 },
  frames: Object.fromEntries(events.map((event) => [event, 0])),
  conflated: 0,
  gaps: { behind: 0, missing: 0 },
  refused: { connections: 0, address: 0, subscriptions: 0, messages: 0 },
  countEntries: () => ({}),
});

/** Shows these counts from here on. */
export const registerFeedMeters = (registers: Registry[], counts: FeedCounts): void => {
  new Gauge({
    name: 'rollcall_feed_connections',
    help: 'Connections of the feed, by kind: sse, or websocket.',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const [kind, count] of Object.entries(counts.connections)) this.set({ kind }, count);
    },
  });
  new Gauge({
    name: 'rollcall_feed_entries',
    help: 'What the feed keeps in memory, by what it is: all 0 soon after the last client has left.',
    labelNames: ['of'],
    registers,
    collect() {
      for (const [of, count] of Object.entries(counts.countEntries())) this.set({ of }, count);
    },
  });
  const show = (about: { name: string; help: string; label: string }, by: Readonly<Record<string, number>>) =>
    new Counter({
      name: about.name,
      help: about.help,
      labelNames: [about.label],
      registers,
      collect() {
        this.reset();
        for (const [value, count] of Object.entries(by)) this.inc({ [about.label]: value }, count);
      },
    });
  show(
    { name: 'rollcall_feed_frames_total', help: 'Messages sent to clients, by event.', label: 'event' },
    counts.frames,
  );
  show(
    {
      name: 'rollcall_feed_gaps_total',
      help: 'Gaps sent instead of votes, by reason: behind (the client was too slow), or missing (in SQL).',
      label: 'reason',
    },
    counts.gaps,
  );
  show(
    {
      name: 'rollcall_feed_refused_total',
      help: 'Connections refused or closed, by limit: connections, address, subscriptions or messages.',
      label: 'reason',
    },
    counts.refused,
  );
  new Counter({
    name: 'rollcall_feed_conflated_total',
    help: 'Totals that were not sent to a full socket, which gets the newest ones later.',
    registers,
    collect() {
      this.reset();
      this.inc(counts.conflated);
    },
  });
};

export const feedEvents = [
  'hello',
  'totals',
  'vote',
  'gap',
  'reset',
  'gone',
  'subscribed',
  'error',
  'pong',
  'bye',
] as const;

export type FeedEvent = (typeof feedEvents)[number];
