/**
 * Sessions in SQL: the source of truth about every token.
 *
 * Only the SHA-256 of a token is stored; the token itself is shown once, at its creation. Lists leave out
 * expired sessions.
 */
import type { TokenKind, TokenParts } from '../../../engine/rules/token.ts';
import { createBatchLoader } from '../../../engine/tools/batch-loader.ts';
import { type Fragment, formatTexts, type Queryable, type Sql, type Transaction } from '../../sql/client.ts';
import { asStorage, bindStorage } from '../../sql/errors.ts';
import { hasRow, readColumn, readFlag } from '../../sql/rows.ts';
import { listingKeys } from '../shared/listings.ts';
import { type Once, type OnceResult, runOnce } from '../shared/once.ts';
import { selectOwner } from '../shared/permissions.ts';

/** The user, bot, server or team that a session acts for. */
export type SessionTarget = TokenParts;
export interface SessionRow {
  readonly id: string;
  readonly created_at: Date;
  readonly expiry: Date;
  readonly name: string;
  readonly perm_limits: readonly string[];
  readonly target_id: string;
  readonly target_type: TokenKind;
  readonly type: 'login' | 'api';
}
/** What authentication needs to know about a token. */
export interface SessionOfToken extends SessionTarget {
  readonly sessionId: string;
  readonly sessionType: 'login' | 'api';
  /** Permission ids it is limited to; empty is unlimited. */
  readonly limits: readonly string[];
  readonly expiresAtMs: number;
  /**
   * The user it acts for is banned; or, for a bot's token, the bot's owner; or, for a token of any other
   * entity, the user who minted it.
   */
  readonly banned: boolean;
  /** The user it acts for may not vote. Part of the session, so that a vote needs no query. */
  readonly voteBanned: boolean;
  /** When that user was seen first; `null` or absent for other kinds. */
  readonly firstSeenMs?: number | null | undefined;
}
export interface NewSession {
  readonly id: string;
  readonly target: SessionTarget;
  readonly type: 'login' | 'api';
  readonly name: string;
  readonly permLimits: readonly string[];
  readonly tokenHash: Buffer;
  readonly lastsSeconds: number;
  /** The user who mints; `''` if a token of another entity does: then the minter of that session is used. */
  readonly mintedBy: string;
  /** The session that mints, if it is not a user's. */
  readonly mintedWith: string | null;
  /** An operator mints, so no permission can be lost meanwhile, but the entity must exist. */
  readonly onlyIfThere?: boolean;
}

/** Lists the sessions of one entity that have not expired, newest first. */
const listSessions = (sql: Queryable, target: SessionTarget): Promise<readonly SessionRow[]> =>
  sql<SessionRow[]>`
    select id, created_at, expiry, name, perm_limits, target_id, target_type, type from sessions
    where target_type = ${target.kind} and target_id = ${target.id} and expiry > now()
    order by created_at desc, id`;

/**
 * Finds the sessions of tokens by their SHA-256, expired or not; `null` where there is none. Its shape lets
 * Postgres plan it once per connection (see `buildNameCondition`) and never join whole tables.
 */
const findSessionsOfTokens = async (
  sql: Queryable,
  tokenHashes: readonly Buffer[],
): Promise<readonly (SessionOfToken | null)[]> => {
  const hashes = tokenHashes.map((hash) => hash.toString('hex'));
  const rows = await sql<(SessionOfToken & { readonly hash: string })[]>`
    select encode(token_hash, 'hex') as hash,
      sessions.id as "sessionId", sessions.target_type as kind, sessions.target_id as id,
      sessions.type as "sessionType", sessions.perm_limits as limits,
      floor(extract(epoch from sessions.expiry) * 1000)::float8 as "expiresAtMs",
      coalesce(actor.banned, false) or coalesce(owner.banned, false) as banned,
      sessions.target_type = 'user' and coalesce(actor.vote_banned, false) as "voteBanned",
      case sessions.target_type when 'user' then floor(extract(epoch from actor.created_at) * 1000)
        end::float8 as "firstSeenMs"
    from sessions
    left join lateral (
      select banned, vote_banned, created_at from users
      where id = case sessions.target_type when 'user' then sessions.target_id else sessions.minted_by end
      limit 1) as actor on true
    left join lateral (
      select banned from users
      where sessions.target_type = 'bot' and id = (
        select owner_id from bots where bot_id = sessions.target_id)
      limit 1) as owner on true
    where sessions.token_hash = any(array(
      select unnest((select ${formatTexts(hashes.map((hash) => `\\x${hash}`))}::bytea[]))))`;
  const byHash = new Map(rows.map(({ hash, ...session }) => [hash, session]));
  return hashes.map((hash) => byHash.get(hash) ?? null);
};

