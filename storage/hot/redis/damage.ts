/**
 * Names the listings whose records in Redis cannot be read, for the log and `/readyz`.
 *
 * The file of Redis has no checksums, so its damage shows only where a record has lost its form.
 */

/** More listings are not named. */
const namedMax = 10;

const remedy =
  'To go on, empty Redis (FLUSHALL): counters then come from SQL, and what SQL does not have yet is lost.';

/** Calls `report` for each listing that it names. */
export const createDamageNotes = (report: (message: string) => void) => {
  const named = new Set<string>();
  const list = (): readonly string[] =>
    named.size === 0
      ? []
      : [
          `Redis has damaged records (${[...named].join(', ')}): requests that need these listings are ` +
            `answered 503, their totals do not reach SQL, the rest works. ${remedy}`,
        ];
  return {
    /** Records that the listing at this address could not be read. */
    record: (address: string): void => {
      if (named.has(address) || named.size >= namedMax) return;
      named.add(address);
      report(list().join());
    },
    /** Lists one note, or none. It stays until the node starts again. */
    list,
  };
};
export type DamageNotes = ReturnType<typeof createDamageNotes>;
