/**
 * Builds the text that a start prints: the addresses, and commands that work when pasted.
 *
 * Pure: prints nothing. Bold and dim text only if the caller says that the output is a terminal.
 */
import type { DemoFile } from './demo.ts';

export interface WelcomeOptions {
  /** Public address, without a slash at the end. */
  readonly url: string;
  readonly adminUrl: string;
  /** As `rollcall version` prints it. */
  readonly version: string;
  /** Where the data is, as pairs of a name and a place. */
  readonly stores: readonly (readonly [string, string])[];
  /** The folder that contains demo.json. */
  readonly dataDirectory: string;
  /** `null` without the demo; the text then has no commands. */
  readonly demo: DemoFile | null;
  /** Whether the output is a terminal. */
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
  const locations: readonly (readonly [string, string])[] = [
    ['Address', url],
    ['Documentation', `${url}/docs`],
    ['Operator', options.adminUrl],
    ...options.stores,
    ...(demo === null
      ? []
      : ([
          ['Demo tokens', `${options.dataDirectory}/demo.json`],
          ['Demo badge', `${url}/badges/bots/${demo.bot.id}/card.svg`],
        ] as const)),
  ];
  const width = Math.max(...locations.map(([name]) => name.length));
  const lines = [
    '',
    `  ${ink.bold(`Rollcall ${options.version} is ready.`)}`,
    '',
    ...locations.map(([name, location]) => `  ${ink.dim(name.padEnd(width))}  ${location}`),
    ...(demo === null ? [] : ['', '  Try it:', ...formatExamples(url, demo, ink)]),
    '',
    `  ${ink.dim('Press Ctrl-C to stop. All accepted work is stored first.')}`,
    '',
  ];
  return `${lines.join('\n')}\n`;
};

/** Each command is on one line, so that it can be copied whole. */
const formatExamples = (url: string, demo: DemoFile, ink: Ink): string[] =>
  listDemoCommands(url, demo).flatMap(([title, command]) => [
    '',
    `  ${ink.dim(`# ${title}`)}`,
    `  ${command}`,
  ]);

/** Pairs of a title and a curl command: post stats, vote, read, wait for a vote, post one shard. */
export const listDemoCommands = (url: string, demo: DemoFile): [string, string][] => [
  [
    'a bot posts its stats',
    `curl -X POST '${url}/bots/stats' -H 'Bot-Auth: ${demo.bot.token}' ` +
      `-H 'Content-Type: application/json' -d '{"servers":1234,"users":56789,"status":"online"}'`,
  ],
  [
    'a user votes for it (prints only the status, 204)',
    `curl -X PUT '${url}/users/${demo.user.id}/bots/${demo.bot.id}/votes?upvote=true' ` +
      `-H 'User-Auth: ${demo.user.token}' -w '%{http_code}\\n'`,
  ],
  ['any client reads the totals', `curl '${url}/bots/${demo.bot.id}?target=page'`],
  [
    'any client waits 25 s for the next vote (vote in a second window)',
    `curl '${url}/bots/${demo.bot.id}/votes/log?wait=25'`,
  ],
  [
    'a process of a bot posts the shards it runs, here both of two',
    `curl -X POST '${url}/bots/stats/shards' -H 'Bot-Auth: ${demo.bot.token}' ` +
      `-H 'Content-Type: application/json' ` +
      `-d '{"shard_count":2,"shards":[{"id":0,"servers":700,"users":30000},` +
      `{"id":1,"servers":534,"users":26789}]}'`,
  ],
];
