/**
 * Writes the package of the client into a folder, ready for `npm publish`: one file of JavaScript and one of
 * types, each for `import` and for `require`, and the program. Needs the compiler, a development dependency.
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
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { buildClientScript } from '../../http/openapi/client-script.ts';

const toPath = (place: string): string => fileURLToPath(new URL(`../../${place}`, import.meta.url));

const compilerFlags =
  '--declaration --stripInternal --emitDeclarationOnly --noEmit false --ignoreConfig --module nodenext ' +
  '--target es2024 --strict --allowImportingTsExtensions --verbatimModuleSyntax --types node ' +
  '--skipLibCheck --erasableSyntaxOnly';

/** Declarations of all files, joined; they import only each other. */
const buildDeclarations = async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-client-types-'));
  try {
    const args = [...compilerFlags.split(' '), '--outDir', folder, toPath('http/client/index.ts')];
    await promisify(execFile)(toPath('node_modules/.bin/tsc'), args, { cwd: toPath('.') });
    const names = readdirSync(folder).filter((name) => name !== 'index.d.ts');
    const texts = names.map((name) => readFileSync(join(folder, name), 'utf8'));
    return texts.map((text) => text.replace(/^import .*$/gm, '').trim()).join('\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** Where the sources of this package are, as npm wants it; `{}` in a copy without a git remote. */
const findRepository = async (): Promise<object> => {
  const attempt = promisify(execFile)('git', ['remote', 'get-url', 'origin'], { cwd: toPath('.') });
  const url = await attempt.then(
    ({ stdout }) => stdout.trim(),
    () => '',
  );
  // A path of this machine, or a password in an address, must not be published.
  const isPublic = /^(https:\/\/[^@]+|(ssh:\/\/)?git@.+)$/.test(url);
  return isPublic ? { repository: { type: 'git', url, directory: 'http/client' } } : {};
};

const buildProgram = (): string =>
  stripTypeScriptTypes(readFileSync(toPath('http/client/cli.ts'), 'utf8'))
    .replace("'./index.ts'", "'./index.js'")
    .replace("'./package.json'", "'../package.json'");

/** Writes the package into this folder, which it creates: everything, or nothing when it rejects. */
export const writeClientPackage = async (folder: string): Promise<void> => {
  const declarations = `${await buildDeclarations()}\n`;
  const manifest = JSON.parse(readFileSync(toPath('http/client/package.json'), 'utf8'));
  const described = { ...manifest, ...(await findRepository()) };
  mkdirSync(join(folder, 'dist'), { recursive: true });
  copyFileSync(toPath('LICENSE'), join(folder, 'LICENSE'));
  copyFileSync(toPath('http/client/README.md'), join(folder, 'README.md'));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(described, null, 2)}\n`);
  writeFileSync(join(folder, 'dist/index.js'), buildClientScript());
  writeFileSync(join(folder, 'dist/index.cjs'), buildClientScript('commonjs'));
  writeFileSync(join(folder, 'dist/cli.js'), buildProgram());
  for (const name of ['index.d.ts', 'index.d.cts']) writeFileSync(join(folder, 'dist', name), declarations);
};
