/**
 * Opens a small directory in an embedded database of its own, and adds single rows, for the tests of the
 * catalogue.
 *
 * The rows are written by plain statements, not by the product's import, so that the tests cover the
 * catalogue alone.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { EntityKind, EntityRef } from '../../../engine/ids.ts';
import type { NewSession } from '../../../storage/catalogue/people/sessions.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { makeFolder } from '../../support/folder.ts';
import { refOf, shardOf } from '../../support/refs.ts';
import { openMigratedSql } from '../../support/sql-template.ts';

export interface Directory {
  readonly sql: Sql;
  close(): Promise<void>;
}

/** Opens an empty, migrated database. */
export const openDirectory = async (): Promise<Directory> => {
  const folder = makeFolder('rollcall-catalogue-');
  return openMigratedSql(join(folder, 'sql'));
};

/** A UUID that ends in this number. */
export const uuid = (number: number): string => `018f3b7e-0000-7000-8000-${String(number).padStart(12, '0')}`;

let uuids = 1_000;
const nextUuid = (): string => uuid(++uuids);

/** Totals as the flusher would write them. */
export interface Counted {
  readonly clicks?: number;
  readonly unique_clicks?: number;
  readonly invite_clicks?: number;
  readonly upvotes?: number;
  readonly downvotes?: number;
  readonly servers?: string;
  readonly shards?: string;
  readonly status?: string;
  readonly last_stats_post_ms?: number;
  readonly uptime?: number;
  readonly total_uptime?: number;
  readonly uptime_checked_ms?: number;
}

const addTotals = async (
  sql: Sql,
  target: { kind: EntityKind; id: string },
  counted: Counted,
): Promise<EntityRef> => {
  const [next] = await sql<{ incarnation: number }[]>`select nextval('incarnations') as incarnation`;
  const incarnation = next?.incarnation ?? 0;
  const shard = shardOf(target.kind, target.id);
  const row = { incarnation, kind: target.kind, entity_id: target.id, shard, ...counted };
  await sql`insert into totals ${sql(row)}`;
  return refOf(target.kind, target.id, incarnation);
};

const addVanity = async (
  sql: Sql,
  target: { kind: EntityKind; id: string },
  code: string,
): Promise<string> => {
  const itag = nextUuid();
  await sql`insert into vanity (itag, code, target_type, target_id)
    values (${itag}, ${code}, ${target.kind}, ${target.id})`;
  return itag;
};

export interface UserFields {
  readonly username?: string;
  readonly bot?: boolean;
  readonly flags?: string[];
  readonly banned?: boolean;
  readonly vote_banned?: boolean;
}
export const addUser = async (sql: Sql, id: string, fields: UserFields = {}): Promise<void> => {
  const username = fields.username ?? `name-of-${id}`;
  const row = { id, username, display_name: username.toUpperCase(), avatar: `https://a.example/${id}` };
  await sql`insert into users ${sql({ ...row, ...fields })}`;
};

export interface BotFields {
  readonly type?: string;
  readonly owner_id?: string | null;
  readonly team_id?: string | null;
  readonly created_at?: Date;
  readonly long?: string;
  readonly short?: string;
  readonly vote_banned?: boolean;
  readonly listed_since?: Date | null;
  readonly start_premium_period?: Date;
  readonly premium_period_hours?: number;
  readonly claimed_by?: string;
  readonly last_claimed?: Date;
}
export const addBot = async (
  sql: Sql,
  id: string,
  fields: BotFields & { readonly counted?: Counted; readonly vanity?: string } = {},
): Promise<EntityRef> => {
  const { counted = {}, vanity = `bot-${id}`, ...columns } = fields;
  const ref = await addTotals(sql, { kind: 'bot', id }, counted);
  const row = {
    bot_id: id,
    incarnation: ref.incarnation,
    client_id: id,
    itag: nextUuid(),
    vanity_ref: await addVanity(sql, ref, vanity),
    type: 'approved',
    owner_id: columns.team_id === undefined ? 'robin' : null,
    library: 'discord.js',
    prefix: '!',
    short: `Short words about ${id}.`,
    long: `Long words about ${id}.`,
    invite: `https://example.org/${id}`,
    tags: ['fun', 'games'],
    ...columns,
  };
  await sql`insert into bots ${sql(row)}`;
  return ref;
};

