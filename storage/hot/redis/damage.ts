/**
 * Names the listings whose records in Redis cannot be read, in notes.
 *
 * The file of Redis has no checksums, so its damage shows only where a record has lost its form.
 */
import { type Note, toNote } from '../../../engine/tools/notes.ts';

/** More listings of a kind are not named. */
const namedMax = 10;

const effect =
  'requests that need these listings are answered 503, their totals do not reach SQL, the rest works';
const remedy =
  'To go on, empty Redis (FLUSHALL): counters then come from SQL, and what SQL does not have yet is lost. ' +
  'Then start the nodes again, one after another: until then this stays.';

/** Describes the listings of each kind of damage. */
const descriptions = {
  unreadable: (named: string): string => `Redis has damaged records (${named}): ${effect}. ${remedy}`,
  unknown_form: (named: string): string =>
    `Redis has records of a form that this version does not know (${named}): ${effect}. Run the version ` +
    `that wrote them. If none did, they are damaged. ${remedy}`,
};
export type SlotDamage = keyof typeof descriptions;

export const createDamageNotes = () => {
  const named: Record<SlotDamage, Set<string>> = { unreadable: new Set(), unknown_form: new Set() };
  const describe = (kind: SlotDamage): Note =>
    toNote('hot_store_damaged', descriptions[kind]([...named[kind]].join(', ')));
  return {
    /** Records that the listing at this address could not be read. */
    record: (kind: SlotDamage, address: string): void => {
      if (named[kind].has(address) || named[kind].size >= namedMax) return;
      named[kind].add(address);
    },
    /** Lists a note for each kind that was met. They stay until the node starts again. */
    list: (): readonly Note[] =>
      (['unreadable', 'unknown_form'] as const).filter((kind) => named[kind].size > 0).map(describe),
  };
};
export type DamageNotes = ReturnType<typeof createDamageNotes>;
