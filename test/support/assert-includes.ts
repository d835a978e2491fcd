/**
 * An assertion that a text or a list has something, which prints both when it does not. `assert.ok` would
 * print `false`.
 */
import { format } from 'node:util';
import * as assert from 'uvu/assert';

/** Prints at most so much of a text or a list. */
const charactersMax = 2_000;

export const assertIncludes = <Item>(
  whole: string | readonly Item[] | undefined,
  part: Item,
  message = 'not included',
): void => {
  if ((whole as readonly Item[] | undefined)?.includes(part)) return;
  assert.unreachable(`${message}: ${format('%O', part)} in ${format('%O', whole).slice(0, charactersMax)}`);
};
