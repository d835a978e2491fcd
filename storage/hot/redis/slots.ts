/**
 * The form of a slot in Redis: two packed arrays in one value, so that a stats post reads and writes only the
 * first.
 *
 * Packs what an `init` sends and reads the slots of a reply. The order of the values is that of
 * slot-layout.ts. Unsigned 64-bit values are text and stay text. The sums of a bot's parts are one text of
 * doubles, whose order must match the head in `functions/3-parts.lua`. No I/O.
 */
import type { Slot } from '../../../engine/entity/apply.ts';
import { compile, fields, type NamedField } from '../../../engine/entity/fields.ts';
import { checkState } from '../../../engine/entity/snapshot.ts';
import type { HotState, LazyState, PartsState, PartsTable } from '../../../engine/entity/state.ts';
import type { Incarnation } from '../../../engine/ids.ts';
import type { SlotDamage } from './damage.ts';
import type { Value } from './pack.ts';
import { firstFields, restBefore, restFields } from './slot-layout.ts';
import {
  type ByteCursor,
  createCursor,
  skip,
  takeArray,
  takeBytes,
  takeFlag,
  takeNumber,
  takeText,
} from './unpack.ts';

/** Values of the rest that this program reads always; further ones are the SQL row, then the parts if any. */
const restLength = restBefore + restFields.length;
const restLengthWithParts = restLength + 3;

const listValues = (of: readonly NamedField[]): string => of.map(({ name }) => `state.${name}`).join();

/** Packs a clean state into its two arrays. */
export const packState = compile<
  (incarnation: Incarnation, state: HotState) => [first: Value[], rest: Value[]]
>(
  `(incarnation, state) => {
    const { facts } = state;
    return [
      [incarnation, 0, state.version, facts.listed, facts.listedSinceMs, ${listValues(firstFields)}],
      [state.flushedVotes, facts.revision, facts.voteBanned, facts.premiumUntilMs, ${listValues(restFields)}],
    ];
  }`,
);

const isNumber = ({ kind }: NamedField): boolean => kind === 'counter' || kind === 'time';
const takeField = (field: NamedField): string => `${isNumber(field) ? 'takeNumber' : 'takeText'}(cursor)`;
/** Reads a field of the first array. */
const takeFirst = (field: NamedField): string => `const ${field.name} = ${takeField(field)};`;

/** Builds the source of a property of the state; those of the first array are read by then. */
const takeOrName = (field: NamedField): string =>
  field.array === 'first' ? field.name : `${field.name}: ${takeField(field)}`;

/** Reads the totals of the first array, then the rest from its head on. */
const takeTotals = compile<
  (
    cursor: ByteCursor,
    known: { readonly version: number; readonly listed: boolean; readonly listedSinceMs: number },
  ) => { readonly state: HotState; readonly restValues: number }
>(
  `(cursor, { version, listed, listedSinceMs }) => {
    ${firstFields.map(takeFirst).join('\n')}
    const restValues = takeArray(cursor);
    const flushedVotes = takeNumber(cursor);
    const revision = takeNumber(cursor);
    const voteBanned = takeFlag(cursor);
    const premiumUntilMs = takeNumber(cursor);
    const state = {
      ${fields.map(takeOrName).join()},
      facts: { revision, listed, voteBanned, premiumUntilMs, listedSinceMs }, flushedVotes, version,
    };
    return { state, restValues };
  }`,
  { takeArray, takeNumber, takeText, takeFlag },
);

/** Reads what follows the incarnation in a slot with a state. Throws on an invalid state. */
const takeState = (cursor: ByteCursor): HotState => {
  skip(cursor, 1);
  const version = takeNumber(cursor);
  const listed = takeFlag(cursor);
  const known = { version, listed, listedSinceMs: takeNumber(cursor) };
  const { state, restValues } = takeTotals(cursor, known);
  // The SQL row it was initialised from follows; only the Lua functions use it.
  if (restValues >= restLengthWithParts) return addParts(state, cursor);
  skip(cursor, restValues - restLength);
  checkState(state);
  return state;
};

/**
 * Adds a bot's parts. The list of shards is padded while it has a current table (`functions/3-parts.lua`).
 */
