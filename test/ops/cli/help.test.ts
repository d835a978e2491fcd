/**
 * The tools of package.json that write files of this repository: with --help they only explain.
 */
import { spawnSync } from 'node:child_process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const test = suite('help of tools');

for (const file of ['ops/cli/document.ts']) {
  test(`${file} --help`, () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [...process.execArgv, file, '--help'], {
      encoding: 'utf8',
    });

    assert.equal([status, stderr], [0, '']);
    assert.match(stdout, /^`npm run .*`: writes /);
  });
}

test.run();
