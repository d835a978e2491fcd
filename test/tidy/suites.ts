/**
 * Closes uvu's holes before anything runs: one suite per test file, run once, as its last statement, with no
 * test left out. (The runner looks again at what really ran.) And sees to it that a failed comparison prints
 * what was compared.
 */
import type { Node } from 'typescript/unstable/ast';
import {
  isBinaryExpression,
  isCallExpression,
  isExpressionStatement,
  isPropertyAccessExpression,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { type Finding, lineOf, type Rule, type Source, walk } from './project.ts';

export const suites: Rule = (project) =>
  [...project.sources.values()]
    .filter(({ path }) => /\.(test|fault)\.ts$/.test(path))
    .flatMap((source) => [...structure(source), ...leftOut(source)]);

const equalities = new Set([SyntaxKind.EqualsEqualsEqualsToken, SyntaxKind.ExclamationEqualsEqualsToken]);

/** `assert.ok(x !== undefined)` stays: the compiler learns from it. */
const comparesValues = (what: Node, source: Source): boolean =>
  isBinaryExpression(what)
    ? equalities.has(what.operatorToken.kind) && !/^(undefined|null)$/.test(what.right.getText(source.tree))
    : isCallExpression(what) && /\.includes$/.test(what.expression.getText(source.tree));

/** A comparison inside `assert.ok`, `assert.not` or `assert.not.ok` fails without its values. */
export const assertions: Rule = (project) =>
  [...project.sources.values()].flatMap((source) =>
    callsOf(source, /^assert\.(ok|not|not\.ok)$/).flatMap((call) => {
      const [what] = isCallExpression(call) ? call.arguments : [];
      if (what === undefined || !comparesValues(what, source)) return [];
      const advice =
        'prints no values: use assert.is, assert.equal, or those of test/support/assert-includes.ts';
      return [{ file: source.path, line: lineOf(source, call), rule: 'assertion', advice }];
    }),
  );

const structure = (source: Source): Finding[] => {
  const found: Finding[] = [];
  const add = (line: number, advice: string): void => {
    found.push({ file: source.path, line, rule: 'suite', advice });
  };
  const opened = callsOf(source, /^suite$/).length;
  const runs = callsOf(source, /^\w+\.run$/).filter(
    (call) => isCallExpression(call) && !call.arguments.length,
  );
  // None is fine: an adapter's file takes its suite from the shared conformance tests.
  if (opened > 1) add(1, `one suite per file, \`const test = suite('…')\`; this one has ${opened}`);
  if (runs.length !== 1) add(1, `end with exactly one \`test.run()\`; this one has ${runs.length}`);
  const last = source.tree.statements.at(-1);
  const closed = last && isExpressionStatement(last) && runs.some((run) => run === last.expression);
  if (runs.length === 1 && !closed) {
    add(lineOf(source, runs[0] as Node), 'nothing may follow `test.run()`: later tests would not run');
  }
  return found;
};

const leftOut = (source: Source): Finding[] =>
  callsOf(source, /^test\.(only|skip)$/).map((call) => ({
    file: source.path,
    line: lineOf(source, call),
    rule: 'suite',
    advice: 'a test that is left out proves nothing: run it, mend it, or delete it',
  }));

const callsOf = (source: Source, name: RegExp): Node[] => {
  const found: Node[] = [];
  walk(source.tree, (node) => {
    if (!isCallExpression(node)) return;
    const { expression } = node;
    const plain = isPropertyAccessExpression(expression) || expression.getText(source.tree) === 'suite';
    if (plain && name.test(expression.getText(source.tree))) found.push(node);
  });
  return found;
};
