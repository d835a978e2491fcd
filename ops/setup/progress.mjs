/**
 * Shows that a long task is running: on a terminal an animated line with the elapsed time, elsewhere (log
 * files, pipes) a plain line every 15 seconds. Writes only to stderr.
 */
const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const frameMs = 120;
const plainMs = 15_000;

/** Shows `title` until `end(outcome)` is called, which prints the outcome ("done") and the elapsed time. */
export const showProgress = (title) => {
  const startedMs = Date.now();
  const seconds = () => Math.round((Date.now() - startedMs) / 1_000);
  const terminal = process.stderr.isTTY === true;
  if (!terminal) console.error(`${title} …`);
  let frame = 0;
  const timer = setInterval(
    () => {
      if (terminal)
        process.stderr.write(`\r\x1b[2K${frames[frame++ % frames.length]} ${title} … ${seconds()} s`);
      else console.error(`  still installing, ${seconds()} s`);
    },
    terminal ? frameMs : plainMs,
  );
  return {
    end: (outcome) => {
      clearInterval(timer);
      if (terminal) process.stderr.write('\r\x1b[2K');
      console.error(terminal ? `${title}: ${outcome} in ${seconds()} s` : `  ${outcome} in ${seconds()} s`);
    },
  };
};
