/**
 * The Prometheus metrics of webhooks: attempts of this node, and the queue of the fleet as this node last
 * read it. Updated by ops/jobs and ops/webhooks.ts; registered by metrics.ts.
 */
import { Counter, Gauge, type Registry } from 'prom-client';

/** The queue as SQL has it; every node shows the same. */
export interface WebhookLevels {
  readonly pending: number;
  readonly healthy: number;
  readonly failing: number;
  readonly disabled: number;
  /** How long the longest waiting endpoint has been due. */
  readonly lagMs: number;
}

export interface WebhookMeters {
  /** Counts one attempt by its error, `''` for a delivered one. */
  recordAttempt(error: string): void;
  recordLevels(levels: WebhookLevels): void;
}

export const registerWebhookMeters = (registers: Registry[]): WebhookMeters => {
  const attempts = new Counter({
    name: 'rollcall_webhook_attempts_total',
    help: 'Attempts of this node to deliver a webhook, by outcome: delivered, or why not.',
    labelNames: ['outcome'],
    registers,
  });
  attempts.inc({ outcome: 'delivered' }, 0);
  const pending = new Gauge({
    name: 'rollcall_webhook_pending',
    help: 'Deliveries of the fleet that wait.',
    registers,
  });
  const endpoints = new Gauge({
    name: 'rollcall_webhook_endpoints',
    help: 'Webhook endpoints, by mode: healthy, failing, or disabled.',
    labelNames: ['mode'],
    registers,
  });
  const lag = new Gauge({
    name: 'rollcall_webhook_lag_seconds',
    help: 'How long the longest waiting endpoint has been due; near 0 while senders keep up.',
    registers,
  });
  return {
    recordAttempt: (error) => attempts.inc({ outcome: error === '' ? 'delivered' : error }),
    recordLevels: (levels) => {
      pending.set(levels.pending);
      for (const mode of ['healthy', 'failing', 'disabled'] as const) endpoints.set({ mode }, levels[mode]);
      lag.set(levels.lagMs / 1_000);
    },
  };
};
