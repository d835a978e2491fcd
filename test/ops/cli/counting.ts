/**
 * A small directory, and functions that count on it and read its totals, for tests of backup and restore.
 */
import * as assert from 'uvu/assert';
import { runBackup } from '../../../ops/cli/backup.ts';
import type { Terminal } from '../../../ops/cli/command.ts';
import { type Config, readConfig } from '../../../ops/config/config.ts';
import { start } from '../../../ops/rollcall.ts';
import type { Stores } from '../../../storage/open.ts';
import { type Directory, directoryOf, type Sizes, tokenOf } from '../../support/directory.ts';
import { type Ran, runOnStreams } from './streams.ts';

export const sizes: Sizes = { users: 4, bots: 3, servers: 1, teams: 1, packs: 1 };
export const directory: Directory = directoryOf(sizes);
const [firstBot = ''] = directory.bots;

/** Posts stats beyond 2^53, views a page, and votes; everything is acknowledged when it resolves. */
export const count = async (url: string, voter: number, servers: string): Promise<void> => {
  const posted = await fetch(`${url}/bots/stats`, {
    method: 'POST',
    headers: { 'Bot-Auth': tokenOf('bot', firstBot) },
    body: `{"servers":${servers}}`,
  });
  const viewed = await fetch(`${url}/bots/${firstBot}?target=page`);
  await viewed.text();
  assert.equal([posted.status, viewed.status, await vote(url, voter)], [200, 200, 204]);
};

/** Resolves to the status of a vote: 204, or 429 while the voter has to wait. */
export const vote = async (url: string, voter: number): Promise<number> => {
  const user = directory.users[voter] ?? '';
  const { status } = await fetch(`${url}/users/${user}/bots/${firstBot}/votes?upvote=true`, {
    method: 'PUT',
    headers: { 'User-Auth': tokenOf('user', user) },
  });
  return status;
};

/** The counters of the first bot as a client reads them, with all digits. */
export const shown = async (url: string): Promise<string> => {
  const text = await (await fetch(`${url}/bots/${firstBot}`)).text();
  const fields = ['servers', 'clicks', 'unique_clicks', 'votes'];
  return fields.map((name) => new RegExp(`"${name}":\\d+`).exec(text)?.[0] ?? `no ${name}`).join(' ');
};

/** The totals of the first bot in SQL. */
export const inSql = async ({ sql }: Pick<Stores, 'sql'>): Promise<string> => {
  const [row] = await sql<{ servers: string; clicks: number; upvotes: number }[]>`
    select servers, clicks, upvotes from totals where kind = 'bot' and entity_id = ${firstBot}`;
  return `${row?.servers} ${row?.clicks} ${row?.upvotes}`;
};

/** Runs a task on a node, reads its counters, and drains the node. */
export const countOnNode = async (
  settings: Readonly<Record<string, string>>,
  task: (url: string) => Promise<void>,
): Promise<string> => {
  const node = await start(readConfig(settings));
  try {
    await task(node.url);
    return await shown(node.url);
  } finally {
    await node.stop();
  }
};

type Command = (config: Config, terminal: Terminal, operand: string) => Promise<number>;

export const takeBackup: Command = (config, terminal, directory) =>
  runBackup(config, terminal, { directory, json: false });

/** Runs one command with these settings. A failure goes to `err`, as on the command line. */
export const run = async (
  command: Command,
  settings: Readonly<Record<string, string>>,
  operand = '',
): Promise<Ran> => runOnStreams((terminal) => command(readConfig(settings), terminal, operand));
