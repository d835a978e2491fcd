/**
 * Values of every field of `engine/entity/fields.ts`, so that a store that forgets a field is noticed: a new
 * field is in all that is generated from here.
 */
import {
  type FieldKind,
  fieldKinds,
  fields,
  type PostedFields,
  postedFields,
  presenceStatuses,
  type Totals,
} from '../../engine/entity/fields.ts';

/** Values of each kind beside the empty one. */
export const samples = {
  counter: [3, 7],
  time: [Date.UTC(2026, 10, 19, 12), Date.UTC(2026, 10, 19, 19, 59)],
  u64: ['12', '18446744073709551615'],
  list: ['1,2', '9007199254740993'],
  status: presenceStatuses,
} as const satisfies Readonly<Record<FieldKind, readonly unknown[]>>;

const isValidTotals = ({ uptime, totalUptime }: Totals): boolean => uptime <= totalUptime;

/** Totals in which every field has a value of its kind, empty ones among them. */
export const pickTotals = (pick: <Value>(values: readonly Value[]) => Value): Totals => {
  const pickField = (kind: FieldKind) => pick<unknown>([fieldKinds[kind].empty, ...samples[kind]]);
  const totals = Object.fromEntries(fields.map(({ name, kind }) => [name, pickField(kind)])) as Totals;
  return isValidTotals(totals) ? totals : { ...totals, totalUptime: totals.uptime };
};

/** Totals without an empty value, those of one kind different from each other. */
export const fullTotals = Object.fromEntries(
  fields.map(({ name, kind }, index) => {
    if (kind === 'status') return [name, 'dnd'];
    const number = 1_000 + index;
    return [name, kind === 'counter' || kind === 'time' ? number : `${number}`];
  }),
) as unknown as Totals;

/** One post for each field that a post may set, which sets that field alone. */
export const singlePosts: readonly PostedFields[] = postedFields.map(({ name, kind }) => ({
  [name]: samples[kind].at(-1),
}));

/** A post of some of the fields. */
export const pickPost = (pick: <Value>(values: readonly Value[]) => Value): PostedFields =>
  Object.fromEntries(
    postedFields.flatMap(({ name, kind }) =>
      pick([true, false]) ? [[name, pick<unknown>([fieldKinds[kind].empty, ...samples[kind]])]] : [],
    ),
  );
