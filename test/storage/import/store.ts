/**
 * An empty embedded store in a temporary folder, and records to fill it with.
 *
 * One store per test file: creating one takes seconds, emptying it milliseconds.
 */
import { join } from 'node:path';
import { exportDirectory } from '../../../storage/export/export.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { makeFolder } from '../../support/folder.ts';
import { openMigratedSql } from '../../support/sql-template.ts';

export interface TestStore {
  readonly sql: Sql;
  /** A temporary folder; `close` deletes it. */
  readonly folder: string;
  /** Deletes all rows, also those of a new directory. */
  clear(): Promise<void>;
  /** Exports the whole content. */
  dump(): Promise<string>;
  close(): Promise<void>;
}

/** Tables that refer to others come before them. */
const tables = [
  'votes',
  'vote_resets',
  'sessions',
  'packs',
  'bots',
  'servers',
  'team_members',
  'teams',
].concat(
  ...['vanity', 'totals', 'users', 'imports', 'settings', 'vote_credit_tiers', 'shop_benefits', 'shop_items'],
  ...['shop_coupons', 'blog_posts', 'apps', 'app_positions', 'reserved_words'],
);

export const openTestStore = async (): Promise<TestStore> => {
  const folder = makeFolder('rollcall-import-');
  const { sql, close } = await openMigratedSql(join(folder, 'sql'));
  return {
    sql,
    folder,
    async clear() {
      // Deleting few rows is faster than truncating many tables.
      await sql.unsafe(tables.map((table) => `delete from ${table};`).join(' '));
    },
    dump: () => dump(sql),
    async close() {
      await close();
    },
  };
};

export const dump = async (sql: Sql): Promise<string> => {
  let text = '';
  await exportDirectory(sql, async (chunk) => {
    text += chunk;
  });
  return text;
};

type Fields = Record<string, unknown>;

export const platformId = (number: number): string => String(100_000_000_000_000_000n + BigInt(number));
const long = 'A helper that answers questions and never asks them twice. '.repeat(10);

export const user = (number: number, fields: Fields = {}): Fields => ({
  kind: 'user',
  id: platformId(number),
  username: `user${number}`,
  ...fields,
});
export const team = (id: string, owner: number, fields: Fields = {}): Fields => ({
  kind: 'team',
  id,
  name: `Team ${id}`.slice(0, 32),
  members: [{ user_id: platformId(owner), perms: ['owner'] }],
  ...fields,
});
export const bot = (number: number, fields: Fields = {}): Fields => ({
  kind: 'bot',
  bot_id: platformId(number),
  owner: platformId(1),
  library: 'typescript',
  prefix: '!',
  short: 'A helper that answers questions in words.',
  long,
  invite: 'https://chat.example/invite',
  tags: ['helper'],
  ...fields,
});
export const server = (number: number, fields: Fields = {}): Fields => ({
  kind: 'server',
  server_id: platformId(number),
  team_owner: 'team-1',
  name: `Server ${number}`,
  short: 'A place to share unfinished things with friends.',
  tags: ['calm'],
  ...fields,
});
export const pack = (url: string, fields: Fields = {}): Fields => ({
  kind: 'pack',
  url,
  owner: platformId(1),
  name: 'A pack',
  short: 'What we install first.',
  tags: ['starter'],
  ...fields,
});
export const vote = (target: number, author: number, fields: Fields = {}): Fields => ({
  kind: 'vote',
  target_type: 'bot',
  target_id: platformId(target),
  author: platformId(author),
  upvote: true,
  created_at: '2026-01-05T10:00:00.000Z',
  ...fields,
});
export const session = (fields: Fields = {}): Fields => ({
  kind: 'session',
  target_type: 'user',
  target_id: platformId(1),
  type: 'api',
  name: 'script',
  token_hash: 'ab'.repeat(32),
  expiry: '2036-01-01T00:00:00.000Z',
  ...fields,
});
export const linesOf = (...records: readonly Fields[]): string[] =>
  records.map((record) => JSON.stringify(record));
