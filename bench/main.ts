/**
 * `npm run bench`: measures, prints the report, writes it as JSON, Markdown and HTML.
 *
 * The first Ctrl-C ends the current round, drains the servers and reports what was measured; a second one
 * ends everything at once. Exit codes: 0 done, 1 something failed (`compare`: is worse), 2 not understood,
 * 130 interrupted.
 */
import { writeFileSync } from 'node:fs';
import { type Options, parseArguments, usage } from './arguments.ts';
import type { Command } from './command.ts';
import { capacity } from './commands/capacity.ts';
import { interruptedCode, stopOnSignals } from './commands/command.ts';
import { runCompare } from './commands/compare.ts';
import { day } from './commands/day.ts';
import { elastic } from './commands/elastic.ts';
import { feed } from './commands/feed.ts';
import { fleet } from './commands/fleet.ts';
import { followers } from './commands/followers.ts';
import { growth } from './commands/growth.ts';
import { runLoad } from './commands/load.ts';
import { prove } from './commands/prove.ts';
import { search } from './commands/search.ts';
import { runTokens } from './commands/tokens.ts';
import { runTurns } from './commands/turns.ts';
import { webhooks } from './commands/webhooks.ts';
import { ArgumentError } from './options.ts';
import { createLive } from './report/live.ts';
import { describeProfile } from './report/profile.ts';
import type { Result } from './report/result.ts';
import { renderText } from './report/text.ts';
import { writeReports } from './report/write.ts';
import { killAll } from './servers/process.ts';
import { runSuite } from './suite.ts';
import { runTarget } from './target.ts';

const measure = async (options: Options): Promise<Result> => {
  const stop = stopOnSignals();
  const live = createLive(process.stderr);
  stop.addEventListener('abort', () => live.print('Interrupted: ending the servers and the stores …'));
  try {
    return options.target === null
      ? await runSuite(options, live, stop)
      : await runTarget(options, live, stop);
  } finally {
    live.clear();
  }
};

const run = async (options: Options): Promise<number> => {
  const result = await measure(options);
  if (result.samples.length > 0 || result.idle.length > 0) {
    console.log(`\n${renderText(result)}`);
    if (options.outFolder !== null) console.log(`\nReport: ${writeReports(options.outFolder, result)}`);
  } else
    console.log(`Nothing was measured${result.interrupted ? ' before the interruption' : ''}: no report.`);
  if (options.profileDir !== null) console.log(`\n${describeProfile(options.profileDir, 25)}`);
  if (options.jsonFile !== null) writeFileSync(options.jsonFile, `${JSON.stringify(result, null, 2)}\n`);
  if (result.interrupted) return interruptedCode;
  return result.problems.length > 0 ? 1 : 0;
};

const commands: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  load: runLoad,
  turns: runTurns,
};

const newCommands: readonly Command[] = [
  growth,
  fleet,
  feed,
  followers,
  capacity,
  webhooks,
  search,
  prove,
  day,
  elastic,
];

const dispatch = async (args: readonly string[]): Promise<number> => {
  const [command = '', ...rest] = args;
  const found = newCommands.find(({ name }) => name === command);
  if (found !== undefined) return found.run(rest);
  const runCommand = Object.hasOwn(commands, command) ? commands[command] : undefined;
  if (runCommand !== undefined) return runCommand(rest);
  if (command === 'compare') {
    const { text, exitCode } = runCompare(rest);
    console.log(text);
    return exitCode;
  }
  if (command === 'tokens') {
    console.log(runTokens(rest));
    return 0;
  }
  const options = parseArguments(args);
  if (!options.help) return run(options);
  console.log(usage);
  return 0;
};

const main = async (args: readonly string[]): Promise<number> => {
  try {
    return await dispatch(args);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    if (!(error instanceof ArgumentError)) return 1;
    console.error('\nnpm run bench -- --help lists all options.');
    return 2;
  }
};

// However this process ends, also by a bug, it ends what it started.
process.on('exit', killAll);

const exitCode = await main(process.argv.slice(2));
// An interrupted start may still be in progress.
if (exitCode === interruptedCode) process.exit(exitCode);
process.exitCode = exitCode;
