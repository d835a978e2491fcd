/**
 * Results of the bench suite as its tests need them: small, whole, with one thing changed.
 */
import { percentiles } from '../../bench/load/order.ts';
import { collectRatios, type Result, type Sample, toScenarioFigures } from '../../bench/report/result.ts';
import { serverNames } from '../../bench/servers/contestants.ts';

/** One sample; `generatorBusy` and `failed` go into its load. */
export const sampleOf = (
  changes: Partial<Sample> & { readonly generatorBusy?: number; readonly failed?: number } = {},
): Sample => {
  const { generatorBusy = 0.5, failed = 0, ...own } = changes;
  return {
    scenario: 'stats',
    server: 'rollcall',
    round: 1,
    placement: 'one-core',
    cpuUs: 20,
    mainCpuUs: 18,
    redisCpuUs: 5,
    postgresCpuUs: 1,
    cores: 0.5,
    residentBytes: 100_000_000,
    load: {
      requests: 1_000,
      requestsPerSecond: 1_000,
      statuses: { 200: 1_000 - failed, ...(failed > 0 && { 503: failed }) },
      errors: 0,
      bytes: 200_000,
      latencyMs: percentiles.map((_, index) => index + 1),
      perSlice: [100, 120, 90],
      generatorBusy,
    },
    ...own,
  };
};

/** The report of these samples. */
export const resultOf = (samples: readonly Sample[]): Result => {
  const names = [...new Set(samples.map(({ scenario }) => scenario))];
  const scenarios = names.map((name) => toScenarioFigures(name, samples, serverNames));
  return {
    version: 2,
    machine: {
      processor: 'a processor',
      cores: 2,
      memoryGib: 4,
      system: 'linux x64',
      node: '22.0.0',
      date: '2026-01-02T03:04:05.000Z',
      commit: 'abc1234',
      loadBefore: 0,
    },
    stores: 'redis',
    load: 'autocannon',
    placements: ['one-core', 'free'],
    connections: 256,
    rate: 0,
    measureSeconds: 1,
    settings: { TRUSTED_PROXIES: '127.0.0.1' },
    ratios: collectRatios(scenarios),
    scenarios,
    steady: null,
    races: { atOnce: 1_000, through: { rollcall: 1, 'fastify-sql': 7 } },
    idle: [{ server: 'rollcall', connections: 10_000, bytesPerConnection: 400 }],
    moments: [],
    samples,
    interrupted: false,
    problems: [],
  };
};
