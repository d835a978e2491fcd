/**
 * What the rules look at: every source file with its syntax tree and its imports, and the documents beside
 * them.
 *
 * Parsed by the compiler's own parser in one go over a virtual folder, so the same rules run on the real tree
 * and on samples that exist only in a test. Resolves nothing and checks no types.
 */
import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import type { Node, SourceFile as Tree } from 'typescript/unstable/ast';
import {
  isCallExpression,
  isExportDeclaration,
  isImportDeclaration,
  isStringLiteral,
  isStringLiteralLikeNode,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { createVirtualFileSystem } from 'typescript/unstable/fs';
import { API } from 'typescript/unstable/sync';

export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly rule: string;
  /** What to do instead. */
  readonly advice: string;
}
export type Rule = (project: Project) => Finding[];

export interface Import {
  /** Path inside the project for relative ones, else the package or `node:` module. */
  readonly target: string;
  readonly relative: boolean;
  readonly typeOnly: boolean;
  readonly line: number;
}
export interface Source {
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
  readonly tree: Tree;
  readonly imports: readonly Import[];
}
export interface Project {
  readonly sources: ReadonlyMap<string, Source>;
  /** Text of every other file given, by path. */
  readonly documents: ReadonlyMap<string, string>;
}

/** Written by `npm run document`: as long as the interface, in its words. */
export const generatedFile = 'http/client/types.ts';
const sourceFolders = ['engine', 'http', 'storage', 'ops', 'bench', 'test'];
const documentPaths = [
  'package.json',
  'package-lock.json',
  'docs/**/*.md',
  '{ops,http,bench}/**/*.md',
  '*.md',
  'config.example',
  '.ci/run',
  'ops/bin/rollcall',
  'storage/**/*.{sql,lua}',
];
const virtualRoot = '/project';

/** The files of the project at `root`, by path with forward slashes. */
export const readFiles = (root: string): Map<string, string> => {
  const sources = globSync(`{${sourceFolders.join(',')}}/**/*.{ts,mjs}`, { cwd: root });
  const documents = globSync(documentPaths, { cwd: root });
  const paths = [...sources, ...documents].map((path) => path.replaceAll('\\', '/')).sort();
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
};

/** Parses `files`: those ending in .ts or .mjs are sources, the rest documents. */
export const parseProject = (files: ReadonlyMap<string, string>): Project => {
  const paths = [...files.keys()].filter((path) => /\.(ts|mjs)$/.test(path));
  const trees = parseTrees(paths, files);
  const sources = new Map(
    paths.map((path) => {
      const text = files.get(path) as string;
      const tree = trees.get(path) as Tree;
      return [path, { path, text, lines: text.split('\n'), tree, imports: importsOf(path, tree) }];
    }),
  );
  return { sources, documents: new Map([...files].filter(([path]) => !sources.has(path))) };
};

const parseTrees = (paths: readonly string[], files: ReadonlyMap<string, string>): Map<string, Tree> => {
  const settings = {
    compilerOptions: { noLib: true, noResolve: true, allowJs: true, types: [], module: 'nodenext' },
    files: paths,
  };
  const virtual: Record<string, string> = { [`${virtualRoot}/tsconfig.json`]: JSON.stringify(settings) };
  for (const path of paths) virtual[`${virtualRoot}/${path}`] = files.get(path) as string;
  const api = new API({ cwd: virtualRoot, fs: createVirtualFileSystem(virtual) });
  try {
    const snapshot = api.updateSnapshot({ openProject: `${virtualRoot}/tsconfig.json` });
    const [opened] = snapshot.getProjects();
    const trees = new Map<string, Tree>();
    for (const path of paths) {
      const tree = opened?.program.getSourceFile(`${virtualRoot}/${path}`);
      if (tree === undefined) throw new Error(`The parser did not return ${path}.`);
      trees.set(path, tree);
    }
    snapshot.dispose();
    return trees;
  } finally {
    api.close();
  }
};

/** Calls `visit` for every node below `tree`, parents first. */
export const walk = (tree: Node, visit: (node: Node) => void): void => {
  tree.forEachChild((child) => {
    visit(child);
    walk(child, visit);
  });
};

/** Line of a node's first token, from 1. */
export const lineOf = (source: Source, node: Node): number => lineAt(source.text, node.getStart(source.tree));

export const lineAt = (text: string, position: number): number => text.slice(0, position).split('\n').length;

const importsOf = (path: string, tree: Tree): Import[] => {
  const found: Import[] = [];
  const add = (node: Node, specifier: string, typeOnly: boolean): void => {
    const relative = specifier.startsWith('.');
    const target = relative ? posix.join(posix.dirname(path), specifier) : specifier;
    found.push({ target, relative, typeOnly, line: lineAt(tree.text, node.getStart(tree)) });
  };
  walk(tree, (node) => {
    if (isImportDeclaration(node) && isStringLiteral(node.moduleSpecifier)) {
      const typeOnly = node.importClause?.phaseModifier === SyntaxKind.TypeKeyword;
      add(node, node.moduleSpecifier.text, typeOnly);
    } else if (isExportDeclaration(node) && node.moduleSpecifier && isStringLiteral(node.moduleSpecifier)) {
      add(node, node.moduleSpecifier.text, node.isTypeOnly);
    } else if (isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword) {
      const [specifier] = node.arguments;
      if (specifier && isStringLiteralLikeNode(specifier)) add(node, specifier.text, false);
    }
  });
  return found;
};
