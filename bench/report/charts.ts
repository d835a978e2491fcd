/**
 * Draws charts of a result as SVG text, with ECharts and without a browser. Pure but for the library.
 *
 * Every server has one colour in all charts.
 */

import { BarChart, CustomChart, LineChart } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components';
import { type EChartsCoreOption, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { percentiles, sliceSeconds } from '../load/order.ts';
import { type ServerName, serverNames } from '../servers/contestants.ts';
import type { Moment, Result, Sample, ScenarioFigures } from './result.ts';
import type { Spread } from './statistics.ts';

use([BarChart, CustomChart, LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

const colours: Readonly<Record<ServerName, string>> = {
  bare: '#8a94a6',
  rollcall: '#1769e0',
  'rollcall-embedded': '#66a3ff',
  'fastify-redis': '#d9480f',
  'fastify-sql': '#2b8a3e',
};
const ink = '#343a40';
const faint = '#e9ecef';

const legend = { top: 30, left: 4, itemWidth: 14, itemHeight: 9, itemGap: 26, textStyle: { fontSize: 11 } };

interface Chart {
  readonly title: string;
  readonly width?: number;
  readonly height?: number;
  readonly option: EChartsCoreOption;
}

const drawChart = ({ title, width = 560, height = 320, option }: Chart): string => {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  chart.setOption({
    animation: false,
    textStyle: { fontFamily: 'system-ui, sans-serif', color: ink },
    title: { text: title, left: 8, top: 6, textStyle: { fontSize: 14, fontWeight: 600, color: ink } },
    legend,
    grid: { left: 56, right: 24, top: 64, bottom: 44 },
    ...option,
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
};

const axis = (name: string, more: Readonly<Record<string, unknown>> = {}) => ({
  type: 'value',
  name,
  nameLocation: 'middle',
  nameGap: 40,
  nameTextStyle: { fontSize: 11 },
  axisLabel: { fontSize: 11 },
  splitLine: { lineStyle: { color: faint } },
  ...more,
});
const below = { nameGap: 26 };

const presentServers = (scenarios: readonly ScenarioFigures[]): readonly ServerName[] =>
  serverNames.filter((name) => scenarios.some(({ servers }) => servers[name] !== undefined));

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
  (bar: { readonly index: number; readonly count: number }, format: (value: number) => string) =>
  (_: unknown, drawing: Drawing) => {
    const { offsetCenter = 0 } = drawing.barLayout({ count: bar.count, barMaxWidth })[bar.index] ?? {};
    const [category, median, min, max] = [0, 1, 2, 3].map((dimension) => drawing.value(dimension));
    const [centre, lowY] = drawing.coord([category ?? 0, min ?? 0]);
    const [, highY] = drawing.coord([category ?? 0, max ?? 0]);
    const x = centre + offsetCenter;
    const line = (shape: Readonly<Record<'x1' | 'y1' | 'x2' | 'y2', number>>) => ({
      type: 'line',
      shape,
      style: { stroke: ink, lineWidth: 1 },
    });
    const cap = (y: number) => line({ x1: x - capWidth / 2, y1: y, x2: x + capWidth / 2, y2: y });
    const style = { text: format(median ?? 0), x, y: highY - 3, fill: ink, fontSize: 10, align: 'center' };
    return {
      type: 'group',
      children: [
        line({ x1: x, y1: lowY, x2: x, y2: highY }),
        cap(lowY),
        cap(highY),
        { type: 'text', style: { ...style, verticalAlign: 'bottom' } },
      ],
    };
  };

const bars = (
  title: string,
  scenarios: readonly ScenarioFigures[],
  { unit, digits, value }: BarValue,
): string => {
  const names = presentServers(scenarios);
  const format = (shown: number): string => shown.toLocaleString('en-US', { maximumFractionDigits: digits });
  const spreadsOf = (name: ServerName): (Spread | null)[] =>
    scenarios.map(({ servers: { [name]: figures } }) => (figures === undefined ? null : value(figures)));
  return drawChart({
    title,
    width: 1_140,
    height: 340,
    option: {
      xAxis: { type: 'category', data: scenarios.map(({ scenario }) => scenario), axisTick: { show: false } },
      yAxis: axis(unit),
      legend: { ...legend, data: names },
      series: names.flatMap((name, index) => [
        {
          name,
          type: 'bar',
          barMaxWidth,
          itemStyle: { color: colours[name] },
          data: spreadsOf(name).map((spread) => spread?.median ?? null),
        },
        {
          type: 'custom',
          z: 3,
          renderItem: drawWhisker({ index, count: names.length }, format),
          encode: { x: 0, y: [1, 2, 3] },
          data: spreadsOf(name).flatMap((spread, category) =>
            spread === null ? [] : [[category, spread.median, spread.min, spread.max]],
          ),
        },
      ]),
    },
  });
};
type Figures = NonNullable<ScenarioFigures['servers'][ServerName]>;
interface BarValue {
  readonly unit: string;
  readonly digits: number;
  readonly value: (figures: Figures) => Spread;
}

export const drawCpuBars = ({ scenarios }: Result): string =>
  bars(
    'Server CPU per request: the limit, Rollcall, peers (shorter is better; lines: lowest to highest round)',
    scenarios,
    {
      unit: 'µs',
      digits: 1,
      value: ({ cpuUs }) => cpuUs,
    },
  );

export const drawRateBars = ({ scenarios }: Result): string =>
  bars('Requests per second (taller is better; lines: lowest to highest round)', scenarios, {
    unit: 'requests/s',
    digits: 0,
    value: ({ requestsPerSecond }) => requestsPerSecond,
  });

/** Latency by percentile of one scenario. */
export const drawLatency = ({ scenario, servers }: ScenarioFigures): string =>
  drawChart({
    title: `${scenario}: latency by percentile`,
    option: {
      xAxis: {
        ...axis('percentile', below),
        type: 'category',
        data: percentiles.map(String),
      },
      yAxis: { ...axis('ms'), type: 'log' },
      series: presentServers([{ scenario, servers, rounds: 0, ratios: [] }]).map((name) => ({
        name,
        type: 'line',
        symbolSize: 5,
        lineStyle: { color: colours[name], width: 2 },
        itemStyle: { color: colours[name] },
        data: servers[name]?.latencyMs.map((milliseconds) => Math.max(0.01, milliseconds)) ?? [],
      })),
    },
  });

/** All rounds of a server, one after the other, as requests/s in each slice. */
const overTime = (samples: readonly Sample[]): (readonly [number, number])[] =>
  samples
    .flatMap(({ load }) => load.perSlice.slice(0, -1))
    .map((count, index) => [Number((index * sliceSeconds).toFixed(1)), count / sliceSeconds] as const);

/** Throughput over time of one scenario; `null` when the generator does not report it. */
export const drawThroughput = ({ samples }: Result, { scenario }: ScenarioFigures): string | null => {
  const own = samples.filter((sample) => sample.scenario === scenario && sample.load.perSlice.length > 0);
  if (own.length === 0) return null;
  const free = own.filter(({ placement }) => placement === 'free');
  const shown = free.length > 0 ? free : own;
  const names = serverNames.filter((name) => shown.some(({ server }) => server === name));
  return drawChart({
    title: `${scenario}: throughput over time`,
    option: {
      xAxis: axis('measured seconds, rounds one behind the other', below),
      yAxis: axis('requests/s', { nameGap: 44 }),
      grid: { left: 64, right: 24, top: 64, bottom: 44 },
      series: names.map((name) => ({
        name,
        type: 'line',
        showSymbol: false,
        lineStyle: { color: colours[name], width: 1.5 },
        itemStyle: { color: colours[name] },
        data: overTime(shown.filter(({ server }) => server === name)),
      })),
    },
  });
};

const momentChart = (
  moments: readonly Moment[],
  { title, unit, value }: { title: string; unit: string; value: (moment: Moment) => number },
): string =>
  drawChart({
    title,
    option: {
      legend: { show: false },
      grid: { left: 56, right: 24, top: 44, bottom: 44 },
      xAxis: axis('seconds of the run', below),
      yAxis: axis(unit),
      series: [
        {
          type: 'line',
          showSymbol: false,
          areaStyle: { opacity: 0.12 },
          lineStyle: { color: colours.rollcall, width: 1.5 },
          itemStyle: { color: colours.rollcall },
          data: moments.map((moment) => [moment.atSeconds, value(moment)]),
        },
      ],
    },
  });

export const drawMemory = ({ moments }: Result): string =>
  momentChart(moments, {
    title: 'Rollcall: memory of the process',
    unit: 'MiB',
    value: (moment) => moment.residentBytes / 2 ** 20,
  });

export const drawFlushLag = ({ moments }: Result): string =>
  momentChart(moments, {
    title: 'Rollcall: age of the oldest change not yet in SQL',
    unit: 's',
    value: (moment) => moment.flushLagSeconds,
  });
