/**
 * `npm run client -- FOLDER`: writes the package of the client into a new folder, to publish or to look at.
 */
import { writeClientPackage } from './client-package.ts';

const folder = process.argv[2] ?? '';
if (folder === '') {
  process.stderr.write('Name the folder: npm run client -- FOLDER\n');
  process.exit(2);
}
await writeClientPackage(folder);
process.stdout.write(`${folder}: publish it with \`npm publish ${folder}\`\n`);
