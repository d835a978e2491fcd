/**
 * How modules are found by the module that launch.mjs loads first.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeFolder } from '../support/folder.ts';

const test = suite('stripped');
const root = makeFolder('rollcall stripped %-');
const stripped = join(root, 'ops/setup/stripped.mjs');
mkdirSync(join(root, 'ops/setup'), { recursive: true });
cpSync(fileURLToPath(new URL('../../ops/setup/stripped.mjs', import.meta.url)), stripped);
writeFileSync(join(root, 'package.json'), '{"type":"module"}');

const run = (text: string) => {
  writeFileSync(join(root, 'script.ts'), text);
  return spawnSync(process.execPath, ['--import', pathToFileURL(stripped).href, join(root, 'script.ts')], {
    encoding: 'utf8',
  });
};

test('a relative import is the file of that name, without a look for links', () => {
  writeFileSync(join(root, 'target.ts'), `console.log(import.meta.url.split('/').at(-1) satisfies unknown);`);
  symlinkSync(join(root, 'target.ts'), join(root, 'link.ts'));
  assert.is(run(`import './link.ts';`).stdout, 'link.ts\n');
});

test('a missing file is named', () => {
  assert.match(run(`import './none.ts';`).stderr, /no such file or directory, open '.*none\.ts'/);
});

test('other names and other extensions are looked for as usual', () => {
  writeFileSync(join(root, 'plain.mjs'), `export const plain = 1;`);
  const { stdout } = run(
    `import { plain } from './plain.mjs'; import 'node:fs'; console.log(plain as number);`,
  );
  assert.is(stdout, '1\n');
});

test.run();
