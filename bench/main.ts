/**
 * `npm run bench`: measures, prints the report, writes it as JSON, Markdown and HTML.
 *
 * The first Ctrl-C ends the current round, drains the servers and reports what was measured; a second one
 * ends everything at once. Exit codes: 0 done, 1 something failed (`compare`: is worse), 2 not understood,
 * 130 interrupted.
 */
import { writeFileSync } from 'node:fs';
import { ArgumentError, type Options, parseArguments, usage } from './arguments.ts';
import { runCapacity } from './commands/capacity.ts';
import { interruptedCode, stopOnSignals } from './commands/command.ts';
import { runCompare } from './commands/compare.ts';
import { runDays } from './commands/day.ts';
import { runElasticCommand } from './commands/elastic.ts';
import { runFeed } from './commands/feed.ts';
import { runFleet } from './commands/fleet.ts';
import { runFollowers } from './commands/followers.ts';
import { runGrowth } from './commands/growth.ts';
import { runLoad } from './commands/load.ts';
import { runProve } from './commands/prove.ts';
import { runSearch } from './commands/search.ts';
import { runTokens } from './commands/tokens.ts';
import { runTurns } from './commands/turns.ts';
import { runWebhooks } from './commands/webhooks.ts';
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
  growth: runGrowth,
  fleet: runFleet,
  load: runLoad,
  turns: runTurns,
  feed: runFeed,
  followers: runFollowers,
  prove: runProve,
  capacity: runCapacity,
  day: runDays,
  elastic: runElasticCommand,
  webhooks: runWebhooks,
  search: runSearch,
};

const dispatch = async (args: readonly string[]): Promise<number> => {
  const [command = '', ...rest] = args;
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
