/**
 * What a minimum length of text means, for both validators: white space and invisible characters at its ends
 * do not count, so text of nothing else is refused wherever there is a minimum. A maximum counts all that is
 * sent, for that is what is stored.
 *
 * Applied to every `minLength` of every schema, so no field can be forgotten. Used by check.ts and
 * explain.ts.
 */
import type { FuncKeywordDefinition, SchemaValidateFunction } from 'ajv';
import type { TSchema } from 'typebox';
import { isVisiblyLong } from '../../engine/rules/text.ts';

type Node = Readonly<Record<string, unknown>>;

const refined = (node: Node, min: number): Node => ({
  ...node,
  '~refine': [{ check: (text: unknown) => isVisiblyLong(text as string, min), error: () => 'too short' }],
});

const expand = (value: unknown): unknown => {
  if (Array.isArray(value)) {
    const items = value.map(expand);
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const node = value as Node;
  const entries = Object.entries(node).map(([key, member]) => [
    key,
    key === 'examples' ? member : expand(member),
  ]);
  const same = entries.every(([key, member]) => node[key as string] === member);
  const expanded = same ? node : (Object.fromEntries(entries) as Node);
  const min = node.type === 'string' ? node.minLength : 0;
  return typeof min === 'number' && min > 0 ? refined(expanded, min) : expanded;
};

/** The schema as TypeBox is to compile it; the same object when it has no minimum of text. */
export const withVisibleMinimums = (schema: TSchema): TSchema => expand(schema) as TSchema;

/** Text far over its maximum is refused for that, whatever its ends are. */
const isFarTooLong = (text: string, max: unknown): boolean =>
  typeof max === 'number' && text.length > 2 * max;

const validate: SchemaValidateFunction = (min: number, text: string, parent?: Node) => {
  if (isFarTooLong(text, parent?.maxLength) || isVisiblyLong(text, min)) return true;
  // With the ends it would do: only then are they worth a word.
  validate.errors = [{ keyword: 'minLength', params: { limit: min, blanks: text.length >= min } }];
  return false;
};

/** `minLength` for Ajv, in place of its own. */
export const minLengthKeyword: FuncKeywordDefinition = {
  keyword: 'minLength',
  type: 'string',
  schemaType: 'number',
  errors: true,
  validate,
};
