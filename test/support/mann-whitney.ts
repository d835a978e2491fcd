/**
 * The Mann–Whitney U test: whether two sets of measurements come from one distribution.
 *
 * By the normal approximation with a correction for ties: exact enough from some dozens of samples on.
 */

/** The chance (two-sided) of a difference at least as large when there is none. */
export const mannWhitney = (left: readonly number[], right: readonly number[]): number => {
  const all = [
    ...left.map((value) => ({ value, left: true })),
    ...right.map((value) => ({ value, left: false })),
  ];
  all.sort((one, other) => one.value - other.value);
  let [ranksOfLeft, ties] = [0, 0];
  for (let from = 0; from < all.length; ) {
    let to = from + 1;
    while (to < all.length && all[to]?.value === all[from]?.value) to++;
    const rank = (from + 1 + to) / 2;
    for (const sample of all.slice(from, to)) if (sample.left) ranksOfLeft += rank;
    ties += (to - from) ** 3 - (to - from);
    from = to;
  }
  const [m, n, total] = [left.length, right.length, all.length];
  const u = ranksOfLeft - (m * (m + 1)) / 2;
  const deviation = Math.sqrt(((m * n) / 12) * (total + 1 - ties / (total * (total - 1))));
  return deviation === 0 ? 1 : 2 * upperTail(Math.abs(u - (m * n) / 2) / deviation);
};

/** Of the standard normal distribution, from 0 on (Abramowitz and Stegun 26.2.17, good to 1e-7). */
const upperTail = (z: number): number => {
  const t = 1 / (1 + 0.2316419 * z);
  const series = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
  const sum = series.reduceRight((inner, factor) => (inner + factor) * t, 0);
  return (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * sum;
};
