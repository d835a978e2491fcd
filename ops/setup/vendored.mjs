/**
 * Fetches single files of packages whose other files and dependencies are not needed: `vendored` in
 * package.json names the package, its version, the integrity of its archive (as npm records it) and the file.
 *
 * npm downloads the archive, so its registry, proxy and cache apply. The file is stored compressed, with the
 * licence in front, as node_modules/.rollcall/NAME.gz.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** Resolves to `null` when every file is in `folder`, otherwise to the problem. */
export const fetchVendored = async (folder, vendored, runNpm) => {
  for (const [name, pin] of Object.entries(vendored)) {
    const temporary = mkdtempSync(join(folder, 'fetch-'));
    try {
      const problem = fetchFile({ name, pin, folder, temporary, runNpm });
      if (problem !== null) return problem;
    } finally {
      rmSync(temporary, { recursive: true, force: true });
    }
  }
  return null;
};

const fetchFile = ({ name, pin, folder, temporary, runNpm }) => {
  const { version, integrity, file, savedAs, licence } = pin;
  const failure = runNpm(['pack', `${name}@${version}`, '--pack-destination', temporary], temporary);
  if (failure !== null) return failure;
  const archive = join(temporary, readdirSync(temporary)[0]);
  const digest = createHash('sha512').update(readFileSync(archive)).digest('base64');
  if (`sha512-${digest}` !== integrity) return `EINTEGRITY: ${name}@${version} is not the expected archive`;
  const unpacked = spawnSync('tar', ['-xzf', archive, '-C', temporary, `package/${file}`], {
    encoding: 'utf8',
  });
  if (unpacked.status !== 0) return `tar failed: ${unpacked.error?.message ?? unpacked.stderr.trim()}`;
  const text = readFileSync(new URL(licence, import.meta.url), 'utf8').trim();
  const notice = `/*!\n${name} ${version}\n\n${text}\n*/\n`;
  const packed = join(temporary, savedAs);
  writeFileSync(packed, gzipSync(notice + readFileSync(join(temporary, 'package', file), 'utf8')));
  renameSync(packed, join(folder, savedAs));
  return null;
};
