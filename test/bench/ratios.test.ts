/**
 * Which ratios are printed, which are not, and how rounds become medians.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { judgeCpuRatio, judgeRateRatio } from '../../bench/report/ratio-rules.ts';
import type { SteadyRow } from '../../bench/report/result.ts';
import { computeSpread } from '../../bench/report/statistics.ts';
import { buildSteadyTable, collectSteadyRatios } from '../../bench/report/steady.ts';
import { resultOf, sampleOf } from './samples.ts';

const test = suite('bench ratios');

const quiet = { bottleneck: 'neither', samePressure: false, failed: 0 } as const;

test('the median of an even number of rounds lies between the two in the middle', () => {
  assert.equal(computeSpread([4, 1, 2, 3]), { median: 2.5, min: 1, max: 4 });
  assert.equal(computeSpread([7]), { median: 7, min: 7, max: 7 });
});

test('CPU is compared on one core, or when both servers were busy, and not otherwise', () => {
  const shared = { ...quiet, samePressure: true };
  const busy = { ...quiet, bottleneck: 'server' } as const;

  assert.is(judgeCpuRatio(shared, shared), null);
  assert.is(judgeCpuRatio(busy, busy), null);
  assert.match(judgeCpuRatio(busy, quiet) ?? '', /time to idle/);
});

test('requests/s are not compared with a server that waited for the generator', () => {
  const waited = { ...quiet, bottleneck: 'generator' } as const;

  assert.match(judgeRateRatio(quiet, waited).reason ?? '', /waited for the generator/);
  assert.match(judgeRateRatio(waited, waited).reason ?? '', /waited for the generator/);
  assert.equal(judgeRateRatio(quiet, quiet), { reason: null, isLeast: false });
});

test('when only Rollcall waited for the generator, the ratio is a least', () => {
  const waited = { ...quiet, bottleneck: 'generator' } as const;

  assert.equal(judgeRateRatio(waited, quiet), { reason: null, isLeast: true });
});

test('failed answers leave no ratio', () => {
  const failing = { ...quiet, samePressure: true, failed: 1 };

  assert.match(judgeCpuRatio(failing, quiet) ?? '', /not 2xx/);
  assert.match(judgeRateRatio(quiet, failing).reason ?? '', /not 2xx/);
  const result = resultOf([sampleOf({ failed: 3 }), sampleOf({ server: 'bare', cpuUs: 10 })]);
  assert.equal(result.ratios, {});
});

test('a view in a browser is compared with the same view as JSON', () => {
  const page = [sampleOf({ scenario: 'page', cpuUs: 20 }), sampleOf({ scenario: 'page', server: 'bare' })];
  const listing = sampleOf({ scenario: 'listing', cpuUs: 35 });

  assert.is(resultOf([...page, listing]).ratios.listing_cpu_vs_page, 1.75);
  assert.is(resultOf(page).ratios.listing_cpu_vs_page, undefined);
});

test('ratios are taken within rounds and have the names that tools look for', () => {
  const result = resultOf([
    sampleOf({ round: 1, cpuUs: 20 }),
    sampleOf({ round: 1, server: 'bare', cpuUs: 10 }),
    sampleOf({ round: 2, cpuUs: 90 }),
    sampleOf({ round: 2, server: 'bare', cpuUs: 30 }),
    sampleOf({ round: 3, cpuUs: 40 }),
    sampleOf({ round: 3, server: 'bare', cpuUs: 10 }),
    sampleOf({ round: 1, placement: 'free', cpuUs: 1 }),
    sampleOf({ round: 1, placement: 'free', server: 'fastify-sql' }),
  ]);

  // 2, 3 and 4: not the ratio of the medians, 40 ÷ 10.
  assert.is(result.ratios.stats_cpu_vs_bare_uws, 3);
  assert.is(result.ratios.stats_rps_vs_fastify_sql, 1);
  // On one core a server's requests/s are half the generator's.
  assert.is(result.ratios.stats_rps_vs_bare_uws, undefined);
});

test('totals add Redis, and the embedded stores have ratios of their own', () => {
  const result = resultOf([
    sampleOf({ cpuUs: 20, redisCpuUs: 5 }),
    sampleOf({ server: 'rollcall-embedded', cpuUs: 30, redisCpuUs: 1 }),
    sampleOf({ server: 'bare', cpuUs: 10, redisCpuUs: 1 }),
    sampleOf({ server: 'fastify-redis', cpuUs: 40, redisCpuUs: 10 }),
    sampleOf({ server: 'fastify-sql', cpuUs: 80, redisCpuUs: 1 }),
  ]);

  assert.equal(result.ratios, {
    stats_cpu_vs_bare_uws: 2,
    stats_total_cpu_vs_bare_uws: 2.5,
    stats_redis_cpu_vs_bare_uws: 0.5,
    stats_cpu_vs_fastify_redis: 0.5,
    stats_total_cpu_vs_fastify_redis: 0.5,
    stats_cpu_vs_fastify_sql: 0.25,
    embedded_stats_cpu_vs_bare_uws: 3,
  });
});

const steadyRow = (changes: Partial<SteadyRow>): SteadyRow => ({
  ...{ scenario: 'stats', server: 'rollcall', rate: 50, round: 1, requests: 500, failed: 0 },
  ...{ p50Ms: 2, p99Ms: 9, serverUs: 400, redisUs: 200, postgresUs: 100, statements: 0.5 },
  ...{ redisCommands: 9, wakeUps: 2, diskBytes: 2_048 },
  ...changes,
});

test('at a steady rate the ratio is that of the CPU of server and stores, within a round', () => {
  const peer = { server: 'fastify-sql', redisUs: 0 } as const;
  const rows = [
    steadyRow({}),
    steadyRow({ ...peer, serverUs: 600, postgresUs: 400 }),
    steadyRow({ round: 2, failed: 1 }),
    steadyRow({ ...peer, round: 2, serverUs: 1, postgresUs: 1 }),
  ];

  const ratios = collectSteadyRatios({ rows, syncMs: 0.2 });

  assert.is(ratios.stats_total_cpu_at_50_vs_fastify_sql, 0.7);
  assert.is(ratios.stats_cpu_with_redis_at_50_vs_fastify_sql, 1);
  assert.equal(buildSteadyTable({ rows, syncMs: 0.2 }).rows[0]?.slice(-2), ['0.70', '≤ 0.8 ✓']);
});

test.run();
