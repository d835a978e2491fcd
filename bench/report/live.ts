/**
 * Shows the progress: one line that is overwritten below the others on a terminal, plain lines elsewhere.
 * Writes to standard error, so that standard output has only the report.
 */
const columnsMin = 20;

export const createLive = (stream: NodeJS.WriteStream) => {
  let [progress, status] = ['', ''];
  const write = (text: string): void => void stream.write(text);
  const clear = stream.isTTY === true ? (): void => write('\r\u001b[2K') : (): void => {};
  const redraw = (): void => {
    if (stream.isTTY !== true) return;
    clear();
    write(`${progress}${status}`.slice(0, Math.max(columnsMin, stream.columns - 1)));
  };
  return {
    /** Replaces the current status text. */
    show: (text: string): void => {
      status = text;
      redraw();
    },
    /** Prints a permanent line. */
    print: (text: string): void => {
      clear();
      write(`${text}\n`);
      redraw();
    },
    /** Sets the progress of the whole run. */
    step: (done: number, total: number): void => {
      progress = `${Math.round((done / total) * 100)} %  `;
      redraw();
    },
    clear: (): void => {
      [progress, status] = ['', ''];
      clear();
    },
  };
};
export type Live = ReturnType<typeof createLive>;
