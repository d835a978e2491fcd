/**
 * Shows the progress: one line that is overwritten below the others on a terminal, plain lines elsewhere.
 * Writes to standard error, so that standard output has only the report.
 */
export interface Live {
  /** Replaces the current status text. */
  show(text: string): void;
  /** Prints a permanent line. */
  print(text: string): void;
  /** Sets the progress of the whole run. */
  step(done: number, total: number): void;
  clear(): void;
}

const columnsMin = 20;

export const createLive = (stream: NodeJS.WriteStream): Live => {
  let [progress, status] = ['', ''];
  const write = (text: string): void => void stream.write(text);
  const clear = stream.isTTY === true ? (): void => write('\r\u001b[2K') : (): void => {};
  const redraw = (): void => {
    if (stream.isTTY !== true) return;
    clear();
    write(`${progress}${status}`.slice(0, Math.max(columnsMin, stream.columns - 1)));
  };
  return {
    show: (text) => {
      status = text;
      redraw();
    },
    print: (text) => {
      clear();
      write(`${text}\n`);
      redraw();
    },
    step: (done, total) => {
      progress = `${Math.round((done / total) * 100)} %  `;
      redraw();
    },
    clear: () => {
      [progress, status] = ['', ''];
      clear();
    },
  };
};
