/**
 * The bodies that bots post to the routes of compat.ts, as loosely typed languages write them: JSON or a
 * form, whole numbers as numbers or as text, lists as JSON, as repeated fields or by index.
 *
 * Nothing is judged here: what is no whole number stays as it is, and the schema refuses it. A comma or three
 * digits behind a point are the thousands of one locale and the fraction of another, so neither is read.
 */
import { parseBody } from '../request/check.ts';
import { createValidationError } from '../response/errors.ts';
import type { BodyLimits } from '../route.ts';

/** A field with its name and `=`, or the boundary of a multipart form. */
const formStart = /^(?:[a-z_]+(?:%5B\d*%5D|\[\d*\])?=|--)/i;
/** A part may have a few header lines after the one with its name: more would make this slow. */
const formPart = /[;\s]name="([^"\r\n]*)"(?:\r\n[^\r\n]+){0,4}\r\n\r\n([^\r\n]*)\r\n--/g;
const wholeNumber = /^\d{1,20}(?:\.(?!0{3}$)0+)?$/;
/** How languages write no value where they must write text. */
const noValue = /^(?:null|none|nil|undefined)?$/i;

/** The fields of a form, in order; a multipart form begins with its boundary. */
const listFields = (text: string): Iterable<readonly [string, string]> =>
  text.startsWith('--')
    ? [...text.matchAll(formPart)].map(([, name = '', value = '']) => [name, value] as const)
    : new URLSearchParams(text);

/** A field that is named with brackets or several times is a list. */
const parseForm = (
  text: string,
  { valuesMax }: BodyLimits,
  names: ReadonlySet<string>,
): Record<string, unknown> => {
  if (text.split('&', valuesMax + 1).length > valuesMax)
    throw createValidationError('body', { '': `must have at most ${valuesMax} fields` });
  const body: Record<string, unknown> = {};
  for (const [field, value] of listFields(text)) {
    const name = field.replace(/\[\d*\]$/, '');
    if (!names.has(name)) continue;
    const known = body[name];
    if (Array.isArray(known)) known.push(value);
    else if (known !== undefined) body[name] = [known, value];
    else body[name] = name === field ? value : [value];
  }
  return body;
};

/** The values of a list that was written as an object, whose keys count from 0 or 1; else the value. */
const toList = (value: object): object => {
  const [first = '0', ...others] = Object.keys(value);
  const isList = /^[01]$/.test(first) && others.every((key, index) => key === String(+first + index + 1));
  return isList ? Object.values(value) : value;
};

const readText = (text: string): unknown => {
  if (noValue.test(text)) return undefined;
  if (wholeNumber.test(text)) return Number(text);
  return /^\[[\d\s,."]*\]$/.test(text) ? text.slice(1, -1).split(',').map(readEntry) : text;
};

const readEntry = (value: unknown): unknown =>
  typeof value === 'string' ? (readText(value.trim().replace(/^"(.*)"$/, '$1')) ?? value) : value;

const readValue = (value: unknown): unknown => {
  if (typeof value === 'string') return readText(value.trim());
  if (typeof value !== 'object' || value === null) return value;
  const list = toList(value);
  return Array.isArray(list) ? list.map(readEntry) : list;
};

/** Reads a body whose fields of these names are numbers or lists of them. Throws as `parseBody` does. */
export const readOldBody = (text: string, limits: BodyLimits, names: ReadonlySet<string>): unknown => {
  const body = formStart.test(text) ? parseForm(text, limits, names) : parseBody(text, limits);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const read = Object.entries(body).map(([name, value]) => [
    name,
    names.has(name) ? readValue(value) : value,
  ]);
  return Object.fromEntries(read.filter(([, value]) => value !== undefined));
};
