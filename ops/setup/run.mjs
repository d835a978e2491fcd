/**
 * Runs a script of this project on its pinned Node: `node ops/setup/run.mjs <script.ts> [arguments]`, or
 * with `--bin <tool>` a tool of node_modules/.bin. First installs missing packages, for
 * scripts outside `ops` and the package of the client also those that only tests, benches and checks need.
 *
 * Plain JavaScript for Node 18 and later, without dependencies, since it runs before anything is installed.
 * Uses no shell. The script gets the terminal and the signals, and its exit code becomes the exit code of
 * this process. Every script of package.json starts with it.
 */
import { fileURLToPath } from 'node:url';
import { dropIdleSignals } from './signals.mjs';

const nodeMajorMin = 18;
/** It needs the compiler, a development dependency. */
const clientPackager = 'ops/cli/client.ts';
const root = fileURLToPath(new URL('../../', import.meta.url));

dropIdleSignals();

const main = async () => {
  if (Number(process.versions.node.split('.')[0]) < nodeMajorMin) {
    console.error(
      `Rollcall needs Node ${nodeMajorMin} or newer to set itself up; this is ${process.versions.node}.` +
        '\nInstall a current version from https://nodejs.org and run the same command again.',
    );
    return 1;
  }
  const args = process.argv.slice(2);
  if (args.length === 0) {
    console.error('Usage: node ops/setup/run.mjs <script.ts> [arguments]   or   --bin <tool> [arguments]');
    return 2;
  }
  // Imported here, so that an old Node prints the message above instead of a syntax error.
  const { install } = await import('./install.mjs');
  const { isInstalled } = await import('./stamp.mjs');
  const { launch } = await import('./launch.mjs');
  const set = args[0].startsWith('ops/') && args[0] !== clientPackager ? 'production' : 'all';
  if (!isInstalled(root, set)) {
    const failure = (await findTakenPort(args[0])) ?? (await install(root, set));
    if (failure !== null) {
      console.error(failure.message);
      return failure.exitCode;
    }
  }
  return launch(root, args);
};

/** The server tests its ports itself, but only after an installation, which takes half a minute. */
const findTakenPort = async (script) => {
  if (script !== 'ops/main.ts') return null;
  const { findPortProblem } = await import('./ports.mjs');
  const message = await findPortProblem(process.env);
  return message === null ? null : { message, exitCode: 1 };
};

main().then(
  (exitCode) => {
    process.exitCode = exitCode;
  },
  (error) => {
    console.error(error);
    process.exitCode = 1;
  },
);
