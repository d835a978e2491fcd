/**
 * The text and colour of a badge, by metric, and the values of a card. Pure.
 *
 * Integers are decimal strings: posted ones exceed 2^53.
 */
import type { EntityView } from '../../../engine/engine.ts';
import { computeVotes } from '../../../engine/entity/state.ts';
import type { EntityKind } from '../../../engine/ids.ts';
import type { Rank } from '../../../engine/rules/boards.ts';
import { computePresence } from '../../../engine/rules/presence.ts';

/** What a badge shows of a listed entity. */
export interface BadgeTarget {
  readonly name: string;
  readonly view: EntityView;
  /** Of a server: all members, and those online. */
  readonly members: { readonly total: number; readonly online: number } | null;
  /** On the board of votes; `null` without a position. */
  readonly rank: Rank | null;
}

export interface BadgeValue {
  readonly message: string;
  readonly color: string;
}

type Metric = 'votes' | 'servers' | 'users' | 'shards' | 'uptime' | 'status' | 'clicks' | 'rank';

const metricsByKind: Readonly<Record<EntityKind, readonly Metric[]>> = {
  bot: ['votes', 'servers', 'users', 'shards', 'uptime', 'status', 'clicks', 'rank'],
  server: ['votes', 'users', 'clicks', 'rank'],
  team: ['votes'],
  pack: ['votes'],
};

/** The metric of this name, `null` when entities of this kind do not have it. */
export const findMetric = (kind: EntityKind, name: string): Metric | null =>
  metricsByKind[kind].find((metric) => metric === name) ?? null;

/** Text on the left of a badge that names none. */
export const toLabel = (kind: EntityKind, metric: string): string =>
  kind === 'server' && metric === 'users' ? 'members' : metric;

const suffixes = 'kMGTPE';

/** `1234567` → `1.2M`: two digits at most, never rounded up. */
const shorten = (digits: string): string => {
  const steps = Math.floor((digits.length - 1) / 3);
  if (steps === 0) return digits;
  const whole = digits.slice(0, digits.length - 3 * steps);
  const tenths = digits[whole.length];
  return `${whole}${whole.length === 1 && tenths !== '0' ? `.${tenths}` : ''}${suffixes[steps - 1]}`;
};

/** Takes a decimal integer. Returns `1,234,567`, or `1.2M` when compact. */
export const formatInteger = (decimal: string, compact: boolean): string => {
  if (!compact) return BigInt(decimal).toLocaleString('en-US');
  const sign = decimal.startsWith('-') ? '-' : '';
  return sign + shorten(decimal.slice(sign.length));
};

const uptimeColors: readonly (readonly [number, string])[] = [
  [99, 'brightgreen'],
  [95, 'green'],
  [90, 'yellow'],
  [75, 'orange'],
  [0, 'red'],
];

const statusColors = { online: 'brightgreen', idle: 'yellow', dnd: 'red', offline: 'lightgrey' } as const;

/** Rounded down to a tenth of a percent, so that `100%` is not shown after a failed check. */
const readUptime = ({ uptime, totalUptime }: EntityView['state']): BadgeValue => {
  if (totalUptime === 0) return { message: 'no data', color: 'lightgrey' };
  const percent = Math.floor((uptime * 1_000) / totalUptime) / 10;
  const [, color = 'red'] = uptimeColors.find(([least]) => percent >= least) ?? [];
  return { message: `${percent}%`, color };
};

const readInteger = ({ view, members }: BadgeTarget, metric: Metric): string => {
  const { state } = view;
  switch (metric) {
    case 'votes':
      return String(computeVotes(state));
    case 'clicks':
      return String(state.clicks);
    case 'users':
      return members === null ? state.users : String(members.total);
    default:
      return metric === 'shards' ? state.shards : state.servers;
  }
};

/** `#12`, or `~#4,210` for a position that may be off by 0.1 %. */
const readRank = ({ rank }: BadgeTarget, compact: boolean): BadgeValue => {
  if (rank === null) return { message: 'unranked', color: 'lightgrey' };
  const position = formatInteger(String(rank.position), compact);
  return { message: `${rank.exact ? '' : '~'}#${position}`, color: 'blue' };
};

export interface ReadOptions {
  readonly metric: Metric;
  readonly compact: boolean;
  readonly nowMs: number;
}

export const readValue = (target: BadgeTarget, { metric, compact, nowMs }: ReadOptions): BadgeValue => {
  if (metric === 'uptime') return readUptime(target.view.state);
  if (metric === 'rank') return readRank(target, compact);
  if (metric === 'status') {
    const status = computePresence(target.view.state, nowMs);
    return { message: status, color: statusColors[status] };
  }
  return { message: formatInteger(readInteger(target, metric), compact), color: 'blue' };
};

export interface CardValue {
  readonly label: string;
  readonly value: string;
}

/** More characters do not fit into a third of a card. */
const cardCharactersMax = 11;

const formatForCard = (decimal: string): string => {
  const whole = formatInteger(decimal, false);
  return whole.length > cardCharactersMax ? formatInteger(decimal, true) : whole;
};

/** Up to three numbers of a card. */
export const listCardValues = (kind: EntityKind, target: BadgeTarget): readonly CardValue[] => {
  const metrics: readonly Metric[] =
    kind === 'bot' ? ['servers', 'users', 'votes'] : kind === 'server' ? ['users', 'votes'] : ['votes'];
  const values = metrics.map((metric) => ({
    label: toLabel(kind, metric),
    value: formatForCard(readInteger(target, metric)),
  }));
  if (target.members === null) return values;
  return [...values, { label: 'online', value: formatForCard(String(target.members.online)) }];
};
