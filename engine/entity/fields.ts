/**
 * The table of what is counted for an entity: one row per field of `Totals`.
 *
 * All else follows this table: the empty value, the checks, what a stats post may set, the packed forms and
 * the positions in Lua (storage/hot), the columns of a flush (storage/ledger/totals.ts), import and export. A
 * field's place in this table is its place on disk: a new one goes to the end, with `array: 'first'` and a
 * migration that adds its column with an empty default; the stores read it as empty from older records.
 * `compile` makes straight code of the table once at start, because every post and every load passes here.
 * Pure.
 */

export const presenceStatuses = ['online', 'idle', 'dnd', 'offline'] as const;
export type PresenceStatus = (typeof presenceStatuses)[number];

/** What values of each kind are, and how SQL stores them. */
export const fieldKinds = {
  /** A safe integer ≥ 0. */
  counter: { empty: 0, column: 'bigint' },
  /** Milliseconds since the epoch; 0 is "never". */
  time: { empty: 0, column: 'bigint' },
  /** An integer from 0 to `statsIntegerMax`, as a decimal string because a number would round it. */
  u64: { empty: '0', column: 'numeric' },
  /** Comma-joined decimal strings of that kind, `''` when empty. */
  list: { empty: '', column: 'text' },
  /** `''` until the first post. */
  status: { empty: '', column: 'text' },
} as const;
export type FieldKind = keyof typeof fieldKinds;

export interface TotalsField {
  readonly kind: FieldKind;
  /** Its column in the table `totals`. */
  readonly column: string;
  /** Its name in records of import and export, and in the body of a post; `null` where it is in none. */
  readonly record: string | null;
  /** Set by a stats post. */
  readonly posted: boolean;
  /** Of the two packed arrays of a slot in Redis the one it is in: a stats post rewrites only the first. */
  readonly array: 'first' | 'rest';
}

const first = { posted: false, array: 'first' } as const;
const posted = { posted: true, array: 'first' } as const;
const rest = { posted: false, array: 'rest' } as const;

export const totalsFields = {
  clicks: { kind: 'counter', column: 'clicks', record: 'clicks', ...rest },
  uniqueClicks: { kind: 'counter', column: 'unique_clicks', record: 'unique_clicks', ...rest },
  inviteClicks: { kind: 'counter', column: 'invite_clicks', record: 'invite_clicks', ...rest },
  /** Votes that are not void. */
  upvotes: { kind: 'counter', column: 'upvotes', record: 'upvotes', ...rest },
  downvotes: { kind: 'counter', column: 'downvotes', record: 'downvotes', ...rest },
  servers: { kind: 'u64', column: 'servers', record: 'servers', ...posted },
  shards: { kind: 'u64', column: 'shards', record: 'shards', ...posted },
  users: { kind: 'u64', column: 'users', record: 'users', ...posted },
  shardList: { kind: 'list', column: 'shard_list', record: 'shard_list', ...posted },
  status: { kind: 'status', column: 'status', record: 'status', ...posted },
  lastStatsPostMs: { kind: 'time', column: 'last_stats_post_ms', record: 'last_stats_post', ...first },
  /** Checks passed and checks made, folded up to `uptimeCheckedMs`. */
  uptime: { kind: 'counter', column: 'uptime', record: 'uptime', ...first },
  totalUptime: { kind: 'counter', column: 'total_uptime', record: 'total_uptime', ...first },
  uptimeCheckedMs: { kind: 'time', column: 'uptime_checked_ms', record: 'uptime_last_checked', ...first },
  /** Votes before this time no longer make their voter wait, unless they are `pinned`. */
  releasedBeforeMs: { kind: 'time', column: 'released_before_ms', record: null, ...rest },
  /** Sequence number of the last adjustment applied. Dense per incarnation, from 1. */
  adjustment: { kind: 'counter', column: 'adjustment', record: null, ...rest },
} as const satisfies Readonly<Record<string, TotalsField>>;

type Table = typeof totalsFields;
export type FieldName = keyof Table;
interface Values {
  counter: number;
  time: number;
  u64: string;
  list: string;
  status: PresenceStatus | '';
}
/** The counters of one entity. Every change creates a new object: a committed state is never modified. */
export type Totals = { readonly [Name in FieldName]: Values[Table[Name]['kind']] };

type PostedName = { [Name in FieldName]: Table[Name]['posted'] extends true ? Name : never }[FieldName];
/** What a stats post sets; absent fields keep their value. */
export type PostedFields = {
  readonly [Name in PostedName]?: Exclude<Totals[Name], Table[Name]['kind'] extends 'status' ? '' : never>;
};

export interface NamedField extends TotalsField {
  readonly name: FieldName;
}
/** The rows of the table, in its order. */
export const fields: readonly NamedField[] = Object.entries(totalsFields).map(([name, field]) => ({
  name: name as FieldName,
  ...field,
}));
export const postedFields = fields.filter((field) => field.posted);
export const postedNames = postedFields.map(({ name }) => name) as readonly PostedName[];

export const emptyTotals = Object.freeze(
  Object.fromEntries(fields.map(({ name, kind }) => [name, fieldKinds[kind].empty])),
) as Totals;

/** Compiles source text, which may use the names in `scope`. The text comes from this table alone. */
export const compile = <Compiled>(source: string, scope: Readonly<Record<string, unknown>> = {}): Compiled =>
  new Function(...Object.keys(scope), `'use strict'; return ${source};`)(...Object.values(scope)) as Compiled;

const digits = /^\d{1,20}$/;
const acceptors = {
  isCounter: (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0,
  isDigits: (value: unknown): boolean => typeof value === 'string' && digits.test(value),
  isText: (value: unknown): boolean => typeof value === 'string',
  isStatus: (value: unknown): boolean =>
    value === '' || (presenceStatuses as readonly unknown[]).includes(value),
};
const acceptorOf = {
  counter: 'isCounter',
  time: 'isCounter',
  u64: 'isDigits',
  list: 'isText',
  status: 'isStatus',
} as const;

/** Whether a value is valid for a field of this kind. */
export const isValid = (kind: FieldKind, value: unknown): boolean => acceptors[acceptorOf[kind]](value);

/** Whether every field has a valid value. */
export const hasValidFields = compile<(totals: Totals) => boolean>(
  `(totals) => ${fields.map(({ name, kind }) => `${acceptorOf[kind]}(totals.${name})`).join(' && ')}`,
  acceptors,
);
