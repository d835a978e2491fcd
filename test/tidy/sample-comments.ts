/**
 * Prints comment blocks drawn at random, to see whether a reader understands them at first reading:
 *
 *   node ops/setup/run.mjs test/tidy/sample-comments.ts --seed 7 [--count 50]
 *
 * The same seed draws the same blocks from the same tree. A block is a doc comment or consecutive `//` lines,
 * of the product's sources; tests and benchmarks are left out.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createRandom } from '../../bench/shared/random.ts';
import { readFiles } from './project.ts';

export interface CommentBlock {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

const product = /^(engine|http|storage|ops)\/.*\.(ts|mjs)$/;
const lineComment = /^\s*\/\//;

/** The comment blocks of one file, in the order of lines. */
export const listCommentBlocks = (file: string, text: string): CommentBlock[] => {
  const blocks: CommentBlock[] = [];
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at++) {
    const start = at;
    const first = lines[at] as string;
    if (/^\s*\/\*/.test(first)) while (at < lines.length - 1 && !lines[at]?.includes('*/')) at++;
    else if (lineComment.test(first)) while (lineComment.test(lines[at + 1] ?? '')) at++;
    else continue;
    blocks.push({ file, line: start + 1, text: lines.slice(start, at + 1).join('\n') });
  }
  return blocks;
};

/** `count` blocks of the product's sources among `files`, drawn by `seed`, in the order of the draw. */
export const sampleComments = (
  files: ReadonlyMap<string, string>,
  { seed, count }: { readonly seed: number; readonly count: number },
): CommentBlock[] => {
  const blocks = [...files].flatMap(([file, text]) =>
    product.test(file) ? listCommentBlocks(file, text) : [],
  );
  return createRandom(seed).sample(blocks, count);
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: { seed: { type: 'string', default: '1' }, count: { type: 'string', default: '50' } },
  });
  const [seed, count] = [Number(values.seed), Number(values.count)];
  if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(count) || count < 1) {
    console.error('--seed must be an integer, and --count an integer of at least 1.');
    process.exit(2);
  }
  const files = readFiles(fileURLToPath(new URL('../..', import.meta.url)));
  for (const { file, line, text } of sampleComments(files, { seed, count })) {
    console.log(`${file}:${line}\n${text}\n`);
  }
}
