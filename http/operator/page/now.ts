/**
 * The screen *Now*: what the node and its fleet do, once a second, and the last 15 minutes as charts.
 */
import type { LiveFrame, LivePoint } from '../../telemetry/node-status.ts';
import { watchLive } from './api.ts';
import { type ChartPlan, createChart } from './charts.ts';
import { fill, make, makeScroller } from './dom.ts';
import {
  describeFrame,
  describeNodes,
  describeRoutes,
  type FigureGroup,
  type FigureTable,
} from './figures.ts';
import { type PointField, toSeries } from './series.ts';

const pointsMax = 900;

interface LivePlan extends Omit<ChartPlan, 'lines'> {
  /** The field of each line, by its label. */
  readonly lines: Readonly<Record<string, PointField>>;
}

const plans: readonly LivePlan[] = [
  { title: 'Requests', unit: '/s', lines: { all: 'requests_per_s', failed: 'failures_per_s' } },
  { title: 'Response time', unit: 'ms', lines: { p50: 'p50_ms', p99: 'p99_ms' } },
  { title: 'Commits', unit: 'ms', lines: { commit: 'hot_store_ms' } },
];

/** The charts of the last 15 minutes, and how to give them points and to end them. */
const createCharts = () => {
  const charts = plans.map(({ lines, ...plan }) => ({
    ...createChart({ ...plan, seconds: pointsMax, lines: Object.keys(lines) }),
    fields: Object.values(lines),
  }));
  let points: LivePoint[] = [];
  const setPoints = (next: readonly LivePoint[]): void => {
    points = next.slice(-pointsMax);
    for (const { setData, fields } of charts) setData(toSeries(points, fields));
  };
  return {
    element: make('div', { class: 'charts' }, ...charts.map(({ element }) => element)),
    setPoints,
    addPoint: (point: LivePoint) =>
      setPoints(points.at(-1)?.at_ms === point.at_ms ? points : [...points, point]),
    end: () => {
      for (const { end } of charts) end();
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
