/**
 * One field of each row, for assertions about lists.
 */
export const pluck = (rows: readonly object[], field: string): unknown[] =>
  rows.map((row) => Reflect.get(row, field));
