/**
 * Which ratios are printed, which are not, and how rounds become medians.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Row } from '../../bench/report/rows.ts';
import { computeSpread } from '../../bench/report/statistics.ts';
import { buildSteadyTable, collectSteadyRatios } from '../../bench/report/steady.ts';
import { judgeCpuRatio, judgeRateRatio } from '../../bench/report/summary.ts';
import { resultOf, rowOf } from './samples.ts';

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
  const result = resultOf([rowOf({ failed: 3 }), rowOf({ server: 'bare', serverUs: 10 })]);
  assert.equal(result.ratios, {});
});

test('a view in a browser is compared with the same view as JSON', () => {
  const page = [rowOf({ scenario: 'page', serverUs: 20 }), rowOf({ scenario: 'page', server: 'bare' })];
  const listing = rowOf({ scenario: 'listing', serverUs: 35 });

  assert.is(resultOf([...page, listing]).ratios.listing_cpu_vs_page, 1.75);
  assert.is(resultOf(page).ratios.listing_cpu_vs_page, undefined);
});

test('ratios are taken within rounds and have the names that tools look for', () => {
  const result = resultOf([
    rowOf({ round: 1, serverUs: 20 }),
    rowOf({ round: 1, server: 'bare', serverUs: 10 }),
    rowOf({ round: 2, serverUs: 90 }),
    rowOf({ round: 2, server: 'bare', serverUs: 30 }),
    rowOf({ round: 3, serverUs: 40 }),
    rowOf({ round: 3, server: 'bare', serverUs: 10 }),
    rowOf({ round: 1, load: 'free', serverUs: 1 }),
    rowOf({ round: 1, load: 'free', server: 'fastify-sql' }),
  ]);

  // 2, 3 and 4: not the ratio of the medians, 40 ÷ 10.
  assert.is(result.ratios.stats_cpu_vs_bare_uws, 3);
  assert.is(result.ratios.stats_rps_vs_fastify_sql, 1);
  // On one core a server's requests/s are half the generator's.
  assert.is(result.ratios.stats_rps_vs_bare_uws, undefined);
});

test('totals add Redis, and the embedded stores have ratios of their own', () => {
  const result = resultOf([
    rowOf({ serverUs: 20, redisUs: 5 }),
    rowOf({ server: 'rollcall-embedded', serverUs: 30, redisUs: 1 }),
    rowOf({ server: 'bare', serverUs: 10, redisUs: 1 }),
    rowOf({ server: 'fastify-redis', serverUs: 40, redisUs: 10 }),
    rowOf({ server: 'fastify-sql', serverUs: 80, redisUs: 1 }),
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

const steadyRow = ({ p50 = 2, ...changes }: Partial<Row> & { readonly p50?: number }): Row => ({
  ...{ scenario: 'stats', server: 'rollcall', load: '50/s', round: 1, requests: 500, failures: {} },
  ...{ latencyMs: [p50, 3, 4, 5, 9], serverUs: 400, redisUs: 200, postgresUs: 100, statements: 0.5 },
  ...{ redisCommands: 9, wakeUps: 2, diskBytes: 2_048, residentBytes: 1 },
  ...changes,
});

test('at a steady rate the ratio is that of the CPU of server and stores, within a round', () => {
  const peer = { server: 'fastify-sql', redisUs: 0 } as const;
  const rows = [
    steadyRow({}),
    steadyRow({ ...peer, serverUs: 600, postgresUs: 400 }),
    steadyRow({ round: 2, failures: { 503: 1 } }),
    steadyRow({ ...peer, round: 2, serverUs: 1, postgresUs: 1 }),
  ];

  const ratios = collectSteadyRatios(rows);

  assert.is(ratios.stats_total_cpu_at_50_vs_fastify_sql, 0.7);
  assert.is(ratios.stats_cpu_with_redis_at_50_vs_fastify_sql, 1);
  assert.equal(buildSteadyTable(rows).rows[0]?.slice(-2), ['0.70', '≤ 0.8 ✓']);
});

test.run();
