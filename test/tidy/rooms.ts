/**
 * The order of the folders: inside http/ which one lies above which, and that no two folders of the sources
 * need each other.
 *
 * An import from a lower part to a higher one stands in `arrowsUp` with its reason, at most five of them; a
 * folder and the folders inside it count as one part. An exception that no import needs is a finding, too.
 */
import { posix } from 'node:path';
import type { Finding, Project, Rule, Source } from './project.ts';

/** The parts of http/ from the bottom to the top. A file belongs to the longest name that it begins with. */
const httpOrder = [
  'http/server/',
  'http/telemetry/',
  'http/response/',
  'http/markdown/',
  'http/outbound/',
  'http/auth/',
  'http/limits/',
  'http/api/shared/',
  'http/feed/',
  'http/app.ts',
  'http/route.ts',
  'http/request/',
  'http/api/',
  'http/openapi/',
  'http/site/',
  'http/facade.ts',
  'http/operator/',
  'http/vectors/',
];
const arrowsUpMax = 5;
const arrowsUp: Readonly<Record<string, string>> = {
  'http/app.ts → http/api/badges/badge-cache.ts': 'a type: the node has one cache of badges',
  'http/app.ts → http/api/history/history-cache.ts': 'a type: the node has one cache of histories',
  'http/feed/requests.ts → http/request/check.ts': 'messages of a WebSocket are checked as bodies are',
};
const pairs: Readonly<Record<string, string>> = {
  'storage/catalogue/bots ↔ storage/catalogue/teams': 'a team shows its bots, a bot shows its team',
};

const findPart = (path: string): number => {
  let found = -1;
  for (const [index, part] of httpOrder.entries()) {
    if (path.startsWith(part) && part.length > (httpOrder[found]?.length ?? 0)) found = index;
  }
  return found;
};

/** Imports inside http/ from a lower part to a higher one. */
export const order: Rule = (project) => {
  const seen = new Set<string>();
  const findings: Finding[] = [];
  for (const source of project.sources.values()) {
    if (!source.path.startsWith('http/') || source.path.startsWith('http/client')) continue;
    const unlisted = findPart(source.path) === -1;
    if (unlisted && source.path.split('/').length > 2)
      findings.push(report(source, 1, 'add its folder to test/tidy/rooms.ts'));
    for (const { target, line } of source.imports) {
      if (unlisted || findPart(target) <= findPart(source.path)) continue;
      const arrow = `${source.path} → ${target}`;
      seen.add(arrow);
      if (arrowsUp[arrow] === undefined)
        findings.push(report(source, line, `${target} lies above it: move what both need down`));
    }
  }
  return [...findings, ...judgeExceptions(project, seen)];
};

const judgeExceptions = (project: Project, seen: ReadonlySet<string>): Finding[] => {
  const own = project.sources.get('test/tidy/rooms.ts');
  if (own === undefined) return [];
  const idle = Object.keys(arrowsUp).filter((arrow) => !seen.has(arrow));
  const findings = idle.map((arrow) => report(own, 1, `no import needs the exception ${arrow}: delete it`));
  const many = Object.keys(arrowsUp).length > arrowsUpMax;
  return many ? [...findings, report(own, 1, `more than ${arrowsUpMax} arrows up`)] : findings;
};

/** Two folders that import each other, unless one lies inside the other. */
export const twoWay: Rule = (project) => {
  const links = new Map<string, { source: Source; line: number }>();
  for (const source of project.sources.values()) {
    if (!/^(engine|http|storage|ops)\//.test(source.path)) continue;
    for (const { target, relative, line } of source.imports) {
      if (relative) links.set(`${posix.dirname(source.path)} ↔ ${posix.dirname(target)}`, { source, line });
    }
  }
  return [...links].flatMap(([pair, { source, line }]) => {
    const [one = '', other = ''] = pair.split(' ↔ ');
    const apart = !`${one}/`.startsWith(`${other}/`) && !`${other}/`.startsWith(`${one}/`);
    const known = pairs[pair] !== undefined || pairs[`${other} ↔ ${one}`] !== undefined;
    if (!apart || known || !links.has(`${other} ↔ ${one}`)) return [];
    return [report(source, line, `${one} and ${other} import each other: move what both need down`)];
  });
};

const report = ({ path }: Source, line: number, advice: string): Finding => ({
  file: path,
  line,
  rule: 'rooms',
  advice,
});
