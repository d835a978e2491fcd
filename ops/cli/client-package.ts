/**
 * Writes the package of the client into a folder, ready for `npm publish`: one file of JavaScript, one of
 * types. Used by client.ts (`npm run client`) and a test.
 */
import { execFile } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { buildClientScript } from '../../http/openapi/client-script.ts';

const toPath = (place: string): string => fileURLToPath(new URL(`../../${place}`, import.meta.url));

/** Declarations of all files, joined; they import only each other. */
const buildDeclarations = async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-client-types-'));
  try {
    const flags = [
      '--declaration',
      '--stripInternal',
      '--emitDeclarationOnly',
      '--noEmit',
      'false',
      '--outDir',
      folder,
    ];
    const settings = ['--ignoreConfig', '--module', 'nodenext', '--target', 'es2024', '--strict'];
    const allowed = [
      '--allowImportingTsExtensions',
      '--verbatimModuleSyntax',
      '--types',
      'node',
      '--skipLibCheck',
    ];
    await promisify(execFile)(
      toPath('node_modules/.bin/tsc'),
      [...flags, ...settings, ...allowed, '--erasableSyntaxOnly', toPath('http/client/index.ts')],
      { cwd: toPath('.') },
    );
    const names = readdirSync(folder).filter((name) => name !== 'index.d.ts');
    const texts = names.map((name) => readFileSync(join(folder, name), 'utf8'));
    return texts.map((text) => text.replace(/^import .*$/gm, '').trim()).join('\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** Writes the package into this folder, which exists. Rejects when the declarations cannot be made. */
export const writeClientPackage = async (folder: string): Promise<void> => {
  for (const name of ['package.json', 'README.md'])
    copyFileSync(toPath(`http/client/${name}`), join(folder, name));
  mkdirSync(join(folder, 'dist'), { recursive: true });
  writeFileSync(join(folder, 'dist/index.js'), buildClientScript());
  writeFileSync(join(folder, 'dist/index.d.ts'), `${await buildDeclarations()}\n`);
};
