/**
 * The text a newcomer reads at start: where to look, and three lines to paste that work at once.
 *
 * Pure: builds the text, prints nothing. Bold and dim only where the caller says that a person is watching.
 */
import type { DemoFile } from './access.ts';

export interface WelcomeOptions {
  /** Public address, without a slash at the end. */
  readonly url: string;
  readonly adminUrl: string;
  readonly dataDirectory: string;
  /** `null` without the demo: then there is nothing to paste. */
  readonly demo: DemoFile | null;
  /** Whether a terminal shows it. */
  readonly isTerminal: boolean;
}

interface Ink {
  bold(text: string): string;
  dim(text: string): string;
}
const escapeCharacter = String.fromCharCode(27);
const inks: Record<'terminal' | 'plain', Ink> = {
  terminal: {
    bold: (text) => `${escapeCharacter}[1m${text}${escapeCharacter}[22m`,
    dim: (text) => `${escapeCharacter}[2m${text}${escapeCharacter}[22m`,
  },
  plain: { bold: (text) => text, dim: (text) => text },
};

/** The whole text, ending with a newline. */
export const formatWelcome = (options: WelcomeOptions): string => {
  const ink = inks[options.isTerminal ? 'terminal' : 'plain'];
  const { url, demo } = options;
  const places: [string, string][] = [
    ['Address', url],
    ['Documentation', `${url}/docs`],
    ['Operator', options.adminUrl],
    ['Data', options.dataDirectory],
    ...(demo === null ? [] : ([['Demo tokens', `${options.dataDirectory}/demo.json`]] as [string, string][])),
  ];
  const width = Math.max(...places.map(([name]) => name.length));
  const lines = [
    '',
    `  ${ink.bold('Rollcall is ready.')}`,
    '',
    ...places.map(([name, place]) => `  ${ink.dim(name.padEnd(width))}  ${place}`),
    ...(demo === null ? [] : ['', '  Try it:', ...formatExamples(url, demo, ink)]),
    '',
    `  ${ink.dim('Ctrl-C stops it after all work is stored.')}`,
    '',
  ];
  return `${lines.join('\n')}\n`;
};

/** Each command on one line, so that it can be pasted whole. */
const formatExamples = (url: string, demo: DemoFile, ink: Ink): string[] =>
  listDemoCommands(url, demo).flatMap(([words, command]) => [
    '',
    `  ${ink.dim(`# ${words}`)}`,
    `  ${command}`,
  ]);

/** What it does, and the line that does it: post stats, vote, read. */
export const listDemoCommands = (url: string, demo: DemoFile): [string, string][] => [
  [
    'a bot posts its stats',
    `curl -X POST ${url}/bots/stats -H 'Bot-Auth: ${demo.bot.token}' ` +
      `-H 'Content-Type: application/json' -d '{"servers":1234,"users":56789,"status":"online"}'`,
  ],
  [
    'a user votes for it (204, nothing printed but the status)',
    `curl -X PUT '${url}/users/${demo.user.id}/bots/${demo.bot.id}/votes?upvote=true' ` +
      `-H 'User-Auth: ${demo.user.token}' -w '%{http_code}\\n'`,
  ],
  ['everybody reads the totals', `curl '${url}/bots/${demo.bot.id}?target=page'`],
];
