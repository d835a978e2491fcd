/**
 * Parameters of a recorded statement as SQL literals: what the driver would have sent, as text.
 */

interface RecordedBuffer {
  readonly type: 'Buffer';
  readonly data: readonly number[];
}

const isBuffer = (value: object): value is RecordedBuffer =>
  (value as Partial<RecordedBuffer>).type === 'Buffer';

const toText = (value: unknown): string => {
  if (typeof value === 'boolean') return value ? 't' : 'f';
  if (typeof value !== 'object' || value === null) return String(value);
  return isBuffer(value) ? `\\x${Buffer.from(value.data).toString('hex')}` : JSON.stringify(value);
};

const toElement = (value: unknown): string => {
  if (value === null) return 'NULL';
  if (Array.isArray(value)) return `{${value.map(toElement).join()}}`;
  return `"${toText(value).replace(/["\\]/g, '\\$&')}"`;
};

/** Converts one parameter. */
export const toLiteral = (value: unknown): string => {
  if (value === null || value === undefined) return 'null';
  const text = Array.isArray(value) ? toElement(value) : toText(value);
  return `'${text.replaceAll("'", "''")}'`;
};
