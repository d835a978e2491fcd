/**
 * Who may import whom: the direction of dependencies between folders, the engine's purity and its door, the
 * few files that alone may see a library or an adapter, cycles, and files without a use.
 */
import { posix } from 'node:path';
import { isNoSubstitutionTemplateLiteral, isStringLiteral } from 'typescript/unstable/ast';
import { type Finding, type Import, type Project, type Rule, type Source, walk } from './project.ts';

const folderMayImport: Readonly<Record<string, readonly string[]>> = {
  engine: ['engine'],
  http: ['engine', 'http', 'storage/catalogue'],
  storage: ['engine', 'storage'],
  ops: ['engine', 'http', 'storage', 'ops'],
  bench: ['engine', 'http', 'storage', 'ops', 'bench'],
  test: ['engine', 'http', 'storage', 'ops', 'bench', 'test'],
};
/** What of the engine other layers see: its door, its types, its pure rules, and its small tools. */
const engineDoor = /^engine\/((engine|ports|ids|errors|limits)\.ts|entity\/|rules\/|tools\/)/;
/** The rules of one entity know nothing of the parts that use them. */
const entityMayImport = /^engine\/(entity\/|ids\.ts$|limits\.ts$)/;
/** What browsers load of the operator's page. */
const pageFolders = ['http/operator/page/', 'http/site/page/'];
/** Pure computation only. */
const engineModules = /^node:(assert(\/strict)?|crypto|zlib|buffer)$/;

interface Fence {
  readonly target: RegExp;
  readonly allowed: RegExp;
  readonly advice: string;
}
const fences: readonly Fence[] = [
  {
    target: /^uWebSockets\.js/,
    allowed: /^(http\/server\/uws-[a-z]+\.ts|bench\/|test\/)/,
    advice:
      'only http/server/uws-*.ts sees uWebSockets.js; a handler that forgets to answer ends the process',
  },
  {
    target: /^storage\/hot\//,
    allowed: /^(storage\/(open\.ts|hot\/)|bench\/|test\/)/,
    advice: 'adapters are chosen in storage/open.ts; take what you need as a parameter',
  },
  {
    target: /^(lmdb|ioredis|redis|postgres|postgrator|@electric-sql\/.*)$/,
    allowed: /^(storage\/|bench\/|test\/)/,
    advice: 'stores are reached through storage/',
  },
  {
    target: /^redis$/,
    allowed: /^(storage\/nodes\/|bench\/|test\/)/,
    advice: 'node-redis listens, ioredis writes and decides: only storage/nodes listens',
  },
  {
    target: /^(ajv|ajv-formats)$/,
    allowed: /^(http\/(request\/explain|openapi\/.*)\.ts|bench\/|test\/)/,
    advice: 'TypeBox checks, Ajv only explains: see http/request/explain.ts',
  },
  {
    target: /^http\/client\//,
    allowed: /^(http\/(client|outbound\/webhooks)\/|bench\/|test\/)/,
    advice: 'http/client is a library for other programs; the server takes only types of webhooks from it',
  },
  {
    target: /^node:process$/,
    allowed: /^$/,
    advice: 'use the global `process`: an imported `env` hides who reads the environment',
  },
];

export const directions: Rule = (project) =>
  eachImport(project, (source, { target, relative, typeOnly }) => {
    const folder = source.path.split('/')[0] ?? '';
    const isProgram = source.path === 'http/client/cli.ts' && target.startsWith('node:');
    if (source.path.startsWith('http/client/') && !target.startsWith('http/client/') && !isProgram)
      return 'http/client/ imports nothing: it runs in other programs, without the server';
    if (!relative) {
      const inner = folder === 'engine' && !engineModules.test(target);
      return inner ? `engine/ must not import ${target}: take it as a port (engine/ports.ts)` : null;
    }
    const allowed = folderMayImport[folder]?.some((prefix) => target.startsWith(`${prefix}/`));
    if (!allowed) return `${folder}/ must not import ${target}: dependencies point to the engine`;
    if (folder === 'http' && target.startsWith('storage/') && !typeOnly) {
      return `http/ may only \`import type\` from ${target}; functions come in through App`;
    }
    const pageFolder = pageFolders.find((folder) => source.path.startsWith(folder));
    if (pageFolder !== undefined && !target.startsWith(pageFolder) && !typeOnly)
      return `${pageFolder} may only \`import type\` from ${target}: browsers get only this folder`;
    if (source.path.startsWith('engine/entity/') && !entityMayImport.test(target))
      return `engine/entity/ must not import ${target}: the rules know their own data, ids and limits only`;
    const inside = ['engine', 'ops', 'bench', 'test'].includes(folder);
    const past = target.startsWith('engine/') && !inside && !engineDoor.test(target);
    return past ? `${target} is inside the engine: use its door, engine/engine.ts` : null;
  });

export const fenced: Rule = (project) =>
  eachImport(project, (source, { target }) => {
    const fence = fences.find((one) => one.target.test(target) && !one.allowed.test(source.path));
    return fence ? fence.advice : null;
  });

const eachImport = (project: Project, judge: (source: Source, one: Import) => string | null): Finding[] =>
  [...project.sources.values()].flatMap((source) =>
    source.imports.flatMap((one) => {
      const advice = judge(source, one);
      return advice === null ? [] : [{ file: source.path, line: one.line, rule: 'import', advice }];
    }),
  );

/** Depth first over all imports, types included: a cycle means that neither file can be understood first. */
export const cycles: Rule = (project) => {
  const findings: Finding[] = [];
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    const source = project.sources.get(path);
    if (source === undefined || done.has(path)) return;
    for (const { target, relative, line } of source.imports) {
      if (!relative) continue;
      const from = [...trail, path].indexOf(target);
      if (from === -1) visit(target, [...trail, path]);
      else {
        const round = [...[...trail, path].slice(from), target].join(' → ');
        findings.push({
          file: path,
          line,
          rule: 'cycle',
          advice: `move what both need to a file below: ${round}`,
        });
      }
    }
    done.add(path);
  };
  for (const path of project.sources.keys()) visit(path, []);
  return findings;
};

/**
 * Imported, or named by a path in a string (workers, child processes), or started by a command or as a test.
 */
export const unused: Rule = (project) => {
  const used = new Set<string>();
  const starters = ['package.json', '.ci/run', 'ops/bin/rollcall'];
  const commands = starters.map((path) => project.documents.get(path)).join('\n');
  for (const [path] of project.sources) {
    if (/\.(test|fault)\.ts$/.test(path) || commands.includes(path)) used.add(path);
  }
  for (const source of project.sources.values()) {
    for (const { target } of source.imports) if (target !== source.path) used.add(target);
    walk(source.tree, (node) => {
      if (!isStringLiteral(node) && !isNoSubstitutionTemplateLiteral(node)) return;
      if (!/\.(ts|mjs)$/.test(node.text)) return;
      used.add(posix.join(posix.dirname(source.path), node.text));
      used.add(posix.normalize(node.text.replace(/^(\.\.?\/)+/, '')));
    });
  }
  return [...project.sources.keys()]
    .filter((path) => !used.has(path))
    .map((file) => ({
      file,
      line: 1,
      rule: 'unused',
      advice: 'nobody imports or starts this file: delete it',
    }));
};
