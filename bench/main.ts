/**
 * `npm run bench`: measures, prints the report, writes it as JSON, Markdown and HTML. Without the name of a
 * command it is a run of the suite.
 *
 * Exit codes: 0 done, 1 something failed or is not as it must be, 2 not understood, 130 interrupted.
 */
import { suiteOptions } from './arguments.ts';
import { interruptedCode } from './command.ts';
import { capacity } from './commands/capacity.ts';
import { compare } from './commands/compare.ts';
import { day } from './commands/day.ts';
import { elastic } from './commands/elastic.ts';
import { feed } from './commands/feed.ts';
import { fleet } from './commands/fleet.ts';
import { followers } from './commands/followers.ts';
import { growth } from './commands/growth.ts';
import { load } from './commands/load.ts';
import { prove } from './commands/prove.ts';
import { search } from './commands/search.ts';
import { suite } from './commands/suite.ts';
import { tokens } from './commands/tokens.ts';
import { turns } from './commands/turns.ts';
import { webhooks } from './commands/webhooks.ts';
import { ArgumentError, describeOptions } from './options.ts';
import { killAll } from './servers/process.ts';

const commands = [
  ...[load, turns, growth, fleet, feed, followers, prove, day, capacity, elastic, webhooks, search],
  ...[tokens, compare],
];

const describeAll = (): string => {
  const lines = commands.map(
    ({ name, operands = '', about }) => `  ${`${name} ${operands}`.padEnd(30)} ${about}`,
  );
  return `Usage: npm run bench -- [options]          all scenarios and peers: under ten minutes
       npm run bench -- COMMAND [--help]   one of:

${lines.join('\n')}

${describeOptions(suiteOptions)}

Every command takes --json FILE and --out FOLDER. Ctrl-C ends a run and reports what was measured.`;
};

const main = async ([name = '', ...words]: readonly string[]): Promise<number> => {
  const found = commands.find((command) => command.name === name);
  try {
    if (found !== undefined) return await found.run(words);
    if (name !== '--help') return await suite.run(name === '' ? [] : [name, ...words]);
    console.log(describeAll());
    return 0;
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
