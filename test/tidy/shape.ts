/**
 * Sizes and headers: how long a file, a function and a line may be, how many parameters, and that every file
 * says first what it is for. Tables of data are not functions and have no limit but the file's.
 */
import type { Node } from 'typescript/unstable/ast';
import {
  isArrowFunction,
  isConstructorDeclaration,
  isFunctionDeclaration,
  isFunctionExpression,
  isMethodDeclaration,
} from 'typescript/unstable/ast';
import { type Finding, generatedFile, lineAt, lineOf, type Rule, type Source, walk } from './project.ts';

const fileLinesMax = 400;
const functionLinesMax = 60;
const lineLengthMax = 110;
const parametersMax = 3;
/** Without the lines that open and close the comment. */
const headerLines = { min: 1, max: 16 };

export const sizes: Rule = (project) =>
  [...project.sources.values()].flatMap((source) => [...fileSize(source), ...lineLengths(source)]);

const fileSize = (source: Source): Finding[] => {
  const length = source.lines.length - 1;
  if (length <= fileLinesMax || source.path === generatedFile) return [];
  const advice = `${length} lines; at most ${fileLinesMax}: split it by what changes together`;
  return [{ file: source.path, line: fileLinesMax + 1, rule: 'file size', advice }];
};

const lineLengths = (source: Source): Finding[] =>
  source.lines.flatMap((text, index) => {
    const length = [...text].length;
    if (length <= lineLengthMax) return [];
    const advice = `${length} characters; at most ${lineLengthMax}: break the line`;
    return [{ file: source.path, line: index + 1, rule: 'line length', advice }];
  });

export const functions: Rule = (project) =>
  [...project.sources.values()].flatMap((source) => {
    const findings: Finding[] = [];
    walk(source.tree, (node) => {
      if (!isFunction(node)) return;
      const line = lineOf(source, node);
      const length = lineAt(source.text, node.end) - line + 1;
      if (length > functionLinesMax) {
        const advice = `${length} lines; at most ${functionLinesMax}: name its steps as functions`;
        findings.push({ file: source.path, line, rule: 'function size', advice });
      }
      const parameters = node.parameters.filter(({ initializer }) => initializer === undefined).length;
      if (parameters > parametersMax) {
        const advice = `${parameters} parameters; at most ${parametersMax}: pass an object`;
        findings.push({ file: source.path, line, rule: 'parameters', advice });
      }
    });
    return findings;
  });

const isFunction = (node: Node) =>
  isFunctionDeclaration(node) ||
  isFunctionExpression(node) ||
  isArrowFunction(node) ||
  isMethodDeclaration(node) ||
  isConstructorDeclaration(node);

export const headers: Rule = (project) =>
  [...project.sources.values()].flatMap((source) => {
    const found = /^(#!.*\n)?\/\*\*\n((?: \*.*\n)+?) \*\//.exec(source.text);
    const length = found?.[2]?.split('\n').filter((line) => line.replace(/[ *]/g, '') !== '').length ?? 0;
    if (length >= headerLines.min && length <= headerLines.max) return [];
    const advice =
      `open with a comment of 3 to ${headerLines.max + 2} lines: what this file owns, ` +
      'what it never does, its main invariant, who calls it';
    return [{ file: source.path, line: 1, rule: 'header', advice }];
  });
