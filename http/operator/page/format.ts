/**
 * Formats numbers and times for people. Pure: also used by the command line.
 */

/** `1 234 567`: readable in any language. */
export const formatCount = (count: number): string => count.toLocaleString('en').replaceAll(',', ' ');

/** `1 bot`, `2 bots`. */
export const formatCounted = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;

/** Two decimals below 10, one below 100, none above; `–` for what was not measured. */
export const formatNumber = (value: number | null): string => {
  if (value === null) return '–';
  return value >= 100 ? formatCount(Math.round(value)) : String(Number(value.toFixed(value < 10 ? 2 : 1)));
};

/** `3 d 4 h`, `5 min 6 s`: the two largest units. */
export const formatDuration = (seconds: number): string => {
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [Math.floor(seconds) % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return '0 s';
  return parts
    .slice(first, first + 2)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
};

const totalWords = { exact: '', about: 'about ', at_least: 'at least ' } as const;

/** `at least 10 000`, from an answer that is a list. */
export const formatTotal = ({ total, total_is }: { total?: unknown; total_is?: unknown }): string =>
  totalWords[total_is as keyof typeof totalWords] + formatCount(Number(total));
