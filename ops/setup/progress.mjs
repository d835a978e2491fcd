/**
 * Says that something long is going on: a moving line with the time passed on a terminal, a plain line now
 * and then elsewhere (log files, pipes). Writes to stderr only.
 */
const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const frameMs = 120;
const plainMs = 15_000;

/** Shows `title` until `end(word)` is called, which leaves one line with the word and the seconds taken. */
export const showProgress = (title) => {
  const startedMs = Date.now();
  const seconds = () => Math.round((Date.now() - startedMs) / 1_000);
  const terminal = process.stderr.isTTY === true;
  if (!terminal) console.error(`${title} …`);
  let frame = 0;
  const drawing = setInterval(
    () => {
      if (terminal)
        process.stderr.write(`\r\x1b[2K${frames[frame++ % frames.length]} ${title} … ${seconds()} s`);
      else console.error(`  still installing, ${seconds()} s`);
    },
    terminal ? frameMs : plainMs,
  );
  return {
    end: (word) => {
      clearInterval(drawing);
      if (terminal) process.stderr.write('\r\x1b[2K');
      console.error(terminal ? `${title}: ${word} in ${seconds()} s` : `  ${word} in ${seconds()} s`);
    },
  };
};
