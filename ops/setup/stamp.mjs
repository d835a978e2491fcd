/**
 * Knows whether the required packages are installed: a stamp file in node_modules/.rollcall holds the name of
 * the installed set and a fingerprint of what package.json requires. The set `production` runs the server and
 * its commands; `all` also has the tools for tests, benches and checks.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const findOwnFolder = (root) => join(root, 'node_modules', '.rollcall');
export const findUnfinishedMark = (root) => join(findOwnFolder(root), 'unfinished');
const stampFile = (root) => join(findOwnFolder(root), 'installed');

export const readManifest = (root) => JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** A hash of the required packages, the lock file and the platform. */
const computeFingerprint = (root, set) => {
  const { dependencies, devDependencies, allowScripts, vendored } = readManifest(root);
  const packages = [dependencies, set === 'all' ? devDependencies : null, allowScripts, vendored];
  const lock = join(root, 'package-lock.json');
  return createHash('sha256')
    .update(JSON.stringify([...packages, process.platform, process.arch]))
    .update(existsSync(lock) ? readFileSync(lock) : '')
    .digest('hex');
};

/** The set that was installed last, also when package.json has changed since; `null` when there is none. */
export const readInstalledSet = (root) =>
  existsSync(stampFile(root)) ? readFileSync(stampFile(root), 'utf8').split(' ')[0] : null;

/** Whether everything that `set` needs is installed. */
export const isInstalled = (root, set) => {
  const installed = readInstalledSet(root);
  return (
    installed !== null &&
    (installed === 'all' || set === 'production') &&
    readFileSync(stampFile(root), 'utf8') === `${installed} ${computeFingerprint(root, installed)}` &&
    existsSync(join(root, 'node_modules', '.bin', 'node'))
  );
};

/** Called when `set` is installed and was checked. */
export const recordInstalled = (root, set) => {
  writeFileSync(stampFile(root), `${set} ${computeFingerprint(root, set)}`);
  rmSync(findUnfinishedMark(root), { force: true });
};

/** Called before an installation begins. */
export const forgetInstalled = (root) => rmSync(stampFile(root), { force: true });
