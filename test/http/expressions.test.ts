/**
 * Checks every regular expression of the product, literal or in a schema, with `recheck`: each takes time in
 * proportion to its input, so no input can block the process (ReDoS).
 *
 * Own process: `recheck` keeps a process of its own until this one ends.
 */
import { fileURLToPath } from 'node:url';
import { checkSync, type Diagnostics } from 'recheck';
import { type Node, SyntaxKind } from 'typescript/unstable/ast';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { routes } from '../../http/api/table.ts';
import { parseProject, readFiles, walk } from '../tidy/project.ts';

const test = suite('regular expressions');
const root = fileURLToPath(new URL('../..', import.meta.url));
const product = /^(engine|http|storage|ops)\//;

const literals = (): Map<string, string> => {
  const files = new Map([...readFiles(root)].filter(([path]) => product.test(path)));
  const found = new Map<string, string>();
  for (const { path, tree } of parseProject(files).sources.values()) {
    walk(tree, (node: Node) => {
      if (node.kind !== SyntaxKind.RegularExpressionLiteral) return;
      found.set(node.getText(tree), path);
    });
  }
  return found;
};

/** Adds the value of every `pattern` below `value`. */
const gather = (value: unknown, into: Map<string, string>): void => {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (name === 'pattern' && typeof member === 'string') into.set(`/${member}/u`, 'a schema');
    else gather(member, into);
  }
};

const judge = (literal: string): Diagnostics => {
  const end = literal.lastIndexOf('/');
  return checkSync(literal.slice(1, end), literal.slice(end + 1), { timeout: null, randomSeed: 1 });
};

test('recheck works: it tells slow expressions from fast ones', () => {
  assert.is(judge('/^(a+)+$/').status, 'vulnerable');
  assert.is(judge('/^[a-z0-9-]{2,32}$/').status, 'safe');
});

test('no expression of the product is slow on any input', () => {
  const all = literals();
  gather(routes, all);

  const found: string[] = [];
  for (const [literal, where] of all) {
    const { status } = judge(literal);
    if (status !== 'safe') found.push(`${where}: ${literal} is ${status}`);
  }

  assert.ok(all.size > 60, String(all.size));
  assert.equal(found, []);
});

test.run();
