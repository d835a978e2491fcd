/**
 * How much of the disk a folder takes.
 */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const blockBytes = 512;

/**
 * Bytes of all files below for whose folder it holds; files that are removed meanwhile count nothing.
 */
export const readFolderBytes = (folder: string, holds = (_parent: string): boolean => true): number => {
  let bytes = 0;
  try {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
      if (entry.isFile() && holds(entry.parentPath))
        bytes += readFileBytes(join(entry.parentPath, entry.name));
  } catch {
    return bytes;
  }
  return bytes;
};

const readFileBytes = (path: string): number => {
  try {
    return lstatSync(path).blocks * blockBytes;
  } catch {
    return 0;
  }
};