/**
 * Builds the condition that these permissions (a `text[]`) include all those of a session with these limits.
 * A session without limits has all permissions; `owner` includes all.
 */
const buildLimitsCovered = (sql: Queryable, { granted, limits }: { granted: Fragment; limits: Fragment }) =>
  sql`('owner' = any(${granted}) or (cardinality(${limits}) > 0 and ${limits} <@ ${granted}))`;

/** Builds the condition for sessions that this user minted for the team, its bots and its servers. */
const buildMintedInTeam = (sql: Queryable, teamId: string, userId: string) => sql`
  minted_by = ${userId} and (
    (target_type = 'team' and target_id = ${teamId})
    or (target_type = 'bot' and target_id in (select bot_id from bots where team_id = ${teamId}))
    or (target_type = 'server' and target_id in (select server_id from servers where team_id = ${teamId})))`;

/**
 * Ends the sessions that a member minted for the team and what it owns, if they have more permissions than
 * `granted`; all of them if that is `null`. The caller has written the membership in the same transaction, so
 * no session is minted meanwhile. Resolves to the ids of the ended sessions.
 */
export const endExcessSessions = async (
  transaction: Transaction,
  member: { readonly teamId: string; readonly userId: string },
  granted: readonly string[] | null,
): Promise<readonly string[]> => {
  const covered =
    granted === null
      ? transaction`false`
      : buildLimitsCovered(transaction, {
          granted: transaction`${granted as string[]}::text[]`,
          limits: transaction`perm_limits`,
        });
  return readColumn<string>(transaction`
    delete from sessions
    where ${buildMintedInTeam(transaction, member.teamId, member.userId)} and not ${covered}
    returning id`);
};

/** Builds the condition for sessions that a ban of this user may change: see `SessionOfToken`. */
export const buildAffectedByBan = (sql: Queryable, userId: string) => sql`
  ((target_type = 'user' and target_id = (select ${userId}::text)) or minted_by = (select ${userId}::text)
    or (target_type = 'bot' and target_id in (
      select bot_id from bots where owner_id = (select ${userId}::text))))`;

const buildTeam = (sql: Queryable, target: SessionTarget) =>
  sql`(select team_id from (${selectOwner(sql, target)}) as owned)`;

/** Locks the entity and its team until the transaction ends. False when there is no such entity. */
const lockTarget = async (transaction: Transaction, target: SessionTarget): Promise<boolean> => {
  const teams =
    await transaction`select from teams where id = ${buildTeam(transaction, target)} for key share`;
  if (target.kind === 'team') return teams.length === 1;
  if (target.kind === 'user') return true;
  return hasRow(transaction`
    select from ${transaction(`${target.kind}s`)}
    where ${transaction(listingKeys[target.kind])} = ${target.id} for key share`);
};

/** Locks the minter's membership and row until the transaction ends. The caller has locked the target. */
const lockMinter = async (transaction: Transaction, session: NewSession): Promise<void> => {
  const { target, mintedBy, mintedWith } = session;
  const minter = transaction`
    coalesce((select minted_by from sessions where id = ${mintedWith}::uuid), ${mintedBy})`;
  await transaction`
    select from team_members where team_id = ${buildTeam(transaction, target)} and user_id = ${minter}
    for share`;
  await transaction`select from users where id = ${minter} for share`;
};

/**
 * Checks whether the minter may still mint: their session exists, the entity was neither deleted nor
 * transferred meanwhile, they are not banned, and as a member of the entity's team they have all permissions
 * of the new session. All these rows stay locked until the transaction ends. So a change to them either comes
 * first and is seen here, or comes later and also ends the new session. A login needs none of this; for an
 * operator the entity must exist.
 */
const canStillMint = async (transaction: Transaction, session: NewSession): Promise<boolean> => {
  const { target, mintedBy, mintedWith } = session;
  if (mintedBy === '' && mintedWith === null && session.onlyIfThere !== true) return true;
  if (!(await lockTarget(transaction, target))) return false;
  await lockMinter(transaction, session);
  return hasRow(transaction`
    select from (${selectOwner(transaction, target)}) as owned
    left join sessions as parent on parent.id = ${mintedWith}::uuid
    cross join lateral (select coalesce(parent.minted_by, ${mintedBy}) as id) as minter
    where ${buildParentValid(transaction, session)}
      and not exists (select from users where users.id = minter.id and users.banned)
      and (minter.id = '' or ${buildMinterEntitled(transaction, session)})`);
};

