/**
 * Reads the command line of a tool of this repository: `--help` prints the header of the tool's file, and a
 * mistake ends the tool with a message instead of a stack trace.
 */
import { readFileSync } from 'node:fs';
import { type ParseArgsConfig, parseArgs } from 'node:util';

/** What `parseArgs` returns. Ends the process with 0 after `--help`, with 2 if it does not know an option. */
export const parseOptions = <Config extends ParseArgsConfig>(
  file: string,
  config: Config,
): ReturnType<typeof parseArgs<Config>> => {
  if (process.argv.includes('--help')) {
    const [, header = ''] = /^\/\*\*\n(.*?)\n \*\//s.exec(readFileSync(file, 'utf8')) ?? [];
    console.log(header.replace(/^ \* ?/gm, ''));
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    const [first = ''] = (error as Error).message.split('. ');
    console.error(`${first}. --help shows the options.`);
    return process.exit(2);
  }
};
