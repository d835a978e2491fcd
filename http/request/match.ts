/**
 * Finds the route of a request, with a trie over percent-decoded path segments.
 *
 * Owns the grammar of paths: segments are decoded once; an encoded slash, an empty segment (so also a
 * trailing slash), `.`, `..` and control characters match nothing. A fixed segment beats `@{name}`, which
 * beats `{name}`. The matcher finds the path first and the method second, to distinguish an unknown method
 * from an unknown path. Pure.
 */
import type { Method } from '../route.ts';

/** More segments than the longest route has; request paths with more match nothing. */
const segmentsMax = 12;

interface TrieNode<T> {
  /** `fixed`: a fixed text; `at`: an at sign and a parameter; `any`: the whole segment is a parameter. */
  readonly segmentKind: 'fixed' | 'at' | 'any';
  readonly fixed: Map<string, TrieNode<T>>;
  at: TrieNode<T> | null;
  any: TrieNode<T> | null;
  readonly methods: Map<string, T>;
  allow: string;
}

export interface RouteMatch<T> {
  /** The entry of the route, `undefined` when the path does not support the method. */
  readonly route: T | undefined;
  /** Values of the path's parameters, in order. */
  readonly values: string[];
  /** The methods of this path as an `Allow` header, HEAD and OPTIONS included. */
  readonly allow: string;
}

export interface Matcher<T> {
  /** Returns `null` for an unknown path. HEAD finds the GET route. */
  find(method: string, path: string): RouteMatch<T> | null;
}

/** What a matcher finds: it has a route. */
interface MatcherEntry {
  readonly route: { readonly method: Method; readonly path: string };
}

const createTrieNode = <T>(segmentKind: TrieNode<T>['segmentKind']): TrieNode<T> => ({
  segmentKind,
  fixed: new Map(),
  at: null,
  any: null,
  methods: new Map(),
  allow: '',
});

/** Names of the parameters of a route's path, in order. */
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
  if (/[{}%]/.test(segment) || segment === '')
    throw new Error(`a route's path has an invalid segment "${segment}"`);
  const child = node.fixed.get(segment) ?? createTrieNode<T>('fixed');
  node.fixed.set(segment, child);
  return child;
};

const insert = <T extends MatcherEntry>(root: TrieNode<T>, entry: T): void => {
  const { method, path } = entry.route;
  if (!path.startsWith('/')) throw new Error(`a route's path must begin with a slash: ${path}`);
  let node = root;
  if (path !== '/') for (const segment of path.slice(1).split('/')) node = getChild(node, segment);
  if (node.methods.has(method)) throw new Error(`two routes for ${method} ${path}`);
  node.methods.set(method, entry);
  const names = [...node.methods.keys()];
  if (names.includes('GET')) names.push('HEAD');
  node.allow = [...names, 'OPTIONS'].join(', ');
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this rejects.
const forbidden = /[\u0000-\u001f\u007f/]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same for a whole path, which contains slashes.
const needsDecoding = /[%\u0000-\u001f\u007f]/;

const decodeSegment = (raw: string): string | null => {
  let segment = raw;
  if (raw.includes('%')) {
    try {
      segment = decodeURIComponent(raw);
    } catch {
      return null; // Malformed percent-encoding matches nothing.
    }
  }
  return forbidden.test(segment) ? null : segment;
};

/** The decoded segments of a path, `null` when it cannot match anything. */
const splitPath = (path: string): string[] | null => {
  if (path === '/') return [];
  if (path.charCodeAt(0) !== 47) return null;
  const mustDecode = needsDecoding.test(path);
  const segments: string[] = [];
  for (let from = 1; from !== 0; ) {
    const slash = path.indexOf('/', from);
    const raw = slash === -1 ? path.slice(from) : path.slice(from, slash);
    const segment = mustDecode ? decodeSegment(raw) : raw;
    if (segment === null || segment === '' || segment === '.' || segment === '..') return null;
    if (segments.push(segment) > segmentsMax) return null;
    from = slash + 1;
  }
  return segments;
};

/** The state of one search down the trie. */
interface TrieWalk {
  readonly segments: readonly string[];
  /** Filled on the way down, and truncated when a branch does not match. */
  readonly values: string[];
}

const takeParameter = <T>(child: TrieNode<T>, walk: TrieWalk, from: number): TrieNode<T> | null => {
  const { length } = walk.values;
  const segment = walk.segments[from] as string;
  walk.values.push(child.segmentKind === 'at' ? segment.slice(1) : segment);
  const end = descend(child, walk, from + 1);
  if (end === null) walk.values.length = length;
  return end;
};

/** Whether it is an at sign followed by a valid segment. */
const isAtSegment = (segment: string): boolean =>
  segment.charCodeAt(0) === 64 && segment !== '@' && segment !== '@.' && segment !== '@..';

/** Finds the node of the segments from `from` on, fixed ones first. At most `segmentsMax` levels deep. */
const descend = <T>(node: TrieNode<T>, walk: TrieWalk, from: number): TrieNode<T> | null => {
  if (from === walk.segments.length) return node.methods.size > 0 ? node : null;
  const segment = walk.segments[from] as string;
  const fixed = node.fixed.get(segment);
  const match = fixed === undefined ? null : descend(fixed, walk, from + 1);
  if (match !== null) return match;
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

/** Indexes paths without parameters by their whole text. Fixed segments win, so one look-up is enough. */
const indexPlainPaths = <T extends MatcherEntry>(root: TrieNode<T>, entries: readonly T[]) => {
  const plain = new Map<string, TrieNode<T>>();
  for (const { route } of entries) {
    const { path } = route;
    const node = path.includes('{')
      ? null
      : descend(root, { segments: splitPath(path) ?? [], values: [] }, 0);
    if (node !== null) plain.set(path, node);
  }
  return plain;
};

/** Builds the matcher. Throws when two routes have the same method and path. */
export const createMatcher = <T extends MatcherEntry>(entries: readonly T[]): Matcher<T> => {
  const root = createTrieNode<T>('fixed');
  for (const entry of entries) insert(root, entry);
  const plain = indexPlainPaths(root, entries);
  return {
    find: (method, path) => {
      const plainNode = plain.get(path);
      if (plainNode !== undefined) return toRouteMatch(plainNode, method, []);
      const segments = splitPath(path);
      if (segments === null) return null;
      const values: string[] = [];
      const node = descend(root, { segments, values }, 0);
      return node === null ? null : toRouteMatch(node, method, values);
    },
  };
};
