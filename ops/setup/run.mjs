/**
 * Runs a script of this project on its pinned Node: `node ops/setup/run.mjs <script.ts> [arguments]`, or
 * with `--bin <tool>` a tool of node_modules/.bin. First installs missing packages.
 *
 * Plain JavaScript for Node 18 and later, without dependencies, since it runs before anything is installed.
 * Uses no shell. The script gets the terminal and the signals, and its exit code becomes the exit code of
 * this process. Every script of package.json starts with it.
 */
import { fileURLToPath } from 'node:url';

const nodeMajorMin = 18;
const root = fileURLToPath(new URL('../../', import.meta.url));

const main = async () => {
  if (Number(process.versions.node.split('.')[0]) < nodeMajorMin) {
    console.error(
      `Rollcall needs Node ${nodeMajorMin} or newer to set itself up; this is ${process.versions.node}.` +
        '\nInstall a current version from https://nodejs.org and run the same command again.',
    );
    return 1;
  }
  if (process.argv.length < 3) {
    console.error('Usage: node ops/setup/run.mjs <script.ts> [arguments]   or   --bin <tool> [arguments]');
    return 2;
  }
  // Imported here, so that an old Node prints the message above instead of a syntax error.
  const { install } = await import('./install.mjs');
  const { launch } = await import('./launch.mjs');
  const failure = await install(root);
  if (failure !== null) {
    console.error(failure.message);
    return failure.exitCode;
  }
  return launch(root, process.argv.slice(2));
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
