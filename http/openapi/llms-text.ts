/**
 * Builds /llms.txt, for a language model that helps a person write a bot: what to call first, the rules,
 * links to the rest, and all operations, as one short Markdown text (llmstxt.org). Pure.
 */
import type { AnyRoute } from '../route.ts';
import { introduction, summary } from './introduction.ts';
import { findSection, listSections } from './sections.ts';

const links = [
  ['/docs/index.md', 'Documents', 'one page a task, for authors of bots and for operators'],
  ['/docs/bots/stats.md', 'Post stats', 'programs that run, in TypeScript and Python'],
  ['/docs/bots/webhooks.md', 'Receive votes', 'by webhook, in JavaScript and Python'],
  ['/docs/bots/vote-log.md', 'Receive votes without a public address', 'in TypeScript and Python'],
  ['/docs/behaviour.md', 'Behaviour', 'the rules, with links to those of every feature'],
  ['/docs/reference/errors.md', 'Errors', 'every code and when it is sent'],
  ['/docs/client.md', 'Client', 'a library for JavaScript without dependencies, at /docs/client.js'],
  ['/openapi.json', 'OpenAPI 3.1', 'every operation with its schemas and examples'],
  ['/asyncapi.json', 'AsyncAPI 3', 'every message of the feed'],
] as const;

/** Before the rules, which begin with the second heading of the introduction. */
const firstCalls = `## If you help a person write a bot

Ask for the address of this server (\`$URL\`: where this text is, without \`/llms.txt\`), the id of the bot
and its token. Never put a token into code, a repository or a reply: read it from the environment. Then call
these, in this order, before you write a program:

\`\`\`sh
# 1. Is the token good? 200 for any token; "authorized" is the answer.
curl -X POST $URL/auth/test -d '{"auth_type":"bot","target_id":"'$BOT_ID'","token":"'$BOT_TOKEN'"}'
# 2. What does the directory know? No token; every field is always there.
curl $URL/bots/$BOT_ID
# 3. Post numbers, at the start and every five minutes. Other names are ignored, so read them back.
curl -X POST $URL/bots/stats -H "Bot-Auth: $BOT_TOKEN" -d '{"servers":1234,"users":56789,"status":"online"}'
# 4. Has a user voted within the wait? No token.
curl $URL/users/$USER_ID/bots/$BOT_ID/votes
\`\`\`

To react to votes, take a webhook when the bot has a public https address, else the vote log. Before you
write either, read its page: it has programs that run, in JavaScript, TypeScript and Python, for
these, several processes, the login of users, badges, history and live numbers. Bots that use the library of
another directory keep it. What an answer means is in its \`context.code\`; all codes are in the document on
errors. Schemas of all requests and replies are in the OpenAPI document. The rules that matter most
follow.
`;

const rules = introduction.slice(introduction.indexOf('# Tokens'));

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
    '',
    firstCalls,
    // Its headings become those of the second level.
    rules.replace(/^# /gm, '## ').trimEnd(),
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
