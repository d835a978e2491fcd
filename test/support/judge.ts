/**
 * Judges a file with packages of npm that nothing else needs. Needs the registry of npm.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';

/** Runs a script, a module that gets the path of the file, and returns what it prints. */
export const judgeWith = (packages: readonly string[], script: string, file: string): string => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-judge-'));
  try {
    writeFileSync(join(folder, 'judge.mjs'), script);
    const install = ['install', '--prefix', folder, '--no-audit', '--no-fund', ...packages];
    assert.is(spawnSync('npm', install).status, 0, `npm ${install.join(' ')}`);
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, 'judge.mjs'), file], {
      encoding: 'utf8',
    });
    assert.is(status, 0, stderr);
    return stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
