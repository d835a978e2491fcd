/**
 * Reports of the bench suite: what they say, that they stand alone, and what a comparison of two concludes.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Report } from '../../bench/command.ts';
import { runCompare } from '../../bench/commands/compare.ts';
import { drawCpuBars } from '../../bench/report/charts.ts';
import { judgeChange } from '../../bench/report/compare.ts';
import { renderHtml } from '../../bench/report/html.ts';
import { computeCosts } from '../../bench/report/profile.ts';
import type { Row } from '../../bench/report/rows.ts';
import { makeFolder } from '../support/folder.ts';
import { reportOf, resultOf, rowOf, toMarkdown, toText } from './samples.ts';

const test = suite('bench report');
const folder = makeFolder('rollcall-bench-report-');

const file = (name: string, result: object): string => {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(result));
  return path;
};
const roundsOf = (cpuUs: readonly number[]): Row[] =>
  cpuUs.flatMap((serverUs, index) => [
    rowOf({ round: index + 1, serverUs }),
    rowOf({ round: index + 1, server: 'bare', serverUs: 10 }),
  ]);
const rounds = (cpuUs: readonly number[]) => reportOf(roundsOf(cpuUs));
const results = (cpuUs: readonly number[]) => resultOf(roundsOf(cpuUs));
const toHtml = ({ parts, charts }: Report): string =>
  renderHtml(parts, charts?.() ?? { wide: [], others: [] });

test('the text names the machine, the ratio, its target, and who let double votes through', () => {
  const text = toText(rounds([18, 18, 18]));

  assert.match(text, /a processor, 2 cores.*commit abc1234/);
  assert.match(text, /stats +rollcall +bare +1\.80 \(1\.80–1\.80\) +≤ 2\.1 ✓/);
  assert.match(text, /fastify-sql accepted 7; one would be correct/);
});

test('a missed target is marked as missed', () => {
  assert.match(toText(rounds([30])), /3\.00 \(3\.00–3\.00\) +≤ 2\.1 ✗/);
});

test('the Markdown holds both tables', () => {
  const text = toMarkdown(rounds([18]));

  assert.match(text, /\| scenario \| ours \| other \|/);
  assert.match(text, /\| stats \| rollcall \| 1,000 \|/);
});

test('the page needs nothing from elsewhere and draws its charts', () => {
  const moments = [0, 1, 2].map((at) => ({ atSeconds: at, residentBytes: 1e8, flushLagSeconds: 0.5 }));

  const page = toHtml(reportOf(roundsOf([18]), { moments }));

  assert.ok((page.match(/<svg /g) ?? []).length >= 6);
  assert.not.match(page, /<script|<link|src="http|url\(http/);
  assert.match(page, /latency by percentile/);
  assert.match(page, /throughput over time/);
});

test('markup in a name stays text', () => {
  assert.match(renderHtml(['<b>fast</b>'], { wide: [], others: [] }), /&lt;b&gt;fast/);
});

test('a bar shows its lowest and highest round', () => {
  const heights = (cpuUs: readonly number[]): number[] =>
    [...drawCpuBars(roundsOf(cpuUs)).matchAll(/<path d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)"[^>]*#343a40/g)]
      .filter(([, x1, , x2]) => x1 === x2)
      .map(([, , y1, , y2]) => Math.abs(Number(y1) - Number(y2)));

  assert.ok(Math.max(...heights([20, 30, 50])) > 50);
  assert.ok(Math.max(0, ...heights([30, 30, 30])) < 1);
});

test('failures are reported by status', () => {
  assert.match(toText(reportOf([rowOf({ failed: 5 })])), /Failed, stats, rollcall: 503: 5\./);
});

test('an interrupted run says so, and so does one with a fault', () => {
  const report = { ...rounds([18]), faults: ['Not measured: vote'] };

  assert.match(toText(report), /✗ Not measured: vote/);
  assert.match(toText({ ...report, isInterrupted: true }), /Interrupted/);
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
  const [slow, fast] = [file('slow.json', results([30, 31, 32])), file('fast.json', results([20, 21, 22]))];

  assert.is(runCompare([fast, slow]).exitCode, 1);
  assert.match(runCompare([fast, slow]).text, /CPU µs\/request +worse/);
  assert.is(runCompare([slow, fast]).exitCode, 0);
  assert.is(runCompare([slow, slow]).exitCode, 0);
});

test('results of different loads are not compared', () => {
  const one = results([20]);
  const other = file('other.json', { ...one, facts: { ...one.facts, connections: 64 } });

  const { text, exitCode } = runCompare([file('same.json', one), other]);

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
