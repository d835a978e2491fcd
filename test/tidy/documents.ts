/**
 * Documents that must stay equal to the code: a reason in ARCHITECTURE.md for every dependency of
 * package.json, a lock file with the packages of every platform, and migrations named by what they do.
 */
import { type Finding, lineAt, type Project, type Rule } from './project.ts';

const architecturePath = 'ARCHITECTURE.md';
const lockPath = 'package-lock.json';

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/**
 * Exact versions, imported ones declared, and each with a line of ARCHITECTURE.md that says what it saves us.
 */
export const dependencies: Rule = (project) => {
  const text = project.documents.get('package.json');
  if (text === undefined) return [];
  const { dependencies: runtime, optionalDependencies, devDependencies } = JSON.parse(text) as Manifest;
  const all = { ...runtime, ...optionalDependencies, ...devDependencies };
  const reasons = project.documents.get(architecturePath) ?? '';
  const findings = Object.entries(all).flatMap(([name, version]) => {
    const at = { file: 'package.json', line: lineAt(text, text.indexOf(`"${name}"`)), rule: 'dependency' };
    const wrong: Finding[] = [];
    if (!/^(npm:.+@)?\d+\.\d+\.\d+[\w.-]*$/.test(version))
      wrong.push({ ...at, advice: `pin ${name} exactly` });
    if (!reasons.includes(`\`${name}\``)) {
      wrong.push({ ...at, advice: `say in ${architecturePath} what \`${name}\` saves us` });
    }
    return wrong;
  });
  return [...findings, ...undeclared(project, Object.keys(all))];
};

const undeclared = (project: Project, declared: readonly string[]): Finding[] =>
  [...project.sources.values()].flatMap((source) =>
    source.imports
      .filter(({ relative, target }) => !relative && !target.startsWith('node:'))
      .filter(({ target }) => !declared.some((name) => target === name || target.startsWith(`${name}/`)))
      .map(({ target, line }) => ({
        file: source.path,
        line,
        rule: 'dependency',
        advice: `${target} is not in package.json`,
      })),
  );

interface LockedPackage {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/**
 * The lock file has the optional packages of every platform. npm leaves out those that its registry lacks,
 * and `npm ci` of npm 11 then refuses the lock file.
 */
export const lockFile: Rule = ({ documents }) => {
  const text = documents.get(lockPath);
  if (text === undefined) return [];
  const { packages } = JSON.parse(text) as { readonly packages: Readonly<Record<string, LockedPackage>> };
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !['', `${path}/`].some((parent) => `${parent}node_modules/${name}` in packages))
      .map(([name, version]) => ({
        file: lockPath,
        line: lineAt(text, text.indexOf(`"${name}"`)),
        rule: 'lock file',
        advice: `add "node_modules/${name}" ${version} with its os and cpu, "optional": true`,
      })),
  );
};

/** Texts about versions that never were: git has the history, and a store's format has a number. */
const formerVersion = /\b(?:(?:earlier|older|previous|former) (?:version|release)s?|versions? before)\b/gi;

/** Nothing was released before this version, so nothing speaks of one. */
export const formerVersions: Rule = ({ sources, documents }) => {
  const texts = [...[...sources.values()].map(({ path, text }) => [path, text] as const), ...documents];
  return texts
    .filter(([file]) => !file.startsWith('test/tidy'))
    .flatMap(([file, text]) =>
      [...text.matchAll(formerVersion)].map(({ 0: words, index }) => {
        const advice = `"${words}": say what is; an unknown format is refused by its number`;
        return { file, line: lineAt(text, index), rule: 'former version', advice };
      }),
    );
};

/** What an older program would miss. */
const takesAway = new RegExp(
  String.raw`\b(drop\s+(table|column|view|type)|rename\s+(to|column)|` +
    String.raw`alter\s+column\s+\w+\s+(type|set\s+not\s+null))\b`,
  'i',
);

/**
 * Nodes of one version work on while the next one migrates, so only a file named `contract` may take
 * something away (storage/sql/migrate.ts).
 */
export const migrations: Rule = ({ documents }) =>
  [...documents]
    .filter(([file]) => /\.sql$/.test(file) && !/\/\d{3}\.do\.contract-[a-z-]+\.sql$/.test(file))
    .flatMap(([file, text]) => {
      const found = takesAway.exec(text);
      if (found === null) return [];
      const advice = `"${found[0]}" breaks older nodes: it belongs in NNN.do.contract-….sql, a release later`;
      return [{ file, line: lineAt(text, found.index), rule: 'migration', advice }];
    });
