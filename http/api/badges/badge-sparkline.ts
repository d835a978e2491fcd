/**
 * Sparklines: the last seven days of one number as a line of 120 × 30 pixels.
 *
 * Reads the history of the listing once per hour and listing; the picture is kept until the next hour, one
 * for all colours. Where no sample ran, the line has a gap, also when samples have ended for good.
 */
import type { EntityKind, EntityRef } from '../../../engine/ids.ts';
import type { App } from '../../app.ts';
import { buildSeries, listSteps, listTimes } from '../history/history-points.ts';
import { formatInteger } from './badge-values.ts';

type Metric = 'servers' | 'users' | 'shards' | 'clicks' | 'votes';

const metricsByKind: Readonly<Record<EntityKind, readonly Metric[]>> = {
  bot: ['servers', 'users', 'shards', 'clicks', 'votes'],
  server: ['clicks', 'votes'],
  team: ['votes'],
  pack: ['votes'],
};

const prefix = 'spark-';

/** The metric of a file name such as `spark-votes`, `null` when entities of this kind have none. */
export const findSparkMetric = (kind: EntityKind, name: string): Metric | null =>
  metricsByKind[kind].find((metric) => `${prefix}${metric}` === name) ?? null;

const width = 120;
const height = 30;
const margin = 2;
const weekMinutes = 7 * 1_440;

/** As shields.io draws them. */
const colors: Readonly<Record<string, string>> = {
  brightgreen: '#4c1',
  success: '#4c1',
  green: '#97ca00',
  yellow: '#dfb317',
  yellowgreen: '#a4a61d',
  orange: '#fe7d37',
  important: '#fe7d37',
  red: '#e05d44',
  critical: '#e05d44',
  blue: '#007ec6',
  informational: '#007ec6',
  grey: '#555',
  gray: '#555',
  lightgrey: '#9f9f9f',
  lightgray: '#9f9f9f',
  inactive: '#9f9f9f',
};

/** The path of the line: runs of values, each moved to its place; a single value is a dot. */
export const renderSparkPath = (values: readonly (number | null)[]): string => {
  const known = values.filter((value) => value !== null);
  const least = Math.min(...known);
  const span = Math.max(...known) - least;
  const stepX = (width - 2 * margin) / Math.max(1, values.length - 1);
  const toY = (value: number): string => {
    const share = span === 0 ? 0.5 : (value - least) / span;
    return (height - margin - share * (height - 2 * margin)).toFixed(1);
  };
  let path = '';
  values.forEach((value, index) => {
    if (value === null) return;
    const isFirst = index === 0 || values[index - 1] === null;
    const point = `${(margin + index * stepX).toFixed(1)} ${toY(value)}`;
    path += isFirst ? `M${point}h0` : `L${point}`;
  });
  return path;
};

/** In a kept picture: no colour contains it. */
const anyColor = '{color}';

const renderSvg = (values: readonly (number | null)[], metric: string): string => {
  const last = values.findLast((value) => value !== null) ?? null;
  const shown = last === null ? 'no data' : formatInteger(String(last), false);
  const title = `${metric}, 7 days: ${shown}`;
  const line = `fill="none" stroke="${anyColor}" stroke-width="1.5" stroke-linecap="round"`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" role="img" ` +
    `aria-label="${title}"><title>${title}</title><path d="${renderSparkPath(values)}" ${line}/></svg>`
  );
};

/** Clicks are drawn per step, other numbers as they were. */
export const renderSparkline = async (
  app: App,
  ref: EntityRef,
  { metric, color = 'blue' }: { metric: Metric; color?: string | undefined },
): Promise<string> => {
  const [step] = listSteps(app.settings).filter(({ keptMinutes, level }) => {
    return level !== 'fine' && keptMinutes >= weekMinutes;
  });
  const known = await app.catalogue.history.times();
  const { level, minutes } = step ?? { level: 'days', minutes: 1_440 };
  const newest = known[level].at(-1) ?? 0;
  // A step is rolled up soon after its end; the week goes on without samples, too.
  const ended = (Math.floor(app.clock.nowMs() / (minutes * 60_000)) - 1) * minutes;
  const to = Math.max(newest, ended);
  const from = Math.max(0, to - weekMinutes);
  const { text } = await app.history.get(`spark ${ref.incarnation} ${metric} ${level} ${to}`, async () => {
    const rows = newest === 0 ? [] : await app.catalogue.history.rows(ref, { level, from, to });
    return () => {
      const times = listTimes({ from, to }, { minutes });
      const metrics = [metric];
      const series = buildSeries({ times, rows, known: new Set(known[level]), metrics, change: true });
      const values = (series.get(metric) ?? []).map((value) => (value === 'null' ? null : Number(value)));
      return renderSvg(values, metric);
    };
  });
  return text.replace(anyColor, colors[color] ?? `#${color}`);
};