/** Builds the condition that the minting session, if any, exists; a team must still own the entity. */
const buildParentValid = (sql: Queryable, { mintedWith }: NewSession) => sql`
    (${mintedWith}::uuid is null or parent.id is not null)
      and (parent.target_type is distinct from 'team' or parent.target_id = owned.team_id)`;

/**
 * The entity belongs to the minter or has no owner, or the minter is a member of its team with all
 * permissions of the new session; without a session that mints, one who may manage sessions.
 */
const buildMinterEntitled = (sql: Queryable, { permLimits }: NewSession) => sql`
    ((owned.team_id is null and owned.owner_id is null) or owned.owner_id = minter.id
      or exists (
        select from team_members as member
        where member.team_id = owned.team_id and member.user_id = minter.id
          and (parent.id is not null or member.permissions && '{owner,manage_sessions}')
          and ${buildLimitsCovered(sql, {
            granted: sql`member.permissions`,
            limits: sql`${permLimits as string[]}::text[]`,
          })}))`;

/** `refused`: the minter lost the right to create it meanwhile. */
export type SessionCreation = 'created' | 'limit_reached' | 'refused';

export interface SessionOutcome {
  readonly kind: SessionCreation;
  readonly id: string;
  /** Of its token, in hex. */
  readonly tokenHash: string;
}
export interface SessionRules {
  readonly apiSessionsMax: number;
  /** A repeat with the same key gets the id and hash of the first session. */
  readonly once?: Once | undefined;
}

/**
 * Writes the session unless the entity already has `apiSessionsMax` API sessions that have not expired (login
 * sessions neither count nor are capped). Ledger when it resolves. A lock on the entity makes the cap exact.
 */
const insertSession = (
  sql: Sql,
  session: NewSession,
  { apiSessionsMax, once }: SessionRules,
): Promise<OnceResult<SessionOutcome>> =>
  sql.begin((transaction) =>
    runOnce<SessionOutcome>(transaction, once, {
      work: async () => {
        const kind = await insert(transaction, session, apiSessionsMax);
        return { kind, id: session.id, tokenHash: session.tokenHash.toString('hex') };
      },
      isDone: ({ kind }) => kind === 'created',
    }),
  );

const insert = async (
  transaction: Transaction,
  session: NewSession,
  apiSessionsMax: number,
): Promise<SessionCreation> => {
  const { target } = session;
  if (!(await canStillMint(transaction, session))) return 'refused';
  const lock = `sessions ${target.kind} ${target.id}`;
  await transaction`select pg_advisory_xact_lock(hashtextextended(${lock}, 0))`;
  const rows = await transaction`
    insert into sessions
      (id, target_type, target_id, type, name, perm_limits, token_hash, minted_by, expiry)
    select ${session.id}, ${target.kind}, ${target.id}, ${session.type}, ${session.name},
      ${session.permLimits as string[]}::text[], ${session.tokenHash},
      coalesce(
        (select minted_by from sessions where id = ${session.mintedWith}::uuid), ${session.mintedBy}),
      now() + make_interval(secs => ${session.lastsSeconds})
    where ${session.type} = 'login' or (
      select count(*) from sessions where target_type = ${target.kind} and target_id = ${target.id}
        and type = 'api' and expiry > now()) < ${apiSessionsMax}
    returning id`;
  return rows.length === 1 ? 'created' : 'limit_reached';
};

/**
 * Ends a session of this entity; ledger when it resolves. Resolves to whether it existed and had not expired.
 */
const deleteSession = (sql: Queryable, target: SessionTarget, sessionId: string): Promise<boolean> =>
  readFlag(sql`
    delete from sessions
    where id = ${sessionId} and target_type = ${target.kind} and target_id = ${target.id}
    returning expiry > now()`);

const tokensPerLookUp = 500;

/**
 * Finds sessions by at most two statements at a time: requests that arrive meanwhile share the next one. Many
 * bots post at the same second, and each look-up of its own costs more than the post.
 */
const createSessionLoader = (sql: Sql): ((hash: Buffer) => Promise<SessionOfToken | null>) =>
  createBatchLoader({
    loadMany: (hashes) => asStorage('sessions.byTokenHash', () => findSessionsOfTokens(sql, hashes)),
    keysMax: tokensPerLookUp,
  });

export const createSessions = (sql: Sql) => ({
  ...bindStorage('sessions', sql, {
    list: listSessions,
    insert: insertSession,
    remove: deleteSession,
  }),
  /** Finds the session of a token for authentication, expired or not. */
  byTokenHash: createSessionLoader(sql),
});
