/**
 * `npm run bench`: measures, prints the report, writes JSON when asked.
 *
 * The first Ctrl-C ends the round under way, drains the servers and reports what there is; a second one ends
 * everything at once. Exit codes: 0 done, 1 failed, 2 not understood, 130 interrupted.
 */
import { writeFileSync } from 'node:fs';
import { ArgumentError, type Options, parseArguments, usage } from './arguments.ts';
import { createLive } from './report/live.ts';
import { profileText } from './report/profile.ts';
import { reportText } from './report/text.ts';
import { writeReports } from './report/write.ts';
import { killAll } from './servers/process.ts';
import { runSuite } from './suite.ts';

const run = async (options: Options): Promise<number> => {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (!stop.signal.aborted) return stop.abort();
      killAll();
      process.exit(130);
    });
  }
  const live = createLive(process.stderr);
  const result = await runSuite(options, live, stop.signal);
  live.clear();
  if (result.samples.length > 0) {
    console.log(`\n${reportText(result)}`);
    if (options.outFolder !== null) console.log(`\nReport: ${writeReports(options.outFolder, result)}`);
  }
  if (options.profileDir !== null) console.log(`\n${profileText(options.profileDir, 25)}`);
  if (options.jsonFile !== null) writeFileSync(options.jsonFile, `${JSON.stringify(result, null, 2)}\n`);
  return result.interrupted ? 130 : 0;
};

const main = async (words: readonly string[]): Promise<number> => {
  try {
    const options = parseArguments(words);
    if (!options.help) return await run(options);
    console.log(usage);
    return 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    if (!(error instanceof ArgumentError)) return 1;
    console.error(`\n${usage}`);
    return 2;
  }
};

// Whatever ends this process, a bug too, ends what it started.
process.on('exit', killAll);

process.exitCode = await main(process.argv.slice(2));
