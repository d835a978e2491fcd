/**
 * Asks the operator before a step that is hard to undo.
 *
 * In a terminal the answer must be `y` or `yes`. Without a terminal no answer can come, so the command ends
 * with exit code 2 and names the option that confirms it.
 */
import { createInterface } from 'node:readline/promises';
import { CommandError, interruptedExitCode, type Terminal } from './command.ts';

/** Resolves when the operator confirms. Throws `CommandError` otherwise; then nothing may be done. */
export const confirm = async (terminal: Terminal, description: string): Promise<void> => {
  const { input, err } = terminal;
  terminal.err.write(`${description}\n`);
  if (input?.isTTY !== true || err.isTTY !== true)
    throw new CommandError('Nothing was done. To confirm it without a terminal, add --yes.', 2);
  const dialog = createInterface({ input, output: err });
  // Neither the end of the input nor Ctrl-C, which comes as a key or as a signal, confirms anything.
  let exitCode: CommandError['exitCode'] = 1;
  const ended = new Promise<string>((resolve) => {
    const interrupt = (): void => {
      exitCode = interruptedExitCode;
      resolve('');
    };
    dialog.once('close', () => resolve(''));
    dialog.once('SIGINT', interrupt);
    terminal.signal.addEventListener('abort', interrupt);
  });
  const answer = await Promise.race([dialog.question('Go on? [y/N] '), ended]);
  dialog.close();
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new CommandError('Nothing was done.', exitCode);
};