const addParts = (state: HotState, cursor: ByteCursor): HotState => {
  skip(cursor, restLengthWithParts - restLength - 1);
  const parts = readPartsState(takeBytes(cursor));
  const shardList = parts.current === null ? state.shardList : state.shardList.replaceAll(' ', '');
  const withParts = { ...state, shardList, parts };
  checkState(withParts);
  return withParts;
};

/**
 * Reads the next slot of a reply; `null` for an empty one, `'damaged'` for one of a form that the functions
 * do not know. Throws on an invalid state.
 */
export const takeSlot = (cursor: ByteCursor): Slot | 'damaged' | null => {
  const length = takeArray(cursor);
  if (length <= 0) return length === 0 ? 'damaged' : null;
  const incarnation = takeNumber(cursor) as Incarnation;
  return { incarnation, state: length === 1 ? null : takeState(cursor) };
};

/** Reads the next value of a reply, a text that is a slot. Reports what is wrong with a damaged one. */
export const takeSlotText = (
  cursor: ByteCursor,
  onDamage: (kind: SlotDamage) => void,
): Slot | 'damaged' | null => {
  const packed = createCursor(takeBytes(cursor));
  try {
    const slot = takeSlot(packed);
    if (slot === 'damaged') onDamage('unknown_form');
    return slot;
  } catch {
    onDamage('unreadable');
    return 'damaged';
  }
};

/**
 * A state that is unpacked at first use. Stores its bytes as text: a view would keep the whole reply in
 * memory.
 */
class PackedState implements LazyState {
  readonly version: number;
  readonly votes: number;
  readonly flushedVotes: number;
  private packed: string;
  private state: HotState | null = null;

  constructor(packed: string, version: number, { votes, flushedVotes }: Votes) {
    this.version = version;
    this.votes = votes;
    this.flushedVotes = flushedVotes;
    this.packed = packed;
  }

  read(): HotState {
    if (this.state === null) {
      const { state } = takeSlot(createCursor(Buffer.from(this.packed, 'latin1'))) as Slot;
      this.state = state as HotState;
      this.packed = '';
    }
    return this.state;
  }
}

const upvotesAt = restBefore + restFields.findIndex(({ name }) => name === 'upvotes');

interface Votes {
  readonly votes: number;
  readonly flushedVotes: number;
}

/**
 * Reads the next slot of a reply without unpacking its state; `null` if it does not hold this listing's
 * state.
 */
export const takeLazyState = (cursor: ByteCursor, incarnation: Incarnation): LazyState | null => {
  const start = cursor.at;
  const length = takeArray(cursor);
  if (length <= 0) return null;
  const storedIncarnation = takeNumber(cursor);
  if (length === 1) return null;
  skip(cursor, 1);
  const version = takeNumber(cursor);
  skip(cursor, length - 3);
  const restValues = takeArray(cursor);
  const flushedVotes = takeNumber(cursor);
  skip(cursor, upvotesAt - 1);
  // Down follows up.
  const votes = takeNumber(cursor) - takeNumber(cursor);
  skip(cursor, restValues - upvotesAt - 2);
  if (storedIncarnation !== incarnation) return null;
  return new PackedState(cursor.bytes.toString('latin1', start, cursor.at), version, { votes, flushedVotes });
};

const doubleBytes = 8;
/** Where the two tables begin in a head. */
const currentAt = 2;
const buildingAt = 11;

const readTable = (head: Buffer, first: number): PartsTable | null => {
  const read = (index: number): number => head.readDoubleLE((first + index) * doubleBytes);
  const shardCount = read(0);
  if (shardCount === 0) return null;
  const live = [read(5), read(6), read(7), read(8)];
  return { shardCount, sinceMs: read(1), seen: read(2), servers: read(3), users: read(4), live };
};

/** Reads the head of a bot's parts. */
export const readPartsState = (head: Buffer): PartsState => ({
  current: readTable(head, currentAt),
  building: readTable(head, buildingAt),
  replaced: head.readDoubleLE(doubleBytes),
  dueMs: head.readDoubleLE(0),
});
