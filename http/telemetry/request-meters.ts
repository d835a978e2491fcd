/**
 * What dispatch counts for each request.
 */

export interface RequestMeters {
  /** `index` is the route's position in the table, -1 when no route matched. */
  recordAnswer(index: number, status: number, milliseconds: number): void;
}
