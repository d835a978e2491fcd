/**
 * A small directory with a token for every user and listing, imported into a data folder that no node
 * has opened yet.
 *
 * Making the embedded database takes seconds, so a file makes one folder and every test starts from a copy.
 * Tokens follow from the ids, so they need not be passed around.
 */
import { createHash } from 'node:crypto';
import { cpSync } from 'node:fs';
import { type EntityKind, entityKinds } from '../../engine/ids.ts';
import { formatToken, type TokenKind } from '../../engine/rules/token.ts';
import { importLines } from '../../storage/import/import.ts';
import type { ImportRecord } from '../../storage/import/kinds.ts';
import { openStores, type Stores } from '../../storage/open.ts';
import type { Sql } from '../../storage/sql/client.ts';
import { migrate } from '../../storage/sql/migrate.ts';
import { findDatabase, makeDatabase } from './alone.ts';
import { makeBareFolder } from './sql-template.ts';

export interface Sizes {
  readonly users: number;
  readonly bots: number;
  readonly servers: number;
  readonly teams: number;
  readonly packs: number;
}
export interface Target {
  readonly kind: EntityKind;
  readonly id: string;
}
export interface Directory {
  readonly users: readonly string[];
  readonly bots: readonly string[];
  /** Everything that can be voted on, bots first. */
  readonly targets: readonly Target[];
}

/** The token of any user or listing in such a directory. */
export const tokenOf = (kind: TokenKind, id: string): string =>
  formatToken({ kind, id }, createHash('sha256').update(`${kind} ${id}`).digest());

const times = <Made>(count: number, make: (index: number) => Made): Made[] =>
  Array.from({ length: count }, (_, index) => make(index));
const numbered = (prefix: string, index: number): string => `${prefix}${String(index).padStart(15, '0')}`;

/** The names in a directory of these sizes. */
export const directoryOf = (sizes: Sizes): Directory => {
  const bots = times(sizes.bots, (index) => numbered('2', index));
  const named: Record<EntityKind, string[]> = {
    bot: bots,
    server: times(sizes.servers, (index) => numbered('3', index)),
    team: times(sizes.teams, (index) => `team-${index}`),
    pack: times(sizes.packs, (index) => `pack-${index}`),
  };
  return {
    users: times(sizes.users, (index) => numbered('1', index)),
    bots,
    targets: entityKinds.flatMap((kind) => named[kind].map((id) => ({ kind, id }))),
  };
};

const words = 'Counts what it is told to count, and nothing else at all.';
const itagOf = (id: string, index: number): string => {
  const digits = createHash('sha256').update(`${id} ${index}`).digest('hex');
  return digits.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};

const entityRecord = ({ kind, id }: Target, owner: string): ImportRecord => {
  const common = { tags: ['faults'], short: words };
  switch (kind) {
    case 'bot':
      return {
        kind,
        bot_id: id,
        owner,
        type: 'approved',
        library: 'any',
        prefix: '!',
        long: words.repeat(10),
        invite: 'https://example.org/invite',
        ...common,
      };
    case 'server':
      return { kind, server_id: id, team_owner: 'team-0', type: 'approved', name: `Server ${id}`, ...common };
    case 'team':
      return { kind, id, name: `Team ${id}`, ...common, members: [{ user_id: owner, perms: ['owner'] }] };
    case 'pack':
      return { kind, url: id, owner, name: `Pack ${id}`, bot_ids: [numbered('2', 0)], ...common };
  }
};

const sessionRecord = (kind: TokenKind, id: string): ImportRecord => ({
  kind: 'session',
  id: itagOf(id, 1),
  target_type: kind,
  target_id: id,
  type: kind === 'user' ? 'login' : 'api',
  name: 'faults',
  token_hash: createHash('sha256').update(tokenOf(kind, id)).digest('hex'),
  expiry: '2099-01-01T00:00:00.000Z',
});

/** Records in dependency order: each after the records that it refers to. */
const recordsOf = (directory: Directory): ImportRecord[] => {
  const { users, targets, bots } = directory;
  const owner = users[0] ?? '';
  const rank = (kind: EntityKind): number => ['team', 'server', 'bot', 'pack'].indexOf(kind);
  const sorted = [...targets].sort((left, right) => rank(left.kind) - rank(right.kind));
  return [
    ...users.map((id): ImportRecord => ({ kind: 'user', id, username: `user${id.slice(-5)}` })),
    ...sorted.map((target) => entityRecord(target, owner)),
    ...users.map((id) => sessionRecord('user', id)),
    ...bots.map((id) => sessionRecord('bot', id)),
  ];
};

const linesOf = (directory: Directory): string[] =>
  recordsOf(directory).map((record) => JSON.stringify(record));

/** What `npm run ops -- import` takes. */
export const importFileOf = (directory: Directory): string => `${linesOf(directory).join('\n')}\n`;

/** Opens the stores of a folder that no node has open, for looking at them at rest. */
export const openAtRest = (dataDir: string): Promise<Stores> =>
  openStores(
    { dataDir, redisUrl: [], databaseUrl: findDatabase(dataDir).DATABASE_URL ?? '' },
    {
      clock: Date.now,
      onWarning: (message, error) => {
        throw new Error(message, { cause: error });
      },
    },
  );

/** Makes a data folder with the directory in SQL and an empty hot store. */
export const makeDataFolder = async (dataDir: string, sizes: Sizes): Promise<Directory> => {
  if (!makeDatabase(dataDir)) await makeBareFolder(dataDir);
  const stores = await openAtRest(dataDir);
  try {
    return await fillDirectory(stores.sql, sizes);
  } finally {
    await stores.close();
  }
};

/** Brings the schema up to date and imports the directory. */
export const fillDirectory = async (sql: Sql, sizes: Sizes): Promise<Directory> => {
  const directory = directoryOf(sizes);
  await migrate(sql);
  await importLines(sql, linesOf(directory));
  return directory;
};

/** A copy of a data folder that no process has open. */
export const copyDataFolder = (from: string, into: string): string => {
  cpSync(from, into, { recursive: true });
  makeDatabase(into, from);
  return into;
};
