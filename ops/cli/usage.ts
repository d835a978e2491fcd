/**
 * What the operator's command line can do, in words. Who asks for something else is told by nearest.ts.
 */
import { groups, listOperations } from './operator/arguments.ts';

export interface CommandHelp {
  readonly name: string;
  readonly usage: string;
  readonly summary: string;
  readonly details: readonly string[];
}

export const commandHelps: readonly CommandHelp[] = [
  {
    name: 'import',
    usage: 'import FILE [--skip-bad]',
    summary: 'add users, listings, votes, sessions, shop, blog and so on from JSON lines',
    details: [
      'The format is explained in docs/import-format.md. Importing a file twice changes nothing; an',
      'interrupted import goes on where it stopped when it is started again with the same file.',
      '',
      '  --skip-bad   write bad lines to FILE.rejected with their reasons and go on; without it the import',
      '               stops at the first bad line, before anything of its batch is written',
    ],
  },
  {
    name: 'export',
    usage: 'export FILE|-',
    summary: 'write the whole directory as JSON lines, to a file or to standard output',
    details: [
      'The result can be imported again. It holds the hashes of tokens, not the tokens; keep it private all',
      'the same, for it also holds bans, staff notes and applications. Push subscriptions, reminders and',
      'redeemed credits are not in it. The file is replaced when the export is complete.',
    ],
  },
  {
    name: 'inspect',
    usage: 'inspect KIND ID [--json]',
    summary: 'show what the catalogue, SQL and the hot store know about one entity',
    details: [
      'KIND is bot, server, team or pack; ID is the id, or the url of a pack.',
      '',
      '  --json   the same as one JSON object',
    ],
  },
  {
    name: 'backup',
    usage: 'backup DIR',
    summary: 'copy everything into a new folder, checked and synced',
    details: [
      'On the embedded stores: both, so stop the server first. On servers: Postgres, by pg_dump, while nodes',
      'go on; what Redis has not flushed yet is flushed first. The folder appears when it is complete.',
    ],
  },
  {
    name: 'restore',
    usage: 'restore DIR',
    summary: 'put a backup in place, where nothing is yet',
    details: [
      'All of it or nothing. DATA_DIR must be empty, or the database that DATABASE_URL names; stop all nodes',
      'first. A Redis that holds newer counters keeps them, an older one is refused (docs/operating.md).',
    ],
  },
  {
    name: 'reflush',
    usage: 'reflush',
    summary: 'write all totals of the hot store to SQL anew, after SQL was brought back from an older copy',
    details: ['Needed only after other means than `restore`. Stop all nodes first.'],
  },
  { name: 'help', usage: 'help [COMMAND]', summary: 'show this, or more about one command', details: [] },
];

/** Where the stores are, said once for all commands. */
const closing = [
  'The first ones use the stores that the settings name (DATA_DIR; see config.example). The embedded stores',
  'belong to one process at a time: stop the server first. The others need it running, and find it by',
  'ADMIN_HOST and ADMIN_PORT; its token by DATA_DIR or ADMIN_TOKEN. --json gives the answer to programs.',
];

export const formatUsage = (): string => {
  const width = Math.max(...commandHelps.map(({ usage }) => usage.length));
  const lines = commandHelps.map(({ usage, summary }) => `  ${usage.padEnd(width)}   ${summary}`);
  const asks = groups.map((group) => {
    const verbs = listOperations(group).map(({ command }) => command.split(' ')[1]);
    return `  ${group.padEnd(width)}   ${verbs.join(', ')}`;
  });
  const online = ['Asking a running node (help GROUP tells more):', '', ...asks];
  return ['Usage: npm run ops -- COMMAND', '', ...lines, '', ...online, '', ...closing, ''].join('\n');
};

export const formatCommandHelp = (help: CommandHelp): string =>
  [`Usage: npm run ops -- ${help.usage}`, '', `${capitalise(help.summary)}.`, ...help.details, ''].join('\n');

const capitalise = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
