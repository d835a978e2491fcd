/**
 * Writes the Python package of the client, a wheel and a source distribution, ready for `twine upload`: by
 * Python's own tools, from a copy of the sources beside the license. Equal sources give equal bytes.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const toPath = (place: string): string => fileURLToPath(new URL(`../../${place}`, import.meta.url));

/** What the Python needs to build it; pyproject.toml names the same version of the second. */
export const pythonTools = ['build==1.6.1', 'flit_core==3.12.0'];

/** The earliest time of a zip archive. */
const sourceDate = 'SOURCE_DATE_EPOCH=315532800';
const isSource = (path: string): boolean => !/__pycache__|_cache$/.test(path);

/** Writes both into this folder, which it creates. Returns their names. Throws what is missing. */
export const writePythonPackage = (folder: string, python = 'python3'): readonly string[] => {
  const sources = mkdtempSync(join(tmpdir(), 'rollcall-client-python-'));
  try {
    cpSync(toPath('http/client-python'), sources, { recursive: true, filter: isSource });
    cpSync(toPath('LICENSE'), join(sources, 'LICENSE'));
    const words = [sourceDate, python, '-m', 'build', '--no-isolation', '--outdir', resolve(folder), sources];
    const { status, error, stdout, stderr } = spawnSync('env', words, { encoding: 'utf8' });
    if (status === 0) return readdirSync(folder).sort();
    const said = `${stdout ?? ''}${stderr ?? error?.message}`.trim().slice(-500);
    throw new Error(
      `${python} cannot build the package: ${said}\nInstall Python and its tools: ` +
        `${python} -m pip install ${pythonTools.join(' ')}`,
    );
  } finally {
    rmSync(sources, { recursive: true });
  }
};
