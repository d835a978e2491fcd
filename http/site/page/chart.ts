/**
 * A chart of one number over time, as SVG. Where there was no sample, the line has a gap.
 */

export interface Series {
  /** RFC 3339. */
  readonly times: readonly string[];
  readonly values: readonly (number | null)[];
}

const [width, height] = [640, 200];
const inner = { left: 8, right: 8, top: 14, bottom: 24 };
const space = 'http://www.w3.org/2000/svg';

const draw = (tag: string, attributes: Readonly<Record<string, string | number>>, text = ''): SVGElement => {
  const element = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.textContent = text;
  return element;
};

const numbers = new Intl.NumberFormat('en');
const formatTime = (time: string, isLong: boolean): string =>
  new Date(time).toLocaleString('en', {
    month: 'short',
    day: 'numeric',
    ...(isLong && { hour: '2-digit', minute: '2-digit' }),
  });

/** Runs of points without a gap, as indexes of the first and the last. */
export const listRuns = (values: Series['values']): readonly (readonly [first: number, last: number])[] => {
  const runs: [number, number][] = [];
  values.forEach((value, index) => {
    const last = runs.at(-1);
    if (value === null) return;
    if (last !== undefined && last[1] === index - 1) last[1] = index;
    else runs.push([index, index]);
  });
  return runs;
};

/** Finds the range of the chart: it leaves room above and below, also for a number that never changes. */
const findBounds = (values: readonly number[]): { readonly low: number; readonly high: number } => {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const margin = Math.max((most - least) * 0.1, 1);
  return { low: least >= 0 ? Math.max(0, least - margin) : least - margin, high: most + margin };
};

interface Scale {
  readonly x: (index: number) => number;
  readonly y: (value: number) => number;
}

const drawRun = ({ x, y }: Scale, values: Series['values'], [first, last]: readonly [number, number]) => {
  const at = (index: number): string => `${x(index).toFixed(1)},${y(values[index] ?? 0).toFixed(1)}`;
  if (first === last)
    return [draw('circle', { class: 'dot', cx: x(first), cy: y(values[first] ?? 0), r: 2.5 })];
  const points = Array.from({ length: last - first + 1 }, (_, step) => at(first + step)).join(' L');
  const floor = height - inner.bottom;
  return [
    draw('path', { class: 'area', d: `M${x(first)},${floor} L${points} L${x(last)},${floor} Z` }),
    draw('path', { class: 'line', d: `M${points}` }),
  ];
};

/** Renders the chart, and below it a text with the value at the cursor; arrow keys move the cursor. */
export const renderChart = ({ times, values }: Series, title: string): readonly Element[] => {
  const known = values.filter((value) => value !== null);
  const readout = document.createElement('p');
  readout.className = 'readout';
  if (known.length === 0) {
    readout.textContent = 'There are no samples of this time yet.';
    return [readout];
  }
  const { low, high } = findBounds(known);
  const scale: Scale = {
    x: (index) => inner.left + (index / Math.max(1, times.length - 1)) * (width - inner.left - inner.right),
    y: (value) =>
      height - inner.bottom - ((value - low) / (high - low)) * (height - inner.top - inner.bottom),
  };
  const [first = '', last = ''] = [times[0], times.at(-1)];
  const [least, most] = [Math.min(...known), Math.max(...known)].map((value) => numbers.format(value));
  const period = `${formatTime(first, false)} to ${formatTime(last, false)}`;
  const summary = `${title}: ${least} to ${most}, ${period}`;
  const chart = draw('svg', {
    class: 'chart',
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    tabindex: 0,
    'aria-label': summary,
  });
  const floor = height - inner.bottom;
  const cursor = draw('line', { class: 'cursor', y1: inner.top, y2: floor, visibility: 'hidden' });
  chart.append(
    draw('line', { class: 'rule', x1: 0, x2: width, y1: floor, y2: floor }),
    draw('line', { class: 'rule', x1: 0, x2: width, y1: inner.top, y2: inner.top }),
    ...listRuns(values).flatMap((run) => drawRun(scale, values, run)),
    draw('text', { x: inner.left, y: inner.top - 3 }, numbers.format(Math.round(high))),
    draw('text', { x: inner.left, y: floor - 4 }, numbers.format(Math.round(low))),
    draw('text', { x: inner.left, y: height - 6 }, formatTime(first, false)),
    draw('text', { x: width - inner.right, y: height - 6, 'text-anchor': 'end' }, formatTime(last, false)),
    cursor,
  );
  readout.textContent = summary;
  const show = (index: number): void => {
    const value = values[index] ?? null;
    cursor.setAttribute('visibility', 'visible');
    for (const end of ['x1', 'x2']) cursor.setAttribute(end, String(scale.x(index)));
    const what = value === null ? 'no sample' : `${numbers.format(value)} ${title.toLowerCase()}`;
    readout.textContent = `${formatTime(times[index] ?? '', true)}: ${what}`;
  };
  listenToCursor(chart, times.length, show);
  return [chart, readout];
};

const listenToCursor = (chart: Element, points: number, show: (index: number) => void): void => {
  let at = points - 1;
  const move = (index: number): void => {
    at = Math.min(points - 1, Math.max(0, index));
    show(at);
  };
  chart.addEventListener('pointermove', (event) => {
    const { left, width: shown } = chart.getBoundingClientRect();
    move(Math.round((((event as PointerEvent).clientX - left) / shown) * (points - 1)));
  });
  chart.addEventListener('keydown', (event) => {
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      Home: -points,
      End: points,
    };
    const step = steps[(event as KeyboardEvent).key];
    if (step === undefined) return;
    event.preventDefault();
    move(at + step);
  });
};
