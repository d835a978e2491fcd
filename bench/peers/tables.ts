/**
 * The tables of the peer on SQL, and how they are filled: the schema of a directory that writes every request
 * to SQL.
 */
import postgres from 'postgres';
import type { Directory } from '../scenarios/directory.ts';
import { createProfile, hashToken } from './peer.ts';

const connectionsMax = 20;

export const openTables = async (address: string, directory: Directory): Promise<postgres.Sql> => {
  const sql = postgres(address, { max: connectionsMax, onnotice: () => {} });
  await sql.unsafe(`
    create table if not exists bots (
      id text primary key, profile jsonb not null, servers bigint, users bigint, shards bigint, status text,
      last_stats_post timestamptz, clicks bigint not null default 0, votes bigint not null default 0);
    create table if not exists sessions (hash text primary key, kind text not null, holder text not null);
    create table if not exists votes (
      id bigint generated always as identity primary key, author text not null, bot text not null,
      upvote boolean not null, created_at timestamptz not null default now());
    create index if not exists votes_by_author on votes (author, bot, created_at)`);
  const { bots, users } = directory;
  const profiles = bots.map(({ id }, index) => JSON.stringify(createProfile(id, index)));
  await sql`
    insert into bots (id, profile)
    select id, profile::jsonb
    from unnest(${bots.map(({ id }) => id)}::text[], ${profiles}::text[]) as new (id, profile)
    on conflict do nothing`;
  for (const [kind, holders] of Object.entries({ bot: bots, user: users })) {
    await sql`
      insert into sessions (hash, kind, holder)
      select hash, ${kind}, holder
      from unnest(${holders.map(({ token }) => hashToken(token))}::text[],
        ${holders.map(({ id }) => id)}::text[]) as new (hash, holder)
      on conflict do nothing`;
  }
  return sql;
};

/** Looks up the owner of the token with this hash. */
export const createHolderLookup =
  (sql: postgres.Sql, kind: 'bot' | 'user') =>
  async (hash: string): Promise<string | null> => {
    const [row] = await sql<{ holder: string }[]>`
      select holder from sessions where hash = ${hash} and kind = ${kind}`;
    return row?.holder ?? null;
  };

export interface BotRow {
  readonly profile: Readonly<Record<string, unknown>>;
  readonly servers: string | null;
  readonly users: string | null;
  readonly shards: string | null;
  readonly status: string | null;
  readonly clicks: string;
  readonly votes: string;
}

const count = (text: string | null): number | null => (text === null ? null : Number(text));

export const toPage = ({ profile, ...row }: BotRow) => ({
  ...profile,
  status: row.status,
  servers: count(row.servers),
  users: count(row.users),
  shards: count(row.shards),
  clicks: count(row.clicks),
  votes: count(row.votes),
});
