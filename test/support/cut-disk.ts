/**
 * A simulated disk whose power can be cut: follows a record of changes (disk-record.ts), and writes the
 * folder as a cut may leave it.
 *
 * Certain to be on disk is what was synced: of a file the bytes written before its sync began, and a new,
 * renamed or removed name once its folder was synced. Of the rest any sectors may be there, and the first
 * changes of names.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Random } from '../../bench/shared/random.ts';
import type { Entry } from './disk-record.ts';

type Change = Pick<Entry, 'index' | 'kind' | 'at' | 'data'>;
interface Inode {
  /** Path in `base` of the content at the beginning; `''` for a new file. */
  readonly origin: string;
  /** What is certain to be on disk, once it differs from the origin. */
  synced: Content | null;
  /** Writes and truncations since then. */
  changes: Change[];
}
type Names = Map<string, Inode | 'folder'>;
/** A change of names, certain once the folder was synced. */
interface NameChange {
  readonly index: number;
  readonly folder: string;
  readonly apply: (names: Names) => void;
}
/** Bytes in a buffer with room to grow. */
interface Content {
  bytes: Buffer;
  length: number;
}

export interface CutDisk {
  apply(entry: Entry): void;
  /** Writes the new folder as a cut leaves it now, with this share of what is not certain. */
  writeInto(folder: string, share: number, random: Random): void;
  /** What differs between the folder and all changes, synced or not; files mapped for writing aside. */
  findDifferences(folder: string): string[];
  /** Files that a process mapped for writing: their bytes change without an entry. */
  readonly mapped: ReadonlySet<string>;
}

const sectorBytes = 512;

const grow = (content: Content, length: number): void => {
  if (length > content.bytes.length) {
    const larger = Buffer.alloc(Math.max(length, content.bytes.length * 2));
    content.bytes.copy(larger, 0, 0, content.length);
    content.bytes = larger;
  }
  content.length = Math.max(content.length, length);
};

const put = (content: Content, at: number, bytes: Buffer): void => {
  grow(content, at + bytes.length);
  bytes.copy(content.bytes, at);
};

const applyChange = (content: Content, { kind, at, data }: Change): void => {
  if (kind === 'write') put(content, at, data);
  else if (at < content.length) {
    content.bytes.fill(0, at, content.length);
    content.length = at;
  } else grow(content, at);
};

/** Some of a change: any sectors of a write. */
const applyShare = (content: Content, change: Change, isThere: () => boolean): void => {
  const { kind, at, data } = change;
  if (kind !== 'write') {
    if (isThere()) applyChange(content, change);
    return;
  }
  // The length of a file may be there before its bytes.
  if (isThere()) grow(content, at + data.length);
  for (let done = 0; done < data.length; ) {
    const bytes = sectorBytes - ((at + done) % sectorBytes);
    if (isThere()) put(content, at + done, data.subarray(done, done + bytes));
    done += bytes;
  }
};

const isBelow = (path: string, folder: string): boolean => path.startsWith(`${folder}/`);

/** Gives a folder and everything in it, or a file, another name. */
const moveNames = (names: Names, from: string, to: string): void => {
  for (const [path, entry] of [...names]) {
    if (path !== from && !isBelow(path, from)) continue;
    names.delete(path);
    names.set(to + path.slice(from.length), entry);
  }
};

const listNames = (base: string, live: string): Names => {
  const entries = readdirSync(base, { recursive: true, withFileTypes: true });
  const names: Names = new Map([[live, 'folder']]);
  for (const entry of entries) {
    const origin = relative(base, join(entry.parentPath, entry.name));
    const inode: Inode = { origin, synced: null, changes: [] };
    names.set(join(live, origin), entry.isDirectory() ? 'folder' : inode);
  }
  return names;
};

interface State {
  readonly base: string;
  readonly live: string;
  readonly names: Names;
  readonly syncedNames: Names;
  nameChanges: NameChange[];
  /** By number, because a name may be another file's by now. */
  readonly inodes: Map<number, Inode>;
  readonly mapped: Set<string>;
}

const readSynced = ({ base }: State, { synced, origin }: Inode): Content => {
  if (synced !== null) return synced;
  const bytes = origin === '' ? Buffer.alloc(0) : readFileSync(join(base, origin));
  return { bytes, length: bytes.length };
};

const copySynced = (state: State, inode: Inode): Content => {
  const { bytes, length } = readSynced(state, inode);
  return { bytes: Buffer.from(bytes.subarray(0, length)), length };
};

const makeCertain = (state: State, inode: Inode, isCertain: (change: Change) => boolean): void => {
  if (!inode.changes.some(isCertain)) return;
  const content = readSynced(state, inode);
  for (const change of inode.changes.filter(isCertain)) applyChange(content, change);
  inode.synced = content;
  inode.changes = inode.changes.filter((change) => !isCertain(change));
};

