/**
 * A mutant: one guard switched off, as a patch of text, and the tests that must notice.
 *
 * Owns what a mutant is and how its patch is applied. A patch that does not match exactly once is an error,
 * so that the list follows the sources. Pure.
 */
export interface Mutant {
  /** What is switched off, in short; unique. */
  readonly name: string;
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Test files; at least one must fail, the likeliest first; absent: the test of `file`. */
  readonly killers?: readonly string[];
  /** What would go wrong without the guard. */
  readonly why: string;
}

export const listKillers = ({ file, killers }: Mutant): readonly string[] =>
  killers ?? [`test/${file.replace(/\.ts$/, '.test.ts')}`];

/** Returns the mutated text. Throws if the patch does not match exactly once, or changes nothing. */
export const applyPatch = ({ name, file, find, replace }: Mutant, text: string): string => {
  const [before, after, ...more] = text.split(find);
  const count = more.length + (after === undefined ? 0 : 1);
  if (before === undefined || after === undefined || count !== 1) {
    throw new Error(`${name}: its text to find stands ${count} times in ${file}, not once`);
  }
  if (find === replace) throw new Error(`${name}: it changes nothing`);
  return before + replace + after;
};
