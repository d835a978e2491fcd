/**
 * The screen *Now*: what the node and its fleet do, once a second, and the last 15 minutes as charts.
 */
import type { LiveFrame, LivePoint } from '../../telemetry/node-status.ts';
import { watchLive } from './api.ts';
import { fill, make, makeScroller } from './dom.ts';
import {
  describeFrame,
  describeNodes,
  describeRoutes,
  type FigureGroup,
  type FigureTable,
} from './figures.ts';
import { findLonely, type PointField, toSeries } from './series.ts';

type Plot = import('uplot');

/** Loaded by page.html. */
declare const uPlot: typeof import('uplot');

const pointsMax = 900;

interface ChartPlan {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly (readonly [label: string, field: PointField])[];
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
  { title: 'Commits', unit: 'ms', lines: [['commit', 'hot_store_ms']] },
];

const readColour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const filterPoints = (plot: Plot, at: number): number[] => findLonely([...(plot.data[at] ?? [])]);
const pluckFields = (lines: ChartPlan['lines']): PointField[] => lines.map(([, field]) => field);

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
          spanGaps: false,
          points: { show: false, size: 4, filter: filterPoints },
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
      plot.setData(toSeries(points, pluckFields(lines)));
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

const makeGroup = ({ title, figures }: FigureGroup): HTMLElement =>
  make(
    'section',
    { class: 'group', 'aria-label': title },
    make('h2', {}, title),
    make(
      'dl',
      {},
      ...figures.map(({ label, text, isWrong }) =>
        make('div', { class: isWrong ? 'wrong' : '' }, make('dt', {}, label), make('dd', {}, text)),
      ),
    ),
  );

const makeFigures = ({ caption, titles, rows }: FigureTable): HTMLElement =>
  makeScroller(
    caption,
    make(
      'table',
      { class: 'figures' },
      make('caption', {}, caption),
      make('thead', {}, make('tr', {}, ...titles.map((title) => make('th', { scope: 'col' }, title)))),
      make('tbody', {}, ...rows.map((row) => make('tr', {}, ...row.map((cell) => make('td', {}, cell))))),
    ),
  );

const makeTables = ({ nodes, routes }: LiveFrame): readonly HTMLElement[] => [
  makeFigures(describeNodes(nodes)),
  routes.length === 0
    ? make('p', { class: 'none' }, 'No requests in the last ten seconds.')
    : makeFigures(describeRoutes(routes)),
];

/** Shows the screen; `onState` gets what the header says. Returns what ends it. */
export const showNow = (
  place: HTMLElement,
  onState: (text: string, isWrong: boolean) => void,
): (() => void) => {
  const charts = createCharts();
  const notes = make('div', { class: 'notes', role: 'alert' });
  const groups = make('div', { class: 'groups' });
  const tables = make('div', { class: 'tables' });
  fill(place, make('h1', {}, 'Now'), notes, groups, charts.element, tables);
  charts.start();
  let shownNotes = '';
  const showNotes = (list: readonly string[]): void => {
    if (list.join('\n') === shownNotes) return; // A screen reader would read them again.
    shownNotes = list.join('\n');
    fill(notes, ...list.map((note) => make('p', {}, note)));
  };
  const stop = watchLive({
    onHistory: charts.setPoints,
    onFrame: (frame) => {
      showNotes(frame.notes);
      fill(groups, ...describeFrame(frame).map(makeGroup));
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
