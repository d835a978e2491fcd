/**
 * Finds the row of a request: a trie over percent-decoded path segments.
 *
 * Owns the grammar of paths: segments are decoded once; an encoded slash, an empty segment (so also a
 * trailing slash), `.`, `..` and control characters match nothing. A fixed segment beats `@{name}`, which
 * beats `{name}`. The matcher finds the path first and the method second, so a known path with another
 * method is told apart from an unknown path. Pure. Used by dispatch.ts and by `npm run routes`.
 */
import type { Method } from '../route.ts';

/** Segments in the longest row path, with room: longer request paths are refused unread. */
const segmentsMax = 12;

interface TrieNode<T> {
  /** How its segment becomes a parameter. */
  readonly segmentKind: 'fixed' | 'at' | 'any';
  readonly fixed: Map<string, TrieNode<T>>;
  at: TrieNode<T> | null;
  any: TrieNode<T> | null;
  readonly methods: Map<string, T>;
  allow: string;
}

export interface RouteMatch<T> {
  /** The row, or `undefined` when the path knows no such method. */
  readonly route: T | undefined;
  /** Values of the path's parameters, in order. */
  readonly values: string[];
  /** The methods of this path as an `Allow` header, HEAD and OPTIONS included. */
  readonly allow: string;
}

export interface Matcher<T> {
  /** `null` for an unknown path. HEAD finds the GET row. */
  find(method: string, path: string): RouteMatch<T> | null;
}

export interface MatcherEntry<T> {
  readonly method: Method;
  readonly path: string;
  readonly route: T;
}

const createTrieNode = <T>(segmentKind: TrieNode<T>['segmentKind']): TrieNode<T> => ({
  segmentKind,
  fixed: new Map(),
  at: null,
  any: null,
  methods: new Map(),
  allow: '',
});

/** Names of the parameters of a row's path, in order. */
export const listParameterNames = (path: string): string[] =>
  [...path.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1] as string);

const getChild = <T>(node: TrieNode<T>, segment: string): TrieNode<T> => {
  if (/^@\{[a-z_]+\}$/.test(segment)) {
    node.at ??= createTrieNode('at');
    return node.at;
  }
  if (/^\{[a-z_]+\}$/.test(segment)) {
    node.any ??= createTrieNode('any');
    return node.any;
  }
  if (/[{}%]/.test(segment) || segment === '') throw new Error(`a row's path has a bad segment "${segment}"`);
  const known = node.fixed.get(segment) ?? createTrieNode<T>('fixed');
  node.fixed.set(segment, known);
  return known;
};

const insert = <T>(root: TrieNode<T>, entry: MatcherEntry<T>): void => {
  if (!entry.path.startsWith('/')) throw new Error(`a row's path must begin with a slash: ${entry.path}`);
  let node = root;
  if (entry.path !== '/')
    for (const segment of entry.path.slice(1).split('/')) node = getChild(node, segment);
  if (node.methods.has(entry.method)) throw new Error(`two rows for ${entry.method} ${entry.path}`);
  node.methods.set(entry.method, entry.route);
  const names = [...node.methods.keys()];
  if (names.includes('GET')) names.push('HEAD');
  node.allow = [...names, 'OPTIONS'].join(', ');
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused here.
const forbidden = /[\u0000-\u001f\u007f/]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same for a whole path, which has its slashes.
const needsDecoding = /[%\u0000-\u001f\u007f]/;

const decodeSegment = (raw: string): string | null => {
  let segment = raw;
  if (raw.includes('%')) {
    try {
      segment = decodeURIComponent(raw);
    } catch {
      return null; // Malformed percent-encoding names nothing.
    }
  }
  return forbidden.test(segment) ? null : segment;
};

/** The decoded segments of a path, or `null` when it can match nothing. */
const splitPath = (path: string): string[] | null => {
  if (path === '/') return [];
  if (path.charCodeAt(0) !== 47) return null;
  const careful = needsDecoding.test(path);
  const segments: string[] = [];
  for (let from = 1; from !== 0; ) {
    const slash = path.indexOf('/', from);
    const raw = slash === -1 ? path.slice(from) : path.slice(from, slash);
    const segment = careful ? decodeSegment(raw) : raw;
    if (segment === null || segment === '' || segment === '.' || segment === '..') return null;
    if (segments.push(segment) > segmentsMax) return null;
    from = slash + 1;
  }
  return segments;
};

/** A path on its way down the trie. */
interface TrieWalk {
  readonly segments: readonly string[];
  /** Filled on the way, and emptied again on the way back from a dead end. */
  readonly values: string[];
}

const takeParameter = <T>(child: TrieNode<T>, walk: TrieWalk, from: number): TrieNode<T> | null => {
  const kept = walk.values.length;
  const segment = walk.segments[from] as string;
  walk.values.push(child.segmentKind === 'at' ? segment.slice(1) : segment);
  const end = descend(child, walk, from + 1);
  if (end === null) walk.values.length = kept;
  return end;
};

/** Whether it is an at sign and something that a segment may be. */
const isAtSegment = (segment: string): boolean =>
  segment.charCodeAt(0) === 64 && segment !== '@' && segment !== '@.' && segment !== '@..';

/** The node of the segments from `from` on, fixed ones first. Its depth is bounded by `segmentsMax`. */
const descend = <T>(node: TrieNode<T>, walk: TrieWalk, from: number): TrieNode<T> | null => {
  if (from === walk.segments.length) return node.methods.size > 0 ? node : null;
  const segment = walk.segments[from] as string;
  const fixed = node.fixed.get(segment);
  const found = fixed === undefined ? null : descend(fixed, walk, from + 1);
  if (found !== null) return found;
  if (node.at !== null && isAtSegment(segment)) {
    const end = takeParameter(node.at, walk, from);
    if (end !== null) return end;
  }
  return node.any === null ? null : takeParameter(node.any, walk, from);
};

const toRouteMatch = <T>(node: TrieNode<T>, method: string, values: string[]): RouteMatch<T> => ({
  route: node.methods.get(method === 'HEAD' ? 'GET' : method),
  values,
  allow: node.allow,
});

/** Paths without a parameter, by their whole text: fixed segments beat all others, so one look is enough. */
const indexPlainPaths = <T>(
  root: TrieNode<T>,
  entries: readonly MatcherEntry<T>[],
): ReadonlyMap<string, TrieNode<T>> => {
  const plain = new Map<string, TrieNode<T>>();
  for (const { path } of entries) {
    const node = path.includes('{')
      ? null
      : descend(root, { segments: splitPath(path) ?? [], values: [] }, 0);
    if (node !== null) plain.set(path, node);
  }
  return plain;
};

/** Builds the matcher. Throws when two rows claim the same method and path. */
export const createMatcher = <T>(entries: readonly MatcherEntry<T>[]): Matcher<T> => {
  const root = createTrieNode<T>('fixed');
  for (const entry of entries) insert(root, entry);
  const plain = indexPlainPaths(root, entries);
  return {
    find: (method, path) => {
      const known = plain.get(path);
      if (known !== undefined) return toRouteMatch(known, method, []);
      const segments = splitPath(path);
      if (segments === null) return null;
      const values: string[] = [];
      const node = descend(root, { segments, values }, 0);
      return node === null ? null : toRouteMatch(node, method, values);
    },
  };
};
