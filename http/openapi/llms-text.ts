/**
 * Builds /llms.txt: what a language model needs to write a client, as one short Markdown text with links to
 * the rest (llmstxt.org). Pure.
 */
import type { AnyRoute } from '../route.ts';
import { introduction, summary } from './introduction.ts';
import { findSection, listSections } from './sections.ts';

const links = [
  ['/docs/client-guide.md', 'Client guide', 'examples that run, in TypeScript, Python and the shell'],
  ['/docs/behaviour.md', 'Behaviour', 'all rules: errors, limits, counting, every feature'],
  ['/docs/client.md', 'Client', 'a library for JavaScript without dependencies, at /docs/client.js'],
  ['/openapi.json', 'OpenAPI 3.1', 'every operation with its schemas and examples'],
] as const;

const listOperations = (routes: readonly AnyRoute[], section: string): string[] =>
  routes
    .filter((route) => findSection(route) === section)
    .map(({ method, path, summary: title }) => `- \`${method} ${path}\`: ${title}`);

/** Builds the text for these routes. */
export const buildLlmsText = (routes: readonly AnyRoute[]): string =>
  [
    '# Rollcall',
    '',
    `> ${summary}`,
    '',
    '## Documents',
    '',
    ...links.map(([path, title, about]) => `- [${title}](${path}): ${about}`),
    // The summary is its first paragraph; its headings become those of the second level.
    introduction.slice(summary.length).replace(/^# /gm, '## ').trimEnd(),
    '',
    '## Operations',
    ...listSections(routes).flatMap(({ name, description }) => [
      '',
      `### ${name}`,
      '',
      description,
      '',
      ...listOperations(routes, name),
    ]),
    '',
  ].join('\n');
