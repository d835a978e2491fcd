/**
 * Runs one of our scripts on the Node this project is pinned to: `node ops/setup/run.mjs <script.ts>
 * [arguments]`, or with `--bin <tool>` a tool of node_modules/.bin. Installs what is missing first.
 *
 * Plain JavaScript for Node 18 and later, without dependencies: it is what runs before anything is installed.
 * It never runs through a shell. The script gets the terminal, the signals, and its exit code is ours.
 * Called by every script of package.json.
 */
import { fileURLToPath } from 'node:url';

const nodeMajorMin = 18;
const root = fileURLToPath(new URL('../../', import.meta.url));

const main = async () => {
  if (Number(process.versions.node.split('.')[0]) < nodeMajorMin) {
    console.error(
      `Rollcall needs Node ${nodeMajorMin} or newer to set itself up; this is ${process.versions.node}.` +
        '\nGet a current one from https://nodejs.org and run the same command again.',
    );
    return 1;
  }
  if (process.argv.length < 3) {
    console.error('Usage: node ops/setup/run.mjs <script.ts> [arguments]   or   --bin <tool> [arguments]');
    return 2;
  }
  // Loaded late, so that an old Node reaches the words above and not a syntax error.
  const { install } = await import('./install.mjs');
  const { launch } = await import('./launch.mjs');
  const failure = await install(root);
  if (failure !== null) {
    console.error(failure.words);
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
