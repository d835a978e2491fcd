/**
 * The project's targets: ratios of Rollcall to another server, with Redis as the hot store and 256
 * connections. Text, because `≤` and `≥` belong to it.
 */
export interface Targets {
  /** CPU of the server alone. */
  readonly cpu?: string;
  /** CPU of the server and its Redis. */
  readonly total?: string;
  readonly rate?: string;
}

const targets: Readonly<Record<string, Targets>> = {
  'stats rollcall bare': { cpu: '≤ 2.1', total: '≤ 3.1' },
  'stats rollcall fastify-redis': { cpu: '≤ 0.4', total: '≤ 0.5' },
  'stats rollcall fastify-sql': { rate: '≥ 4' },
  'stats rollcall-embedded bare': { cpu: '≤ 2.4' },
  'read rollcall bare': { cpu: '≤ 1.5' },
  'page rollcall bare': { cpu: '≤ 2.4' },
  'vote rollcall bare': { total: '≤ 6' },
  'vote rollcall-embedded bare': { cpu: '≤ 7' },
  'badges rollcall bare': { cpu: '≤ 1.5' },
};

export const findTargets = (scenario: string, ours: string, other: string): Targets =>
  targets[`${scenario} ${ours} ${other}`] ?? {};

/** At 50 requests/s: total CPU ÷ that of the peer on SQL. */
export const findSteadyTarget = (rate: number): number | null => (rate === 50 ? 0.8 : null);
