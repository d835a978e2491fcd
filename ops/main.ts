/**
 * The program: `npm start`. Reads the settings, starts one node, prints where it is, and drains on Ctrl-C.
 *
 * The first SIGINT or SIGTERM drains, also while it still starts; a second one ends at once (nothing
 * acknowledged is lost even then). A node that lost its embedded SQL drains by itself and ends with 1: only a
 * new process helps, and a supervisor starts one.
 */
import { readConfig } from './config.ts';
import { welcomeText } from './demo/welcome.ts';
import { start } from './rollcall.ts';

const fail = (error: unknown): never => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
};

const run = async (): Promise<void> => {
  const config = readConfig();
  const starting = start(config);
  // A signal may come as soon as the first request is answered, which is before the welcome is printed.
  stopOnSignals(() => starting.then((running) => running.stop()));
  const { notes, url, adminUrl, demo, lost, stop } = await starting;
  void lost.then((words) => {
    process.stderr.write(`Ending, so that a new process can start: ${words}\n`);
    return stop().finally(() => process.exit(1));
  });
  for (const note of notes) process.stdout.write(`${note}\n`);
  const isTerminal = process.stdout.isTTY === true;
  process.stdout.write(welcomeText({ url, adminUrl, dataDirectory: config.dataDir, demo, isTerminal }));
};

const stopOnSignals = (stop: () => Promise<void>): void => {
  let signals = 0;
  const onSignal = (): void => {
    signals += 1;
    if (signals > 1) process.exit(130);
    process.stdout.write('Draining: no new work, answers first, then the stores …\n');
    stop().then(() => process.exit(0), fail);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
};

run().catch(fail);
