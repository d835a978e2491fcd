/**
 * Ends every `npm install` (as its `postinstall` script), also one that was run by hand and by another Node:
 * installs the native parts for the pinned Node, fetches the vendored script, compiles our sources ahead,
 * checks that everything loads, prepares the database that first starts copy, and records what is installed.
 *
 * npm chooses binary packages for the Node it runs on, so with another Node it runs a second time, on the
 * pinned one. Plain JavaScript for Node 18 and later. On failure it prints the cause and exits with 1.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findOwnFolder, forgetInstalled, readManifest, recordInstalled } from './stamp.mjs';
import { fetchVendored } from './vendored.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const pinnedNode = join(root, 'node_modules', '.bin', 'node');
const nativeNames = ['uWebSockets.js', 'lmdb'];

const runPinned = (args, options = {}) =>
  spawnSync(pinnedNode, args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26, ...options });

/** Runs npm on the pinned Node. The options of the npm that runs this script are in the environment. */
const runNpm = (args, cwd = root) => {
  const npm = process.env.npm_execpath;
  if (npm === undefined) return 'run `npm install`, which runs this script';
  const { status, stderr, error } = runPinned([npm, ...args, '--loglevel=error'], { cwd });
  return status === 0 ? null : `npm ${args[0]} failed: ${error?.message ?? stderr.trim()}`;
};

/** `null` when the installed Node starts and has the pinned version. */
const findNodeProblem = () => {
  const { node } = readManifest(root).dependencies;
  const { error, stdout } = runPinned(['--version']);
  if (error) return `the installed Node does not start: ${error.message}`;
  const version = stdout.trim();
  return version === `v${node}` ? null : `the installed Node is ${version || 'unknown'}, expected v${node}`;
};

/** npm treats binaries as optional, and reports nothing when it has installed those of another Node. */
const findNativeProblem = () => {
  const { dependencies } = readManifest(root);
  const names = nativeNames.filter((name) => name in dependencies);
  const { status, stderr } = runPinned(['-e', names.map((name) => `require('${name}');`).join('')]);
  return status === 0 ? null : `a native package does not load: ${lastError(stderr)}`;
};

const lastError = (stderr) => /^\w*Error\b.*$/m.exec(stderr)?.[0] ?? stderr.trim().slice(-200);

const installNatives = () => {
  if (findNativeProblem() === null) return null;
  const install = ['install', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts'];
  return runNpm(install) ?? findNativeProblem();
};

const preloaded = [
  '--disable-warning=ExperimentalWarning',
  '--import',
  new URL('stripped.mjs', import.meta.url).href,
];

/** Runs beside the other steps. Without a prepared database a first start creates one, which takes longer. */
const prepareDatabase = async () => {
  const program = join(root, 'storage', 'embedded', 'pglite-create-main.ts');
  if (!existsSync(program)) return;
  const prepared = join(findOwnFolder(root), 'prepared');
  const args = [...preloaded, program, `${prepared}.database`, prepared];
  const child = spawn(pinnedNode, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  const code = await new Promise((resolve) => child.once('close', resolve).once('error', resolve));
  if (code !== 0) console.warn('No database was prepared: first starts take some seconds longer.');
};

/** Loads every module of the server and its commands once, which also compiles our sources ahead. */
const findLoadProblem = () => {
  if (!existsSync(join(root, 'ops', 'main.ts'))) return null;
  const { status, stderr } = runPinned([...preloaded, join(root, 'ops', 'setup', 'load.mjs')]);
  return status === 0 ? null : `a module does not load: ${lastError(stderr)}`;
};

const main = async () => {
  const { vendored = {}, version } = readManifest(root);
  mkdirSync(findOwnFolder(root), { recursive: true });
  forgetInstalled(root);
  const nodeProblem = findNodeProblem();
  const preparing = nodeProblem === null ? prepareDatabase() : null;
  const problem =
    nodeProblem ??
    installNatives() ??
    (await fetchVendored(findOwnFolder(root), vendored, runNpm)) ??
    findLoadProblem();
  await preparing;
  if (problem !== null) {
    console.error(`Rollcall is not installed: ${problem}`);
    return 1;
  }
  const omitsTools = process.env.npm_config_omit?.split(/\s+/).includes('dev') ?? false;
  recordInstalled(root, omitsTools ? 'production' : 'all');
  console.log(
    `Rollcall ${version} is installed, and all its parts load. Start it with ops/bin/rollcall start`,
  );
  return 0;
};

process.exitCode = await main();
