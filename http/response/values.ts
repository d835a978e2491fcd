/**
 * Values of replies: rows, times and votes as the wire shows them. Pure.
 */
import type { Static, TObject } from 'typebox';
import type { HotState } from '../../engine/entity/state.ts';

export const toTimestamp = (date: Date): string => date.toISOString();

/** A value of a row that the wire can show: the same one, or a time where the wire has its text. */
type Stored<Value> = Value extends string
  ? Value | Date
  : Value extends readonly (infer Item)[]
    ? readonly Item[]
    : Value;

/**
 * Builds the object of a schema from the fields of these names in a row; times become text. `computed` are
 * the fields that the row does not have, or has in another form. What else the row has is left out.
 */
export const showRow = <Schema extends TObject, const Computed extends Partial<Static<Schema>> = object>(
  schema: Schema,
  row: { readonly [Name in Exclude<keyof Static<Schema>, keyof Computed>]: Stored<Static<Schema>[Name]> },
  computed?: Computed,
): Static<Schema> => {
  const stored: Readonly<Record<string, unknown>> = row;
  const others: Readonly<Record<string, unknown>> = computed ?? {};
  const shown: Record<string, unknown> = {};
  for (const name of Object.keys(schema.properties)) {
    const value = Object.hasOwn(others, name) ? others[name] : stored[name];
    shown[name] = value instanceof Date ? toTimestamp(value) : value;
  }
  return shown as Static<Schema>;
};

/** JSON text of a time in ms; 0 means never and gives `null`. */
export const renderTimestamp = (atMs: number): string =>
  atMs === 0 ? 'null' : `"${new Date(atMs).toISOString()}"`;

/** Upvotes minus downvotes. */
export const computeVotes = (state: HotState): number => state.upvotes - state.downvotes;