const syncFolder = (state: State, { path, at }: Entry): void => {
  const isCertain = ({ folder, index }: NameChange): boolean => folder === path && index < at;
  for (const { apply } of state.nameChanges.filter(isCertain)) apply(state.syncedNames);
  state.nameChanges = state.nameChanges.filter((change) => !isCertain(change));
};

const findInode = ({ inodes, names }: State, { file, path }: Entry): Inode | undefined => {
  const named = names.get(path);
  if (!inodes.has(file) && named !== undefined && named !== 'folder') inodes.set(file, named);
  return inodes.get(file);
};

const changeFile = (state: State, entry: Entry): void => {
  const inode = findInode(state, entry);
  inode?.changes.push(entry);
  if (inode !== undefined && entry.durable) makeCertain(state, inode, ({ index }) => index === entry.index);
};

const sync = (state: State, entry: Entry): void => {
  if (state.names.get(entry.path) === 'folder') syncFolder(state, entry);
  const inode = findInode(state, entry);
  if (inode !== undefined) makeCertain(state, inode, ({ index }) => index < entry.at);
};

/** What an entry does to the names, in memory at once and on disk later; `null` for none. */
const toNameChange = (state: State, { kind, path, other, file }: Entry): NameChange['apply'] | null => {
  const named = state.names.get(path);
  const inode: Inode = { origin: '', synced: null, changes: [] };
  if (kind === 'file') state.inodes.set(file, inode);
  if (kind === 'file') return (names) => names.set(path, inode);
  if (kind === 'folder') return (names) => names.set(path, 'folder');
  if (kind === 'remove') return (names) => names.delete(path);
  if (kind === 'link') return (names) => names.set(other, named ?? inode);
  if (kind !== 'rename') return null;
  return (names) => {
    moveNames(names, path, other);
    if (named !== undefined) names.set(other, named);
  };
};

const applyEntry = (state: State, entry: Entry): void => {
  const { kind, path, other, index } = entry;
  const apply = toNameChange(state, entry);
  if (apply !== null) {
    apply(state.names);
    state.nameChanges.push({ index, folder: dirname(other || path), apply });
  } else if (kind === 'sync') sync(state, entry);
  else if (kind === 'map') state.mapped.add(path);
  else changeFile(state, entry);
};

/** `isThere` decides about each part that is not certain; `null`: none of them is. */
const writeFile = (
  state: State,
  { inode, target }: { readonly inode: Inode; readonly target: string },
  isThere: (() => boolean) | null,
): void => {
  const isOriginal = inode.synced === null && inode.origin !== '';
  if (isOriginal && (isThere === null || inode.changes.length === 0)) {
    copyFileSync(join(state.base, inode.origin), target);
    return;
  }
  const content = copySynced(state, inode);
  if (isThere !== null) for (const change of inode.changes) applyShare(content, change, isThere);
  writeFileSync(target, content.bytes.subarray(0, content.length));
};

const writeInto = (state: State, folder: string, isThere: (() => boolean) | null): void => {
  const { live, syncedNames, nameChanges } = state;
  const names = new Map(syncedNames);
  for (const { apply } of nameChanges) {
    // Names reach the disk in order.
    if (isThere === null || !isThere()) break;
    apply(names);
  }
  const folders = new Set([dirname(live)]);
  for (const [path, inode] of [...names].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const target = join(folder, relative(live, path));
    // A name can only be there with its folder, and that with its own.
    if (!folders.has(dirname(path))) continue;
    if (inode === 'folder') {
      mkdirSync(target, { recursive: true });
      folders.add(path);
    } else writeFile(state, { inode, target }, isThere);
  }
};

const isDifferent = (state: State, expected: Inode | 'folder' | undefined, path: string): boolean => {
  if (expected === undefined || !existsSync(path)) return true;
  if (expected === 'folder' || statSync(path).isDirectory()) return expected !== 'folder';
  const content = copySynced(state, expected);
  for (const change of expected.changes) applyChange(content, change);
  return !readFileSync(path).equals(content.bytes.subarray(0, content.length));
};

/** `live` was a synced copy of `base` when the record began. */
export const createCutDisk = (base: string, live: string): CutDisk => {
  const names = listNames(base, live);
  const state: State = {
    base,
    live,
    names,
    syncedNames: new Map(names),
    nameChanges: [],
    inodes: new Map(),
    mapped: new Set(),
  };
  return {
    mapped: state.mapped,
    apply: (entry) => applyEntry(state, entry),
    writeInto: (folder, share, random) =>
      writeInto(state, folder, share === 0 ? null : () => random.chance(share)),
    findDifferences: (folder) => {
      const paths = new Set([...names.keys(), ...listNames(folder, live).keys()]);
      const isOther = (path: string): boolean =>
        isDifferent(state, names.get(path), join(folder, relative(live, path)));
      return [...paths].filter((path) => !state.mapped.has(path) && isOther(path));
    },
  };
};
