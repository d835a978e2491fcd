/**
 * Words and constructs that are banned, where they are allowed nevertheless, and what to write instead. Looks
 * at the syntax tree, so strings and comments do not count (except for leftover notes, which live in
 * comments).
 */
import type { Node } from 'typescript/unstable/ast';
import {
  isCatchClause,
  isEnumDeclaration,
  isExportAssignment,
  isNoSubstitutionTemplateLiteral,
  isStringLiteral,
  isTemplateExpression,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { type Finding, lineOf, type Rule, type Source, walk } from './project.ts';

interface Ban {
  /** Whether this node is the banned thing. */
  readonly is: (node: Node, source: Source) => boolean;
  readonly banned: RegExp;
  readonly allowed: RegExp;
  readonly advice: string;
}

const never = /^$/;
const everywhere = /^/;
/** Source text of a member access or a plain name: `Date.now`, `setTimeout`. */
const isNamed = (pattern: RegExp) => (node: Node, source: Source) =>
  (node.kind === SyntaxKind.PropertyAccessExpression || isCalledName(node)) &&
  pattern.test(node.getText(source.tree));
const isCalledName = (node: Node): boolean =>
  node.kind === SyntaxKind.Identifier && node.parent?.kind === SyntaxKind.CallExpression;
const isKind =
  (...kinds: readonly SyntaxKind[]) =>
  (node: Node) =>
    kinds.includes(node.kind);

/**
 * uWebSockets.js reads one limit from the environment; header-limit.ts writes it there. client/cli.ts is a
 * program of its own. main.ts looks for two settings before it loads config.ts.
 */
const mayReadEnvironment =
  /^(ops\/((config\/config|main)\.ts$|setup\/)|http\/(server\/header-limit|client\/cli)\.ts$|test\/|bench\/)/;

const bans: readonly Ban[] = [
  {
    is: isNamed(/^process\.env$/),
    banned: everywhere,
    allowed: mayReadEnvironment,
    advice: 'process.env is read in ops/config/config.ts only; take the setting as a parameter',
  },
  {
    is: isNamed(/^(Date\.now|performance\.now|setTimeout|setInterval|setImmediate|process\.hrtime.*)$/),
    banned: /^engine\//,
    allowed: never,
    advice: 'the engine knows time and timers only through the Clock port (engine/ports.ts)',
  },
  {
    is: isNamed(/^Date\.now$/),
    banned: /^http\//,
    // The client runs in other programs, pages in browsers; other services name dates of the real time.
    allowed: /^http\/(client\/|site\/page\/|outbound\/retry-after\.ts$)/,
    advice: 'handlers take the time from app.clock',
  },
  {
    is: isNamed(/\.(innerHTML|outerHTML|insertAdjacentHTML|srcdoc)$|^document\.write(ln)?$/),
    banned: /^http\/operator\/page\//,
    allowed: never,
    advice:
      'text of users must never become markup: make elements instead, as http/operator/page/dom.ts does',
  },
  {
    is: isNamed(/^Math\.random$/),
    banned: /^engine\//,
    allowed: never,
    advice: 'the engine must replay from a seed: take chance as a parameter',
  },
  {
    is: isNamed(/^console\.\w+$/),
    banned: everywhere,
    allowed: /^(ops\/|bench\/|http\/client\/|test\/(?!.*\.test\.ts$))/,
    advice: 'report through the logger or the meters that were passed in',
  },
  {
    is: (node) => isEnumDeclaration(node),
    banned: everywhere,
    allowed: never,
    advice: 'write a union of literals; Node runs only erasable syntax',
  },
  {
    is: (node) =>
      isExportAssignment(node) ||
      (node.kind === SyntaxKind.DefaultKeyword && node.parent?.kind !== SyntaxKind.DefaultClause),
    banned: everywhere,
    allowed: never,
    advice: 'export by name, so that a thing has one name everywhere',
  },
  {
    is: isKind(SyntaxKind.AnyKeyword),
    banned: everywhere,
    allowed: /^http\/route\.ts$/,
    advice: 'write `unknown` and narrow it, or the real type; only the erased row type may be `any`',
  },
  {
    is: (node) => isCatchClause(node) && node.block.statements.length === 0,
    banned: everywhere,
    allowed: never,
    advice: 'an empty catch hides bugs: handle the one error you expect, rethrow the rest',
  },
  {
    is: isKind(SyntaxKind.AwaitExpression, SyntaxKind.AsyncKeyword),
    banned: /^engine\/(entity|rules)\//,
    allowed: never,
    advice: 'entity rules are pure: no await here; wait in the actor',
  },
  {
    is: (node, source) => isText(node) && sqlWords.test(node.getText(source.tree)),
    banned: /^(engine|http)\//,
    allowed: never,
    advice: 'SQL lives in storage/',
  },
];

const sqlWords = /\b(select\s.+\sfrom|insert\s+into|update\s.+\sset|delete\s+from)\s/is;
const isText = (node: Node): boolean =>
  isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node) || isTemplateExpression(node);

export const banned: Rule = (project) =>
  [...project.sources.values()].flatMap((source) => {
    const active = bans.filter((ban) => ban.banned.test(source.path) && !ban.allowed.test(source.path));
    const findings: Finding[] = [];
    walk(source.tree, (node) => {
      for (const ban of active) {
        if (!ban.is(node, source)) continue;
        const line = lineOf(source, node);
        findings.push({ file: source.path, line, rule: 'banned', advice: ban.advice });
      }
    });
    return findings;
  });

const note = /(\/\/|^\s*\/?\*).*\b(FIXME|TODO|XXX|HACK)\b/;

export const leftovers: Rule = (project) =>
  [...project.sources.values()].flatMap((source) =>
    source.lines.flatMap((text, index) => {
      const found = note.exec(text);
      if (!found) return [];
      const advice = `${found[2]} does not belong here: do it now, or write what is true`;
      return [{ file: source.path, line: index + 1, rule: 'leftover', advice }];
    }),
  );
