/**
 * Names: retired words with the term that replaced them, exported functions that begin with a verb, and one
 * meaning per exported type name.
 *
 * A reader who knows the field needs no dictionary for names that follow these rules. What stays ours is in
 * ARCHITECTURE.md, *Words*. Looks at declarations only: a use follows its declaration. No file may use a
 * retired word; the other two rules hold for the product.
 */
import type { Node } from 'typescript/unstable/ast';
import {
  isArrowFunction,
  isBindingElement,
  isClassDeclaration,
  isFunctionDeclaration,
  isFunctionExpression,
  isIdentifier,
  isInterfaceDeclaration,
  isMethodDeclaration,
  isMethodSignatureDeclaration,
  isParameterDeclaration,
  isPropertyDeclaration,
  isPropertySignatureDeclaration,
  isTypeAliasDeclaration,
  isVariableDeclaration,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { namesLeft } from './names-left.ts';
import {
  type Finding,
  generatedFile,
  lineOf,
  type Project,
  type Rule,
  type Source,
  walk,
} from './project.ts';

const product = /^(engine|http|storage|ops)\//;

/** What a declared name may not contain as a word of its own, and what to write instead. */
const retired: readonly (readonly [words: readonly string[], instead: string])[] = [
  [['told', 'telling'], '`reported`, `notify` or a result type'],
  [['heard', 'hearer'], '`latestState`, `received` or `subscriber`'],
  [['asked', 'asking', 'askings'], '`request`, `attempt`, `pending` or `inFlight`'],
  [['standing'], '`voteStatus`, `access`, `folderState` or `balance`'],
  [['lane', 'lanes'], '`commitQueue` (lmdb: `writeQueue`)'],
  [['ballot', 'ballots'], '`pendingVote`'],
  [['lineage'], '`timeline`'],
  [['bury', 'buried', 'grave'], '`deadLetter` or `tombstone`'],
  [['revive', 'revived'], '`activate` or `reactivate`'],
  [['settle', 'settled', 'settlement', 'settling'], '`acknowledge`, `markFlushed` or `release`'],
  [['doubt', 'doubted', 'doubtful'], '`stale`, `invalidate` or `outcomeUnknown`'],
  [['dice'], '`random`'],
  [['slab', 'slabs'], '`tierSlices`'],
  [['minded', 'minder'], '`worker` or `supervisor`'],
  [['clerk'], '`validator`'],
  [['soon'], '`maybePromise` or `thenMaybe`'],
  [['trouble', 'troubles'], '`warnings`, `lastError` or `onError`'],
  [['calm'], '`circuitBreaker`'],
  [['afterwards'], '`reportAfterCommit` or what happens then'],
  [['stitch'], '`render`'],
  [['whoever', 'nobody', 'somebody', 'anew', 'dear'], 'the thing itself, in plain English'],
];
/** What the name of an exported function begins with. A missing verb is added; a noun gets one in front. */
const verbList = new Set(
  [
    // Conversions, predicates and factories; `as`, `with` and `then` run what they are given.
    'to is has can create as with then balance',
    'choose',
    'activate add adjust admit adopt align answer apply assert assign authenticate authorise autopost',
    'await backup begin bind build cast change check claim classify clear coerce compile complete compute',
    'confirm',
    'connect count cut decide decode define delete deliver derive describe disable dispatch drop edit empty',
    'encode end enqueue escape estimate expand expire explain export extend fail fetch fill',
    'find flush fold follow',
    'forget format generate get give group guard import includes insert inspect install issue judge keep',
    'launch list load lock log look make mark matches measure merge migrate mint mirror name note notify',
    'obey open pack parse patch peek pick plan prefetch prepare preview publish pump purge put raise',
    'reactivate read receive reconcile record recount redeem redirect register reject release remove render',
    'renew repeat replace reply require reset resolve restart restore retry review revoke run seal select',
    'send set share show skip split start stop stream subscribe supervise sweep sync take test',
    'transfer unmark unpack unsubscribe update upsert validate vet void watch write',
  ]
    .join(' ')
    .split(' '),
);

const replacements = new Map(retired.flatMap(([words, instead]) => words.map((word) => [word, instead])));

export const retiredWords: Rule = (project) =>
  [...project.sources.values()].flatMap((source) => {
    const findings: Finding[] = [];
    if (source.path === generatedFile) return findings;
    walk(source.tree, (node) => {
      const name = declaredName(node);
      if (name === null || namesLeft.has(`${source.path} ${name.text}`)) return;
      for (const word of splitWords(name.text)) {
        const instead = replacements.get(word);
        if (instead === undefined) continue;
        const advice = `"${word}" in ${name.text} is home-made: write ${instead}`;
        findings.push({ file: source.path, line: lineOf(source, name), rule: 'retired word', advice });
      }
    });
    return findings;
  });

const productSources = (project: Project): Source[] =>
  [...project.sources.values()].filter(({ path }) => product.test(path));

/** Functions, constants, types, parameters, members of types and classes; not the keys of plain objects. */
const declaredName = (node: Node) => {
  const declares =
    isFunctionDeclaration(node) ||
    isVariableDeclaration(node) ||
    isParameterDeclaration(node) ||
    isInterfaceDeclaration(node) ||
    isTypeAliasDeclaration(node) ||
    isClassDeclaration(node) ||
    isMethodDeclaration(node) ||
    isMethodSignatureDeclaration(node) ||
    isPropertyDeclaration(node) ||
    isPropertySignatureDeclaration(node) ||
    isBindingElement(node);
  return declares && node.name !== undefined && isIdentifier(node.name) ? node.name : null;
};

/** `renderHTTPReplyMs` → render, http, reply, ms. */
const splitWords = (name: string): string[] =>
  name
    .split(/_|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
    .map((word) => word.toLowerCase())
    .filter((word) => word !== '');

export const verbs: Rule = (project) =>
  productSources(project).flatMap((source) =>
    exportedFunctions(source).flatMap((name) => {
      const [first = ''] = splitWords(name.text);
      if (verbList.has(first)) return [];
      const advice = `${name.text} does not begin with a verb; if "${first}" is one, add it to verbList`;
      return [{ file: source.path, line: lineOf(source, name), rule: 'verb', advice }];
    }),
  );

const isExported = (node: Node): boolean =>
  'modifiers' in node &&
  ((node.modifiers as readonly Node[] | undefined)?.some(({ kind }) => kind === SyntaxKind.ExportKeyword) ??
    false);

const exportedFunctions = (source: Source) => {
  const names: (Node & { readonly text: string })[] = [];
  source.tree.forEachChild((statement) => {
    if (!isExported(statement)) return;
    if (isFunctionDeclaration(statement) && statement.name !== undefined) names.push(statement.name);
    walk(statement, (node) => {
      if (!isVariableDeclaration(node) || node.parent?.parent !== statement) return;
      const value = node.initializer;
      const isFunction = value !== undefined && (isArrowFunction(value) || isFunctionExpression(value));
      if (isFunction && isIdentifier(node.name)) names.push(node.name);
    });
  });
  return names;
};

/** A type name that two files export means two things, or defines one thing twice. */
export const typeNames: Rule = (project) => {
  const first = new Map<string, string>();
  // The client has the words of its users, who never see the server's.
  const sources = productSources(project).filter(({ path }) => !path.startsWith('http/client/'));
  return sources.flatMap((source) => {
    const findings: Finding[] = [];
    source.tree.forEachChild((node) => {
      if (!isInterfaceDeclaration(node) && !isTypeAliasDeclaration(node) && !isClassDeclaration(node)) return;
      if (!isExported(node) || node.name === undefined) return;
      const { text } = node.name;
      const other = first.get(text);
      if (other === undefined) first.set(text, source.path);
      if (other === undefined || other === source.path) return;
      const advice = `${other} exports a type ${text} too: import that one, or say of which kind this one is`;
      findings.push({ file: source.path, line: lineOf(source, node), rule: 'type name', advice });
    });
    return findings;
  });
};