export interface ServerFields {
  readonly type?: string;
  readonly state?: string;
  readonly created_at?: Date;
}
export const addServer = async (
  sql: Sql,
  id: string,
  fields: ServerFields & { readonly team_id: string; readonly counted?: Counted },
): Promise<EntityRef> => {
  const { counted = {}, ...columns } = fields;
  const ref = await addTotals(sql, { kind: 'server', id }, counted);
  const row = {
    server_id: id,
    incarnation: ref.incarnation,
    itag: nextUuid(),
    vanity_ref: await addVanity(sql, ref, `server-${id}`),
    type: 'approved',
    name: `Server ${id}`,
    short: 'A server.',
    long: 'A long text about a server.',
    invite: 'https://example.org/join',
    total_members: 2_048,
    online_members: 310,
    ...columns,
  };
  await sql`insert into servers ${sql(row)}`;
  return ref;
};

export const addTeam = async (sql: Sql, id: string, vanity = `team-${id}`): Promise<EntityRef> => {
  const ref = await addTotals(sql, { kind: 'team', id }, {});
  const row = {
    id,
    incarnation: ref.incarnation,
    itag: nextUuid(),
    vanity_ref: await addVanity(sql, ref, vanity),
    name: `Team ${id}`,
  };
  await sql`insert into teams ${sql(row)}`;
  return ref;
};

export const addMember = async (
  sql: Sql,
  teamId: string,
  member: { user: string; permissions: string[]; mentionable?: boolean; created_at?: Date },
): Promise<void> => {
  const { user, ...rest } = member;
  await sql`insert into team_members ${sql({ team_id: teamId, user_id: user, itag: nextUuid(), ...rest })}`;
};

export interface PackFields {
  readonly owner_id?: string;
  readonly bot_ids?: string[];
  readonly server_ids?: string[];
  readonly created_at?: Date;
}
export const addPack = async (sql: Sql, url: string, fields: PackFields = {}): Promise<EntityRef> => {
  const ref = await addTotals(sql, { kind: 'pack', id: url }, {});
  const row = {
    url,
    incarnation: ref.incarnation,
    owner_id: 'robin',
    name: `Pack ${url}`,
    short: 'A pack of things.',
    tags: ['fun'],
    ...fields,
  };
  await sql`insert into packs ${sql(row)}`;
  return ref;
};

/** A session to insert: of the API, for ten minutes, without limits, minted by Robin. */
export const newSession = (fields: Partial<NewSession> & Pick<NewSession, 'target'>): NewSession => ({
  id: randomUUID(),
  type: 'api',
  name: 'x',
  permLimits: [],
  tokenHash: randomBytes(32),
  lastsSeconds: 600,
  mintedBy: 'robin',
  mintedWith: null,
  ...fields,
});

export interface VoteFields {
  readonly author: string;
  readonly created_at: string;
  readonly upvote?: boolean;
  readonly void?: boolean;
  readonly void_reason?: string;
  readonly voided_at?: string;
  readonly immutable?: boolean;
  readonly vote_num?: number;
}
export const addVote = async (sql: Sql, ref: EntityRef, fields: VoteFields): Promise<string> => {
  const itag = nextUuid();
  const row = {
    itag,
    incarnation: ref.incarnation,
    target_type: ref.kind,
    target_id: ref.id,
    upvote: true,
    vote_num: 0,
    ...fields,
  };
  await sql`insert into votes ${sql(row)}`;
  return itag;
};
