/**
 * `npm run test:faults -- hostile`: all files, of any group, whose clients send what no honest one does, and
 * how many of all their replies were a 500. A server of theirs prints its replies as it ends
 * (test/support/reply-count.ts). Pure.
 */

/** The word that selects them. */
export const hostileWord = 'hostile';

/** Those without it in their path; a folder or a file. */
export const hostilePaths: readonly string[] = [
  'test/faults/cases/http-attacks.fault.ts',
  'test/faults/cases/http-fuzz.test.ts',
  'test/faults/cases/http-unread-replies.fault.ts',
  'test/http/hostile/',
];

export const isHostile = (file: string): boolean =>
  file.includes(hostileWord) || hostilePaths.some((path) => file.startsWith(path));

const line = /^figures: \{"name":"replies","all":(\d+),"of500":(\d+)\}$/gm;

/** Adds what the servers of one file answered. */
export const countReplies = (output: string): { readonly all: number; readonly of500: number } => {
  let [all, of500] = [0, 0];
  for (const [, some, failed] of output.matchAll(line)) {
    all += Number(some);
    of500 += Number(failed);
  }
  return { all, of500 };
};
