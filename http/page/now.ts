/**
 * The screen *Now*: what the node and its fleet do, once a second, and the last 15 minutes as charts. Shows
 * the same frames as `ops top`.
 */
import type { LiveFrame, LivePoint } from '../telemetry/node-status.ts';
import { watchLive } from './api.ts';
import { type Child, fill, formatCount, formatDuration, formatNumber, make } from './dom.ts';

type Plot = import('uplot');
/** Loaded by page.html. */
declare const uPlot: typeof import('uplot');

const pointsMax = 900;

interface ChartPlan {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly (readonly [label: string, field: Exclude<keyof LivePoint, 'at_ms'>])[];
}
const plans: readonly ChartPlan[] = [
  {
    title: 'Requests',
    unit: '/s',
    lines: [
      ['all', 'requests_per_s'],
      ['failed', 'failures_per_s'],
    ],
  },
  {
    title: 'Response time',
    unit: 'ms',
    lines: [
      ['p50', 'p50_ms'],
      ['p99', 'p99_ms'],
    ],
  },
  { title: 'Hot store', unit: 'ms', lines: [['commit', 'hot_store_ms']] },
];

const readColour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const createPlot = (plan: ChartPlan, place: HTMLElement): Plot => {
  const [text, grid] = [readColour('--quiet'), readColour('--line')];
  const axis = {
    stroke: text,
    grid: { stroke: grid, width: 1 },
    ticks: { show: false },
    font: '12px system-ui',
  };
  const strokes = [readColour('--first'), readColour('--second')];
  return new uPlot(
    {
      width: place.clientWidth,
      height: 160,
      cursor: { y: false, points: { size: 6 } },
      legend: { live: true },
      scales: {
        // The last 15 minutes, also when there are fewer points.
        x: { range: (_plot: Plot, _low: number, high: number) => [(high ?? 0) - pointsMax, high ?? 0] },
        y: { range: (_plot: Plot, _low: number, high: number | null) => [0, Math.max(1, (high ?? 0) * 1.1)] },
      },
      axes: [
        { ...axis, size: 30, incrs: [60, 300], values: '{HH}:{mm}' },
        { ...axis, size: 46, space: 36 },
      ],
      series: [
        { label: 'time', value: '{HH}:{mm}:{ss}' },
        ...plan.lines.map(([label], at) => ({
          label: `${label} ${plan.unit}`,
          stroke: strokes[at] ?? text,
          width: 1.5,
          spanGaps: true,
          points: { show: false },
        })),
      ],
    },
    [[], ...plan.lines.map(() => [])],
    place,
  );
};

/** The charts, and how to give them points and to end them. */
const createCharts = () => {
  const places = plans.map((plan) =>
    make('figure', { class: 'chart' }, make('figcaption', {}, `${plan.title}, ${plan.unit}`)),
  );
  let points: LivePoint[] = [];
  let plots: Plot[] = [];
  const draw = (): void =>
    plots.forEach((plot, at) => {
      const lines = plans[at]?.lines ?? [];
      const times = points.map(({ at_ms }) => at_ms / 1_000);
      plot.setData([times, ...lines.map(([, field]) => points.map((point) => point[field]))]);
    });
  const rebuild = (): void => {
    for (const plot of plots) plot.destroy();
    plots = plans.map((plan, at) => createPlot(plan, places[at] as HTMLElement));
    draw();
  };
  const observer = new ResizeObserver(() => {
    if (plots.length === 0) rebuild();
    plots.forEach((plot, at) => {
      const width = places[at]?.clientWidth ?? 0;
      if (width > 0 && width !== plot.width) plot.setSize({ width, height: plot.height });
    });
  });
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  scheme.addEventListener('change', rebuild);
  return {
    element: make('div', { class: 'charts' }, ...places),
    start: () => places[0] && observer.observe(places[0]),
    setPoints: (next: readonly LivePoint[]) => {
      points = next.slice(-pointsMax);
      draw();
    },
    addPoint: (point: LivePoint) => {
      if (points.at(-1)?.at_ms !== point.at_ms) points = [...points, point].slice(-pointsMax);
      draw();
    },
    end: () => {
      observer.disconnect();
      scheme.removeEventListener('change', rebuild);
      for (const plot of plots) plot.destroy();
    },
  };
};

const makeTile = (label: string, value: string, isWrong = false): HTMLElement =>
  make('div', { class: isWrong ? 'tile wrong' : 'tile' }, make('dt', {}, label), make('dd', {}, value));

