/**
 * What questions to services of the outside (bot look-up, login provider) report to Prometheus. Answers that
 * were kept from before are no questions. Called by the clients; registered by metrics.ts.
 */
import { Counter, Histogram, type Registry } from 'prom-client';

export type OutboundService = 'lookup' | 'platform' | 'login';
/** `spared`: not asked, because the service rests after failures, or is being asked enough. */
export type OutboundOutcome = 'answered' | 'failed' | 'spared';

export interface OutboundMeters {
  recordCall(service: OutboundService, outcome: OutboundOutcome, milliseconds: number): void;
}

const secondsBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export const registerOutboundMeters = (registers: Registry[]): OutboundMeters => {
  const questions = new Counter({
    name: 'rollcall_outside_questions_total',
    help: 'Questions to services of the outside, by service and what became of them.',
    labelNames: ['service', 'outcome'],
    registers,
  });
  const time = new Histogram({
    name: 'rollcall_outside_seconds',
    help: 'Time of questions that were asked, whatever came of them.',
    labelNames: ['service'],
    buckets: secondsBuckets,
    registers,
  });
  return {
    recordCall: (service, outcome, milliseconds) => {
      questions.inc({ service, outcome });
      if (outcome !== 'spared') time.observe({ service }, milliseconds / 1_000);
    },
  };
};
