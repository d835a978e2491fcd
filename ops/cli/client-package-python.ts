/**
 * Writes the Python package of the client, a wheel and a source distribution, ready for `twine upload`. A
 * wheel is a zip archive and a source distribution a tar archive, so no Python is needed. Equal sources give
 * equal bytes.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32, gzipSync } from 'node:zlib';

interface ArchiveFile {
  readonly path: string;
  readonly content: Buffer;
}

const moduleName = 'rollcall_client';
const toPath = (place: string): string => fileURLToPath(new URL(`../../${place}`, import.meta.url));
const read = (place: string): Buffer => readFileSync(toPath(place));

/** Files of 1980-01-01, the earliest date of a zip archive, as it writes it. */
const zipDate = 0x21;
const utf8Flag = 0x800;
const permissions = 0o100644;

/** The fields that the header of a file and its entry in the directory have in common. */
const toZipFields = ({ path, content }: ArchiveFile): Buffer => {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0); // version that can read it
  fields.writeUInt16LE(utf8Flag, 2);
  fields.writeUInt16LE(zipDate, 8); // after the method, 0 (stored), and the time
  fields.writeUInt32LE(crc32(content), 10);
  fields.writeUInt32LE(content.length, 14);
  fields.writeUInt32LE(content.length, 18);
  fields.writeUInt16LE(Buffer.byteLength(path), 22);
  return fields;
};

/** Packs files as they are: these are small, and every reader takes it. */
const packZip = (files: readonly ArchiveFile[]): Buffer => {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const file of files) {
    const name = Buffer.from(file.path);
    const fields = toZipFields(file);
    const entry = Buffer.alloc(14);
    entry.writeUInt32LE(permissions * 0x10000, 6); // attributes, after comment, disk and kind
    entry.writeUInt32LE(at, 10);
    directory.push(Buffer.from('PK\x01\x02\x14\x03', 'latin1'), fields, entry, name);
    const packed = [Buffer.from('PK\x03\x04'), fields, name, file.content];
    parts.push(...packed);
    at += packed.reduce((sum, { length }) => sum + length, 0);
  }
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, ...directory, end]);
};

const tarBlock = 512;

/** Packs files as POSIX tar does. Paths have up to 100 bytes. */
const packTar = (files: readonly ArchiveFile[]): Buffer => {
  const parts = files.flatMap(({ path, content }) => {
    const head = Buffer.alloc(tarBlock);
    const octal = (value: number, width: number): string => value.toString(8).padStart(width, '0');
    head.write(path, 0, 100);
    head.write(`${octal(0o644, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100);
    head.write(`${octal(content.length, 11)}\0${octal(315_532_800, 11)}\0        0`, 124);
    head.write('ustar\x0000', 257, 'latin1');
    const sum = head.reduce((total, byte) => total + byte, 0);
    head.write(`${octal(sum, 6)}\0 `, 148);
    return [head, content, Buffer.alloc((tarBlock - (content.length % tarBlock)) % tarBlock)];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * tarBlock)]);
};

/** What pyproject.toml says of the project: one text per line. */
const readProject = (): ReadonlyMap<string, string> => {
  const lines = read('http/client-python/pyproject.toml')
    .toString()
    .matchAll(/^([a-z-]+) = "(.*)"$/gm);
  return new Map([...lines].map(([, name = '', text = '']) => [name, text]));
};

const toMetadata = (project: ReadonlyMap<string, string>): Buffer =>
  Buffer.from(
    [
      'Metadata-Version: 2.4',
      `Name: ${project.get('name')}`,
      `Version: ${project.get('version')}`,
      `Summary: ${project.get('description')}`,
      `Requires-Python: ${project.get('requires-python')}`,
      `License-Expression: ${project.get('license')}`,
      'License-File: LICENSE',
      'Description-Content-Type: text/markdown',
      '',
      read('http/client-python/README.md').toString(),
    ].join('\n'),
  );

const toWheel = (modules: readonly ArchiveFile[], metadata: Buffer, version: string): Buffer => {
  const info = `${moduleName}-${version}.dist-info`;
  const wheel = 'Wheel-Version: 1.0\nGenerator: rollcall\nRoot-Is-Purelib: true\nTag: py3-none-any\n';
  const files = [
    ...modules,
    { path: `${info}/licenses/LICENSE`, content: read('LICENSE') },
    { path: `${info}/METADATA`, content: metadata },
    { path: `${info}/WHEEL`, content: Buffer.from(wheel) },
  ];
  const record = files.map(({ path, content }) => {
    const hash = createHash('sha256').update(content).digest('base64url');
    return `${path},sha256=${hash},${content.length}\n`;
  });
  const last = { path: `${info}/RECORD`, content: Buffer.from(`${record.join('')}${info}/RECORD,,\n`) };
  return packZip([...files, last]);
};

/** Writes both into this folder, which it creates. Returns their names. */
export const writePythonPackage = (folder: string): readonly string[] => {
  const project = readProject();
  const version = project.get('version') as string;
  const source = 'http/client-python';
  const modules = readdirSync(toPath(`${source}/${moduleName}`))
    .filter((name) => /\.py$|^py\.typed$/.test(name))
    .sort()
    .map((name) => ({ path: `${moduleName}/${name}`, content: read(`${source}/${moduleName}/${name}`) }));
  const metadata = toMetadata(project);
  const root = `${moduleName}-${version}`;
  const sources = [
    ...['pyproject.toml', 'README.md'].map((path) => ({ path, content: read(`${source}/${path}`) })),
    ...[{ path: 'LICENSE', content: read('LICENSE') }, ...modules, { path: 'PKG-INFO', content: metadata }],
  ].map(({ path, content }) => ({ path: `${root}/${path}`, content }));
  const written = { wheel: `${root}-py3-none-any.whl`, source: `${root}.tar.gz` };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, written.wheel), toWheel(modules, metadata, version));
  writeFileSync(join(folder, written.source), gzipSync(packTar(sources)));
  return Object.values(written);
};
