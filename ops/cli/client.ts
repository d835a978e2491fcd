/**
 * `npm run client -- [--python] FOLDER`: writes the package of the client into a new folder, to publish or to
 * look at. `--python` needs Python with `build` and `flit_core`.
 */
import { readdirSync, statSync } from 'node:fs';
import { writeClientPackage } from './client-package.ts';
import { writePythonPackage } from './client-package-python.ts';
import { parseOptions } from './options.ts';

const { values, positionals } = parseOptions(import.meta.filename, {
  options: { python: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const [folder = ''] = positionals;
if (folder === '') {
  process.stderr.write('Name the folder: npm run client -- [--python] FOLDER\n');
  process.exit(2);
}
const stats = statSync(folder, { throwIfNoEntry: false });
if (stats !== undefined && !(stats.isDirectory() && readdirSync(folder).length === 0)) {
  process.stderr.write(`${folder} exists already, and its files could be replaced. Name a new folder.\n`);
  process.exit(1);
}
if (values.python) {
  try {
    const names = writePythonPackage(folder);
    process.stdout.write(`${folder}: publish ${names.join(' and ')} with \`twine upload ${folder}/*\`\n`);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(1);
  }
} else {
  await writeClientPackage(folder);
  process.stdout.write(`${folder}: publish it with \`npm publish ${folder}\`\n`);
}
