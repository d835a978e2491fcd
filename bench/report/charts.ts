/**
 * Draws charts of a run of the suite as SVG text, with ECharts and without a browser. Pure but for the
 * library. Every server has one colour in all charts.
 */
import { BarChart, CustomChart, LineChart } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components';
import { type EChartsCoreOption, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { percentiles, sliceSeconds } from '../load/order.ts';
import { type ServerName, serverNames } from '../servers/contestants.ts';
import { medianOf, type Row, rateOf, serverOf, type Value } from './rows.ts';
import { computeSpread } from './statistics.ts';
import { type Moment, type Summary, summariseRows } from './summary.ts';

use([BarChart, CustomChart, LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

const colours: Readonly<Record<ServerName, string>> = {
  bare: '#8a94a6',
  rollcall: '#1769e0',
  'rollcall-embedded': '#66a3ff',
  'fastify-redis': '#d9480f',
  'fastify-sql': '#2b8a3e',
};
const ink = '#343a40';

const drawChart = (title: string, option: EChartsCoreOption, [width, height] = [560, 320]): string => {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  chart.setOption({
    animation: false,
    textStyle: { fontFamily: 'system-ui, sans-serif', color: ink },
    title: { text: title, left: 8, top: 6, textStyle: { fontSize: 14, fontWeight: 600, color: ink } },
    legend: { top: 30, left: 4, itemWidth: 14, itemHeight: 9, itemGap: 26, textStyle: { fontSize: 11 } },
    grid: { left: 64, right: 24, top: 64, bottom: 44 },
    ...option,
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
};

const axis = (name: string, nameGap = 44) => ({
  ...{ type: 'value', name, nameLocation: 'middle', nameGap, nameTextStyle: { fontSize: 11 } },
  ...{ axisLabel: { fontSize: 11 }, splitLine: { lineStyle: { color: '#e9ecef' } } },
});

interface Line {
  readonly name: ServerName;
  readonly data: readonly (readonly [number | string, number])[];
}

const drawLines = (
  title: string,
  lines: readonly Line[],
  axes: { readonly x: object; readonly y: object },
): string =>
  drawChart(title, {
    xAxis: axes.x,
    yAxis: axes.y,
    series: lines.map(({ name, data }) => ({
      ...{ name, data, type: 'line', symbolSize: 5, showSymbol: data.length < 20 },
      ...{ lineStyle: { color: colours[name], width: 1.5 }, itemStyle: { color: colours[name] } },
    })),
  });

/* ------------------------------------------------------------------ bars */

const barMaxWidth = 44;
const capWidth = 8;

/** What ECharts gives to the drawing of a custom item. */
interface Drawing {
  value(dimension: number): number;
  coord(point: readonly [number, number]): readonly [number, number];
  barLayout(bars: { readonly count: number; readonly barMaxWidth: number }): readonly {
    readonly offsetCenter: number;
  }[];
}

/** Draws a line from the lowest to the highest round, and the median as a number above it. */
const drawWhisker =
  (bar: { readonly index: number; readonly count: number }, digits: number) =>
  (_: unknown, drawing: Drawing) => {
    const { offsetCenter = 0 } = drawing.barLayout({ count: bar.count, barMaxWidth })[bar.index] ?? {};
    const [category = 0, median = 0, min = 0, max = 0] = [0, 1, 2, 3].map((at) => drawing.value(at));
    const [centre, low] = drawing.coord([category, min]);
    const [, high] = drawing.coord([category, max]);
    const x = centre + offsetCenter;
    const line = ([x1, y1]: readonly number[], [x2, y2]: readonly number[]) => ({
      type: 'line',
      shape: { x1, y1, x2, y2 },
      style: { stroke: ink, lineWidth: 1 },
    });
    const text = median.toLocaleString('en-US', { maximumFractionDigits: digits });
    const style = { text, x, y: high - 3, fill: ink, fontSize: 10, align: 'center', verticalAlign: 'bottom' };
    const caps = [low, high].map((y) => line([x - capWidth / 2, y], [x + capWidth / 2, y]));
    return { type: 'group', children: [line([x, low], [x, high]), ...caps, { type: 'text', style }] };
  };

interface Bars {
  readonly unit: string;
  readonly digits: number;
  readonly pick: (summary: Summary) => readonly Row[];
  readonly value: Value;
}

const drawBars = (title: string, rows: readonly Row[], { unit, digits, pick, value }: Bars): string => {
  const summaries = summariseRows(rows);
  const scenarios = [...new Set(summaries.map(({ scenario }) => scenario))];
  const names = serverNames.filter((name) => summaries.some(({ server }) => server === name));
  const series = names.flatMap((name, index) => {
    const points = summaries
      .filter(({ server }) => server === name)
      .map((one) => ({ at: scenarios.indexOf(one.scenario), ...computeSpread(pick(one).map(value)) }));
    return [
      {
        ...{ name, type: 'bar', barMaxWidth, itemStyle: { color: colours[name] } },
        data: scenarios.map((_, at) => points.find((point) => point.at === at)?.median ?? null),
      },
      {
        ...{ type: 'custom', z: 3, encode: { x: 0, y: [1, 2, 3] } },
        renderItem: drawWhisker({ index, count: names.length }, digits),
        data: points.map(({ at, median, min, max }) => [at, median, min, max]),
      },
    ];
  });
  const xAxis = { type: 'category', data: scenarios, axisTick: { show: false } };
  return drawChart(title, { xAxis, yAxis: axis(unit), series }, [1_140, 340]);
};

export const drawCpuBars = (rows: readonly Row[]): string =>
  drawBars('Server CPU per request (shorter is better; lines: lowest to highest round)', rows, {
    ...{ unit: 'µs', digits: 1, pick: ({ forCpu }) => forCpu, value: serverOf },
  });

export const drawRateBars = (rows: readonly Row[]): string =>
  drawBars('Requests per second (taller is better; lines: lowest to highest round)', rows, {
    ...{ unit: 'requests/s', digits: 0, pick: ({ forRate }) => forRate, value: rateOf },
  });

/* ----------------------------------------------------------------- lines */

/** Latency by percentile of one scenario. */
export const drawLatency = (scenario: string, summaries: readonly Summary[]): string =>
  drawLines(
    `${scenario}: latency by percentile`,
    summaries.map(({ server: name, forRate }) => ({
      name,
      data: percentiles.map((percentile, index) => {
        const ms = medianOf(forRate, ({ latencyMs }) => latencyMs[index] ?? 0);
        return [String(percentile), Math.max(0.01, ms)];
      }),
    })),
    {
      x: { ...axis('percentile', 26), type: 'category', data: percentiles.map(String) },
      y: { ...axis('ms'), type: 'log' },
    },
  );

/** All rounds of each server, one after the other; `null` when the generator does not report slices. */
export const drawThroughput = (scenario: string, summaries: readonly Summary[]): string | null => {
  const toData = ({ forRate }: Summary) =>
    forRate
      .flatMap(({ saturated }) => saturated?.perSlice.slice(0, -1) ?? [])
      .map((count, index) => [Number((index * sliceSeconds).toFixed(1)), count / sliceSeconds] as const);
  const lines = summaries.map((one) => ({ name: one.server, data: toData(one) }));
  const axes = { x: axis('measured seconds, rounds one behind the other', 26), y: axis('requests/s') };
  const isEmpty = lines.every(({ data }) => data.length === 0);
  return isEmpty ? null : drawLines(`${scenario}: throughput over time`, lines, axes);
};

const drawMoments = (
  moments: readonly Moment[],
  title: string,
  [unit, value]: [string, (moment: Moment) => number],
) =>
  drawLines(
    `Rollcall: ${title}`,
    [{ name: 'rollcall', data: moments.map((moment) => [moment.atSeconds, value(moment)]) }],
    { x: axis('seconds of the run', 26), y: axis(unit) },
  );

export const drawMemory = (moments: readonly Moment[]): string =>
  drawMoments(moments, 'memory of the process', ['MiB', ({ residentBytes }) => residentBytes / 2 ** 20]);

export const drawFlushLag = (moments: readonly Moment[]): string =>
  drawMoments(moments, 'age of the oldest change not yet in SQL', [
    's',
    ({ flushLagSeconds }) => flushLagSeconds,
  ]);
