/**
 * The layout of a slot in Redis, made from `engine/entity/fields.ts`: which value is at which position, and
 * the part of the function library that follows from it.
 *
 * In functions/*.lua a name in capitals that is in `names` stands for a number or a format. library.ts
 * replaces it, because local variables would be slower and a library may have only 200. The Lua code that
 * depends on the table of fields is written here. Pure; made once at start.
 */
import assert from 'node:assert/strict';
import { fieldKinds, fields, type NamedField, postedFields } from '../../../engine/entity/fields.ts';

export const firstFields = fields.filter(({ array }) => array === 'first');
export const restFields = fields.filter(({ array }) => array === 'rest');

/** Values before the totals in each array. */
const firstHead = ['INCARNATION', 'SINCE', 'VERSION', 'LISTED', 'LISTED_SINCE'];
const restHead = ['FLUSHED', 'REVISION', 'BANNED', 'PREMIUM_UNTIL'];
export const firstBefore = firstHead.length;
export const restBefore = restHead.length;
/** Values of the first array. */
export const firstLength = firstBefore + firstFields.length;
// A later field here would follow the parts, which many records lack.
assert.equal(restFields.length, 7, 'a new field belongs to the first array');

/** Converts a name to Lua's: `lastStatsPostMs` is LAST_STATS_POST_MS there. */
const toConstant = (name: string): string => name.replace(/[A-Z]/g, '_$&').toUpperCase();
const toConstants = (of: readonly NamedField[]): readonly string[] => of.map(({ name }) => toConstant(name));

/** An open slot: its address and what changed, the values of the first array, where the rest begins. */
const openSlot = [
  ...['ADDRESS', 'PACKED', 'CHANGED', 'EXISTS', 'STORED_SINCE', 'REST', 'LISTING', 'VISITORS'],
  ...[...firstHead, ...toConstants(firstFields), 'REST_AT'],
];
/** The SQL row that the listing comes from and the parts follow the totals; records may end before either. */
const rest = [...restHead, ...toConstants(restFields), 'BASE_GENERATION', 'BASE_VERSION', 'PARTS'];

/** Heads: of an array of up to 15 values, of a longer one, of a double, of a text below 256 bytes. */
const [shortArray, longArray, double, shortText] = [0x90, 0xdc, 0xcb, 0xd9];
const isShort = firstLength < 16;
const isText = ({ kind }: NamedField): boolean => typeof fieldKinds[kind].empty === 'string';
const listFirst = (text: string, number: string): string =>
  firstFields.map((field) => (isText(field) ? text : number)).join('');

const toNumbers = (of: readonly string[]) => Object.fromEntries(of.map((name, index) => [name, index + 1]));
/** What a name in the Lua sources stands for. */
export const names: Readonly<Record<string, number | string>> = {
  ...toNumbers(openSlot),
  ...toNumbers(rest),
  FIRST_LENGTH: firstLength,
  HEAD_BYTES: isShort ? 1 : 3,
  /** The last byte of the head of a first array. */
  HEAD_END: isShort ? shortArray + firstLength : firstLength,
  DOUBLE: double,
  // Heads and the lengths of texts are skipped or read as numbers.
  FIRST_READ: `'${isShort ? '>x' : '>xxx'}xdxdxdBxd${listFirst('xBc0', 'xd')}'`,
  // The head of each value is written together with the one before it, where that is one byte.
  FIRST_WRITE: `'${isShort ? '>H' : '>I4'}dBdBdHd${listFirst('Hc0', 'Bd')}c0'`,
  // For a record in which only SINCE and VERSION changed, up to the head of SINCE as it is.
  COUNTERS_WRITE: `'>c${isShort ? 11 : 13}dBdc0c0'`,
  WRITTEN_HEAD: isShort
    ? (shortArray + firstLength) * 0x100 + double
    : longArray * 0x1000000 + firstLength * 0x100 + double,
  STATS_ARGUMENTS: 1 + postedFields.length,
};

const toValue = ({ name }: NamedField): string => `slot[${toConstant(name)}]`;
const toWritten = (field: NamedField): string =>
  isText(field) ? `${shortText * 0x100} + #${field.name}, ${field.name}` : `DOUBLE, ${toValue(field)}`;
const join = (of: readonly NamedField[], text: (field: NamedField, index: number) => string, by = ', ') =>
  of.map(text).join(by);
const texts = firstFields.filter(isText);
const isTotal = ({ kind }: NamedField): boolean => kind !== 'status';

/** The first part of the library, in Lua. The two functions of Redis are set in 1-slots.lua. */
export const firstPart = `-- Made by slot-layout.ts.

local pack, packFixed

-- Packs a slot: its first array, then the rest, which is packed already. The head of a text of more than 255
-- bytes is wider.
local function packFirst(slot, rest)
  local ${join(texts, ({ name }) => name)} = ${join(texts, toValue)}
  if ${join(texts.filter(isTotal), ({ name }) => `#${name} > 255`, ' or ')} then
    return pack({ unpack(slot, INCARNATION, REST_AT - 1) }) .. rest
  end
  return packFixed(FIRST_WRITE, WRITTEN_HEAD, slot[INCARNATION], DOUBLE, slot[SINCE], DOUBLE, slot[VERSION],
    (slot[LISTED] and 0xc300 or 0xc200) + DOUBLE, slot[LISTED_SINCE], ${join(firstFields, toWritten)}, rest)
end

-- Sets what a post names: its values are in \`items\` after \`at\`, false where not posted. Returns
-- whether it names more than the status.
local function mergePost(slot, items, at)
  local ${join(postedFields, ({ name }) => name)} =
    ${join(postedFields, (_, index) => `items[at + ${index + 1}]`)}
  ${join(postedFields, (field) => `${toValue(field)} = ${field.name} or ${toValue(field)}`, '\n  ')}
  return ${join(postedFields.filter(isTotal), ({ name }) => name, ' or ')}
end
`;
