/**
 * Keeps `npm test` short: a test file that starts a server or a node as a process has a name that ends with
 * `.stores.test.ts`. The conformance suites named here are in `npm test` nevertheless, once for each kind of
 * server.
 */
import { findGroups } from '../runner/test-groups.ts';
import type { Finding, Project, Rule, Source } from './project.ts';

/** They start a process that is expensive to start or to use. */
const starters: readonly string[] = [
  'bench/shared/postgres-server.ts',
  'bench/shared/redis-cluster.ts',
  'bench/shared/redis-server.ts',
  'test/support/node-process.ts',
  'test/support/ops-process.ts',
  'test/support/proxy-program.ts',
];
const conformance: readonly string[] = [
  'test/storage/hot/redis.sized.test.ts',
  'test/storage/postgres/ledger.test.ts',
];

export const testGroups: Rule = (project) =>
  [...project.sources.values()]
    .filter(({ path }) => findGroups(path).includes('loop') && !conformance.includes(path))
    .flatMap((source) => {
      const path = findStarter(project, source);
      return path === null ? [] : [createFinding(source, path)];
    });

/** Follows the imports of test files and their helpers alone: a bench may load what it does not start. */
const findStarter = (project: Project, first: Source): string | null => {
  const reached = new Set([first]);
  for (const source of reached) {
    for (const { target, typeOnly } of source.imports) {
      if (typeOnly) continue;
      if (starters.includes(target)) return target;
      const next = project.sources.get(target);
      if (next?.path.startsWith('test/')) reached.add(next);
    }
  }
  return null;
};

const createFinding = ({ path }: Source, starter: string): Finding => ({
  file: path,
  line: 1,
  rule: 'test group',
  advice:
    `imports ${starter}, which starts a process: rename it to ` +
    `${path.replace(/\.test\.ts$/, '.stores.test.ts')}, which \`npm run test:stores\` runs`,
});
