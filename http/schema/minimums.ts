/**
 * What a minimum length of text means: white space and invisible characters at its ends
 * do not count, so text of nothing else is refused wherever there is a minimum. A maximum counts all that is
 * sent, for that is what is stored.
 *
 * Applied to every `minLength` of every schema, so no field can be forgotten. Used by check.ts; explain.ts
 * gives Ajv a `minLength` of the same meaning.
 */
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
