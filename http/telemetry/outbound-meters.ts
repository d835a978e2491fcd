/**
 * The Prometheus metrics of requests to external services (bot look-up, platform, login provider). Cached
 * answers are not counted. Updated by the clients in http/outbound; registered by metrics.ts.
 */
import { Counter, Histogram, type Registry } from 'prom-client';

const services = ['lookup', 'platform', 'login'] as const;
export type OutboundService = (typeof services)[number];
const outcomes = ['success', 'failure', 'rejected'] as const;
/** `rejected`: not sent, because the circuit breaker is open or too many requests are in flight. */
export type OutboundOutcome = (typeof outcomes)[number];

export interface OutboundMeters {
  recordCall(service: OutboundService, outcome: OutboundOutcome, milliseconds: number): void;
}

const secondsBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export const registerOutboundMeters = (registers: Registry[]): OutboundMeters => {
  const requests = new Counter({
    name: 'rollcall_outbound_requests_total',
    help: 'Requests to external services, by service and outcome; rejected ones were not sent.',
    labelNames: ['service', 'outcome'],
    registers,
  });
  for (const service of services) for (const outcome of outcomes) requests.inc({ service, outcome }, 0);
  const time = new Histogram({
    name: 'rollcall_outbound_request_duration_seconds',
    help: 'Duration of the requests that were sent, successful or not.',
    labelNames: ['service'],
    buckets: secondsBuckets,
    registers,
  });
  return {
    recordCall: (service, outcome, milliseconds) => {
      requests.inc({ service, outcome });
      if (outcome !== 'rejected') time.observe({ service }, milliseconds / 1_000);
    },
  };
};
