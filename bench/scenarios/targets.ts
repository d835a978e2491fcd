/**
 * The project's targets: ratios of Rollcall to another server, with Redis as the hot store and 256
 * connections. Text, because `≤` and `≥` belong to it.
 */
import type { LoadScenarioName, PeerName } from './scenario.ts';

export interface Targets {
  readonly cpu?: string;
  readonly rate?: string;
}

const targets: Readonly<Record<string, Targets>> = {
  'stats bare': { cpu: '≤ 1.9' },
  'stats fastify-redis': { cpu: '≤ 0.4' },
  'stats fastify-sql': { rate: '≥ 8' },
  'read bare': { cpu: '≤ 1.5' },
  'page bare': { cpu: '≤ 1.8' },
  'vote bare': { cpu: '≤ 2.4' },
  'badges bare': { cpu: '≤ 1.5' },
};

export const findTargets = (scenario: LoadScenarioName, other: PeerName | 'bare' | 'rollcall'): Targets =>
  targets[`${scenario} ${other}`] ?? {};
