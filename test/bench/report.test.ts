/**
 * Reports of the bench suite: what they say, that they stand alone, and what a comparison of two concludes.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runCompare } from '../../bench/commands/compare.ts';
import { drawCpuBars } from '../../bench/report/charts.ts';
import { judgeChange } from '../../bench/report/compare.ts';
import { renderHtml } from '../../bench/report/html.ts';
import { computeCosts } from '../../bench/report/profile.ts';
import type { Result } from '../../bench/report/result.ts';
import { renderMarkdown, renderText } from '../../bench/report/text.ts';
import { makeFolder } from '../support/folder.ts';
import { resultOf, sampleOf } from './samples.ts';

const test = suite('bench report');
const folder = makeFolder('rollcall-bench-report-');

const file = (name: string, result: Result): string => {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(result));
  return path;
};
const rounds = (cpuUs: readonly number[]) =>
  resultOf(
    cpuUs.flatMap((us, index) => [
      sampleOf({ round: index + 1, cpuUs: us }),
      sampleOf({ round: index + 1, server: 'bare', cpuUs: 10 }),
    ]),
  );

test('the text names the machine, the ratio, its target, and who let double votes through', () => {
  const text = renderText(rounds([18, 18, 18]));

  assert.match(text, /a processor, 2 cores.*commit abc1234/);
  assert.match(text, /stats +rollcall +bare +1\.80 \(1\.80–1\.80\) +≤ 2\.1 ✓/);
  assert.match(text, /fastify-sql accepted 7; one would be correct/);
});

test('a missed target is marked as missed', () => {
  assert.match(renderText(rounds([30])), /3\.00 \(3\.00–3\.00\) +≤ 2\.1 ✗/);
});

test('the Markdown holds both tables', () => {
  const text = renderMarkdown(rounds([18]));

  assert.match(text, /\| scenario \| ours \| other \|/);
  assert.match(text, /\| stats \| rollcall \| 1,000 \|/);
});

test('the page needs nothing from elsewhere and draws its charts', () => {
  const page = renderHtml({
    ...rounds([18]),
    moments: [0, 1, 2].map((at) => ({ atSeconds: at, residentBytes: 1e8, flushLagSeconds: 0.5 })),
  });

  assert.ok((page.match(/<svg /g) ?? []).length >= 6);
  assert.not.match(page, /<script|<link|src="http|url\(http/);
  assert.match(page, /latency by percentile/);
  assert.match(page, /throughput over time/);
});

test('markup in a name stays text', () => {
  const result = rounds([18]);
  const page = renderHtml({ ...result, machine: { ...result.machine, processor: '<b>fast</b>' } });

  assert.match(page, /&lt;b&gt;fast/);
});

test('a bar shows its lowest and highest round', () => {
  const heights = (cpuUs: readonly number[]): number[] =>
    [...drawCpuBars(rounds(cpuUs)).matchAll(/<path d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)"[^>]*#343a40/g)]
      .filter(([, x1, , x2]) => x1 === x2)
      .map(([, , y1, , y2]) => Math.abs(Number(y1) - Number(y2)));

  assert.ok(Math.max(...heights([20, 30, 50])) > 50);
  assert.ok(Math.max(0, ...heights([30, 30, 30])) < 1);
});

test('failures are reported by status', () => {
  assert.match(renderText(resultOf([sampleOf({ failed: 5 })])), /Failed, stats, rollcall: 503: 5\./);
});

test('an interrupted run says so', () => {
  assert.match(renderText({ ...rounds([18]), interrupted: true }), /Interrupted/);
});

test('ranges that overlap are noise, and so is a small change', () => {
  const before = { median: 10, min: 9, max: 11 };

  assert.is(judgeChange(before, { median: 12, min: 10.5, max: 13 }, true), 'noise');
  assert.is(
    judgeChange({ median: 10, min: 10, max: 10 }, { median: 10.4, min: 10.3, max: 10.5 }, true),
    'noise',
  );
  assert.is(judgeChange(before, { median: 14, min: 13, max: 15 }, true), 'worse');
  assert.is(judgeChange(before, { median: 14, min: 13, max: 15 }, false), 'better');
  assert.is(judgeChange(before, { median: 7, min: 6, max: 8 }, true), 'better');
});

test('compare ends with 1 when something is worse, with 0 otherwise', () => {
  const [slow, fast] = [file('slow.json', rounds([30, 31, 32])), file('fast.json', rounds([20, 21, 22]))];

  assert.is(runCompare([fast, slow]).exitCode, 1);
  assert.match(runCompare([fast, slow]).text, /CPU µs\/request +worse/);
  assert.is(runCompare([slow, fast]).exitCode, 0);
  assert.is(runCompare([slow, slow]).exitCode, 0);
});

test('results of different loads are not compared', () => {
  const other = file('other.json', { ...rounds([20]), connections: 64 });

  const { text, exitCode } = runCompare([file('same.json', rounds([20])), other]);

  assert.is(exitCode, 2);
  assert.match(text, /connections: 256 before, 64 after/);
});

test('a profile is reported by self time, without idle time', () => {
  const node = (id: number, functionName: string) => ({
    id,
    callFrame: { functionName, url: '', lineNumber: 0 },
  });
  const costs = computeCosts({
    nodes: [node(1, '(idle)'), node(2, 'parse'), node(3, 'write')],
    samples: [1, 2, 3, 3],
    timeDeltas: [500, 100, 150, 150],
  });

  assert.equal(
    costs.map(({ name, share }) => [name, share]),
    [
      ['write', 0.75],
      ['parse', 0.25],
    ],
  );
});

test.run();
