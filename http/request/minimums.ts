/**
 * Defines the minimum length of text: white space and invisible characters at both ends do not count. So text
 * without any visible character is refused wherever there is a minimum. A maximum counts every character that
 * is sent, because every character is stored.
 *
 * It applies to every `minLength` of every schema, so no field can be forgotten.
 */
import type { TSchema } from 'typebox';
import { isVisiblyLong } from '../../engine/rules/text.ts';

type Node = Readonly<Record<string, unknown>>;

const addVisibleMinimum = (node: Node, min: number): Node => ({
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
  const isUnchanged = entries.every(([key, member]) => node[key as string] === member);
  const expanded = isUnchanged ? node : (Object.fromEntries(entries) as Node);
  const min = node.type === 'string' ? node.minLength : 0;
  return typeof min === 'number' && min > 0 ? addVisibleMinimum(expanded, min) : expanded;
};

/** Returns the schema for TypeBox to compile; the same object if it has no minimum length of text. */
export const withVisibleMinimums = (schema: TSchema): TSchema => expand(schema) as TSchema;
