/**
 * A chart of lines over time. It follows the width of its place and the colours of the page.
 */
import { make } from './dom.ts';
import { findLonely } from './series.ts';

type Plot = import('uplot');
type Values = readonly (number | null)[];
/** Times in seconds, then the values of each line. */
export type ChartData = readonly [times: readonly number[], ...lines: Values[]];

/** Loaded by page.html. */
declare const uPlot: typeof import('uplot');

export interface ChartPlan {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly string[];
  /** Shows so many seconds, also when there are fewer points; absent: whatever there is, by days. */
  readonly seconds?: number;
}

/** A colour of the style: the tone that the page shows, which a canvas cannot choose by itself. */
const readColour = (name: string, place: HTMLElement): string => {
  place.style.color = `var(${name})`;
  const { color } = getComputedStyle(place);
  place.style.color = '';
  return color;
};

const filterPoints = (plot: Plot, at: number): number[] => findLonely([...(plot.data[at] ?? [])]);

/** The axis of times: minutes or days. */
const planTimes = (seconds: number | undefined) =>
  seconds === undefined
    ? { incrs: [86_400, 2 * 86_400], values: '{MM}-{DD}' }
    : { incrs: [60, 300], values: '{HH}:{mm}' };

const createPlot = ({ lines, unit, seconds }: ChartPlan, place: HTMLElement): Plot => {
  const [text, grid] = [readColour('--quiet', place), readColour('--line', place)];
  const axis = {
    stroke: text,
    grid: { stroke: grid, width: 1 },
    ticks: { show: false },
    font: '12px system-ui',
  };
  const strokes = [readColour('--main', place), readColour('--second', place)];
  return new uPlot(
    {
      width: place.clientWidth,
      height: 160,
      cursor: { y: false, points: { size: 6 } },
      legend: { live: true },
      scales: {
        x: {
          range: (_plot: Plot, low: number, high: number) => [
            seconds === undefined ? (low ?? 0) : (high ?? 0) - seconds,
            high ?? 0,
          ],
        },
        y: { range: (_plot: Plot, _low: number, high: number | null) => [0, Math.max(1, (high ?? 0) * 1.1)] },
      },
      axes: [
        { ...axis, size: 30, ...planTimes(seconds) },
        { ...axis, size: 46, space: 36 },
      ],
      series: [
        { label: 'time', value: seconds === undefined ? '{MM}-{DD} {HH}:{mm}' : '{HH}:{mm}:{ss}' },
        ...lines.map((label, at) => ({
          label: `${label} ${unit}`.trim(),
          stroke: strokes[at] ?? text,
          width: 1.5,
          spanGaps: false,
          points: { show: false, size: 4, filter: filterPoints },
        })),
      ],
    },
    [[], ...lines.map(() => [])],
    place,
  );
};

/** Creates a chart without points; `end` stops what watches the page. */
export const createChart = (plan: ChartPlan) => {
  const title = plan.unit === '' ? plan.title : `${plan.title}, ${plan.unit}`;
  const element = make('figure', { class: 'chart' }, make('figcaption', {}, title));
  let data: ChartData = [[], ...plan.lines.map(() => [])];
  let plot: Plot | null = null;
  const draw = (): void => plot?.setData(data as Parameters<Plot['setData']>[0]);
  const rebuild = (): void => {
    plot?.destroy();
    plot = createPlot(plan, element);
    draw();
  };
  const observer = new ResizeObserver(() => {
    const width = element.clientWidth;
    if (plot === null) rebuild();
    else if (width > 0 && width !== plot.width) plot.setSize({ width, height: plot.height });
  });
  observer.observe(element);
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  scheme.addEventListener('change', rebuild);
  return {
    element,
    setData: (next: ChartData): void => {
      data = next;
      draw();
    },
    end: (): void => {
      observer.disconnect();
      scheme.removeEventListener('change', rebuild);
      plot?.destroy();
    },
  };
};