/** A number that should be 0. */
const makeZeroTile = (label: string, count: number): HTMLElement =>
  makeTile(label, formatNumber(count), count > 0);

const makeTiles = (frame: LiveFrame): readonly HTMLElement[] => [
  makeTile('Requests', `${formatNumber(frame.requests_per_s)} /s`),
  makeTile('Time p50', `${formatNumber(frame.p50_ms)} ms`),
  makeTile('Time p99', `${formatNumber(frame.p99_ms)} ms`),
  makeZeroTile('Failed /s', frame.failures_per_s),
  makeTile('Commit', `${formatNumber(frame.hot_store_ms)} ms`),
  makeTile('Items/commit', formatNumber(frame.items_per_commit)),
  makeTile('Flush', `${formatNumber(frame.sql_ms)} ms`),
  makeTile('Flush lag', `${formatNumber(frame.flush_lag_s)} s`),
  makeTile('Backlog', formatCount(frame.backlog_entities)),
  makeTile('Votes not in SQL', formatCount(frame.outbox_votes)),
  makeZeroTile('Dead letters', frame.dead_letters),
  makeZeroTile('Failed jobs', frame.job_failures),
  makeZeroTile('Failed flushes', frame.flush_failures),
  makeTile('Webhooks due', formatCount(frame.webhooks.pending)),
  makeZeroTile('Webhooks failing', frame.webhooks.failing),
  makeTile('Memory, CPU', `${formatCount(frame.memory_mb)} MB, ${frame.cpu_percent} %`),
];

/** A table whose first column is text and whose others are numbers. */
const makeFigures = (caption: string, titles: readonly string[], rows: readonly (readonly Child[])[]) =>
  make(
    'div',
    { class: 'scroll' },
    make(
      'table',
      { class: 'figures' },
      make('caption', {}, caption),
      make('thead', {}, make('tr', {}, ...titles.map((title) => make('th', { scope: 'col' }, title)))),
      make('tbody', {}, ...rows.map((row) => make('tr', {}, ...row.map((cell) => make('td', {}, cell))))),
    ),
  );

const makeTables = ({ nodes, routes }: LiveFrame): readonly HTMLElement[] => [
  makeFigures(
    'Nodes',
    ['Node', 'Up', 'Requests /s', 'Hot ms', 'SQL ms', 'Backlog', 'Lag s', 'Version'],
    nodes.map(({ node, version, figures }) => [
      node,
      formatDuration(figures.uptime_s),
      formatNumber(figures.requests_per_s),
      formatNumber(figures.hot_store_ms),
      formatNumber(figures.sql_ms),
      formatCount(figures.backlog_entities),
      formatNumber(figures.flush_lag_s),
      version,
    ]),
  ),
  routes.length === 0
    ? make('p', { class: 'none' }, 'No requests in the last ten seconds.')
    : makeFigures(
        'Busiest routes of this node, last ten seconds',
        ['Route', 'Requests /s', 'p50 ms', 'p99 ms', 'Failed /s'],
        routes.map((row) => [
          row.route,
          formatNumber(row.requests_per_s),
          formatNumber(row.p50_ms),
          formatNumber(row.p99_ms),
          formatNumber(row.failures_per_s),
        ]),
      ),
];

/** Shows the screen; `onState` gets what the header says. Returns what ends it. */
export const showNow = (
  place: HTMLElement,
  onState: (text: string, isWrong: boolean) => void,
): (() => void) => {
  const charts = createCharts();
  const notes = make('ul', { class: 'notes', role: 'alert' });
  const tiles = make('dl', { class: 'tiles' });
  const tables = make('div', { class: 'tables' });
  fill(place, make('h1', {}, 'Now'), notes, tiles, charts.element, tables);
  charts.start();
  let shownNotes = '';
  const showNotes = (list: readonly string[]): void => {
    if (list.join('\n') === shownNotes) return; // A screen reader would read them again.
    shownNotes = list.join('\n');
    fill(notes, ...list.map((note) => make('li', {}, note)));
  };
  const stop = watchLive({
    onHistory: charts.setPoints,
    onFrame: (frame) => {
      showNotes(frame.notes);
      fill(tiles, ...makeTiles(frame));
      fill(tables, ...makeTables(frame));
      charts.addPoint(frame);
      onState(`${frame.node} · ${frame.ready ? 'ready' : 'not ready'}`, !frame.ready);
    },
    onCut: (reason) => {
      showNotes([`${reason} Trying again. The figures below are old.`]);
      onState('no connection', true);
    },
  });
  return () => {
    stop();
    charts.end();
  };
};
