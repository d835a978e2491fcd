/**
 * The help texts of the operator's command line.
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
    usage: 'import FILE|- [--map MAPPING] [--skip-bad] [--dry-run] [--json]',
    summary: 'add users, listings, votes, sessions, shop, blog and so on from JSON lines',
    details: [
      'docs/operators/import-format.md explains the format. Importing a file twice changes nothing. To',
      'continue an interrupted import, run it again. FILE may be compressed (.gz); - is standard input.',
      '',
      '  --map        read CSV, or JSON of other fields, by this mapping (docs/operators/import-mapping.md)',
      '  --skip-bad   write bad lines with their reasons to FILE.rejected and continue. Without it, the',
      '               import stops at the first bad line and writes nothing of its batch.',
      '  --dry-run    report what the import would do, with all bad lines, and write nothing',
      '  --json       print the result as one JSON object',
    ],
  },
  {
    name: 'export',
    usage: 'export FILE|- [--yes] [--json]',
    summary: 'write the whole directory as JSON lines, to a file or to standard output',
    details: [
      'The result can be imported. It contains the hashes of tokens, not the tokens. Keep it private: it',
      'also contains bans, staff notes and applications. It leaves out what `backup` and `move` take along:',
      'waits between votes, visitors, shards of bots, the history, leaderboards, webhooks, reminders, push',
      'subscriptions, redeemed credits, the numbers of votes, the audit log, runs of jobs and dead letters',
      '(docs/operators/import-format.md). FILE appears when the export is complete.',
      '',
      '  --yes    replace an existing FILE without asking',
      '  --json   print the number of lines as JSON',
    ],
  },
  {
    name: 'export history',
    usage: 'export history FILE|- [--csv] [--yes] [--json]',
    summary: 'write the history of all listings as JSON lines, or as CSV',
    details: [
      'One line for each time at which a number of a listing changed: samples, hours and days; the numbers',
      'hold until the next line of the listing and level. JSON lines begin with the times that have values:',
      'no sample ran at any other time. It cannot be imported. FILE appears when the export is complete.',
      '',
      '  --csv    write CSV with a line of names first, without the list of times',
      '  --yes    replace an existing FILE without asking',
      '  --json   print the number of lines as JSON',
    ],
  },
  {
    name: 'inspect',
    usage: 'inspect KIND ID [--json]',
    summary: 'show what the catalogue, SQL and the hot store know about one entity',
    details: [
      'KIND is bot, server, team or pack. ID is the id, or for a pack its url.',
      '',
      '  --json   print one JSON object',
    ],
  },
  {
    name: 'backup',
    usage: 'backup DIR [--json]',
    summary: 'copy all data into a new folder, verified and synced',
    details: [
      'Nodes may run. Embedded stores: the node copies both as of one moment. Redis and Postgres: the',
      'counters of Redis are flushed to Postgres, then pg_dump copies Postgres. DIR must not exist; it',
      'appears when the backup is complete.',
      '',
      '  --json   print the size and the time as JSON',
    ],
  },
  {
    name: 'restore',
    usage: 'restore DIR',
    summary: 'restore a backup into an empty folder or an empty database',
    details: [
      'Stop all nodes first. DATA_DIR, or the database of DATABASE_URL, must be empty. A restore is complete',
      'or changes nothing. Redis keeps counters that are newer than the backup; a Redis with older counters',
      'is refused (docs/runbook/restored-backup.md).',
    ],
  },
  {
    name: 'reflush',
    usage: 'reflush',
    summary: 'write all totals of the hot store to SQL again, after SQL was restored from an older copy',
    details: ['Stop all nodes first. Not needed after `restore`, only after a restore by other tools.'],
  },
  {
    name: 'adopt',
    usage: 'adopt [--yes]',
    summary: 'give the database to the hot store of these settings, when the former one is lost',
    details: [
      'A database belongs to one hot store: Redis, or the one of a DATA_DIR. A start with another one is',
      'refused. This command says what is lost with the former one and gives the database to the one of',
      'REDIS_URL, or of DATA_DIR. Stop all nodes first. To lose nothing, use "rollcall ops move" instead.',
      '',
      '  --yes   do it without asking',
    ],
  },
  {
    name: 'move',
    usage: 'move [--to-redis URL] [--to-database URL] [--to-data DIR] [--undo]',
    summary: 'move the directory to other stores, without loss: to grow, or to go back',
    details: [
      'Stop all nodes first. Copies everything, also what an export leaves out. The new stores must be',
      'empty; without the addresses they are embedded ones in DIR. The present stores do not start',
      'afterwards, with any version. After an interruption give the same command again;',
      'docs/operators/stores.md has more.',
      '',
      '  --to-redis URL      the new REDIS_URL',
      '  --to-database URL   the new DATABASE_URL',
      '  --to-data DIR       the new DATA_DIR of embedded stores',
      '  --undo              after an interruption: open the present stores again instead',
    ],
  },
  {
    name: 'help',
    usage: 'help [COMMAND]',
    summary: 'show this text, or the help of one command',
    details: [],
  },
];

/** Where the commands find the stores and the node. */
const closing = [
  'Commands of the first list open the configured stores (see config.example), or work through the node',
  'that has the embedded stores (DATA_DIR) open. Commands of the second list need a running node. They find',
  'it by ADMIN_HOST and ADMIN_PORT, its token by ADMIN_TOKEN or in DATA_DIR. --json prints JSON; --dry-run',
  'says what a command would do; --yes confirms it. Exit codes: 0 done, 1 failed or refused, 2 not',
  'understood or --yes is needed, 130 interrupted. In a clone: npm run ops -- COMMAND; with npm run -s ops',
  'the output has no lines of npm.',
];

/** The help text that lists all commands. */
export const formatUsage = (): string => {
  const width = Math.max(...commandHelps.map(({ usage }) => usage.length));
  const lines = commandHelps.map(({ usage, summary }) => `  ${usage.padEnd(width)}   ${summary}`);
  const operations = groups.map((group) => {
    const verbs = listOperations(group).map(({ command }) => command.split(' ')[1]);
    return `  ${group.padEnd(width)}   ${verbs.join(', ')}`;
  });
  const online = ['Operations of a running node (help GROUP shows more):', '', ...operations];
  return ['Usage: rollcall ops COMMAND', '', ...lines, '', ...online, '', ...closing, ''].join('\n');
};

/** The help text of one command. */
export const formatCommandHelp = (help: CommandHelp): string =>
  [`Usage: rollcall ops ${help.usage}`, '', `${capitalise(help.summary)}.`, ...help.details, ''].join('\n');

const capitalise = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
