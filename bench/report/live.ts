/**
 * What is going on right now: one line that is written over on a terminal, plain lines elsewhere. On
 * standard error, so that the report alone is standard output.
 */

export interface Live {
  /** Replaces the line. */
  show(words: string): void;
  /** Leaves a line for good. */
  keep(words: string): void;
  clear(): void;
}

export const createLive = (stream: NodeJS.WriteStream): Live => {
  const terminal = stream.isTTY === true;
  const clear = (): void => {
    if (terminal) stream.write('\r\u001b[2K');
  };
  return {
    show: (words) => {
      clear();
      if (terminal) stream.write(words.slice(0, Math.max(20, stream.columns - 1)));
    },
    keep: (words) => {
      clear();
      stream.write(`${words}\n`);
    },
    clear,
  };
};
