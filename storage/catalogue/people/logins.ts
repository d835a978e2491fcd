/**
 * Logins in SQL: which codes and states were used, who signed in, and the session that a login creates.
 *
 * One insertion claims a code or state, so one of any number of simultaneous requests on any nodes wins.
 * Signing in checks the ban and writes the user and the session in one transaction: a refused login changes
 * nothing.
 */
import { type Queryable, retrySerializable, type Sql } from '../../sql/client.ts';
import { asStorage, bindStorage } from '../../sql/errors.ts';
import { changeInSteps, hasRow, rowsPerStep } from '../../sql/rows.ts';
import type { NewSession } from './sessions.ts';

export type LoginUse = 'code' | 'state';
/** A user as the provider reports them, with the directory's field names. */
export interface LoginProfile {
  readonly id: string;
  readonly username: string;
  readonly displayName: string;
  /** A URL, `''` for none. */
  readonly avatar: string;
}
export interface SignIn {
  readonly profile: LoginProfile;
  /** True for the sign-in of banned users; it is for them only. */
  readonly banExempt: boolean;
  readonly session: Pick<NewSession, 'id' | 'tokenHash' | 'lastsSeconds'>;
}
export type SignInOutcome = 'signed_in' | 'banned' | 'not_banned';

export const createLogins = (sql: Sql) =>
  bindStorage('logins', sql, {
    claim,
    release,
    signIn: (client: Sql, request: SignIn) => retrySerializable(() => signIn(client, request)),
  });

/** Marks a code or state as used; ledger when it resolves. False when it was used before. */
const claim = (sql: Queryable, kind: LoginUse, hash: Buffer): Promise<boolean> =>
  hasRow(sql`
    insert into login_uses (kind, hash) values (${kind}, ${hash}) on conflict do nothing returning kind`);

/** Makes a code or state usable again after a failed login. */
const release = (sql: Queryable, kind: LoginUse, hash: Buffer): Promise<unknown> =>
  sql`delete from login_uses where kind = ${kind} and hash = ${hash}`;

const signIn = (sql: Sql, { profile, banExempt, session }: SignIn): Promise<SignInOutcome> =>
  sql.begin(async (transaction) => {
    // An unknown user is not banned, so they cannot sign in as banned. On conflict SQL locks the row and
    // checks the ban as it is then.
    const users = await transaction`
      insert into users (id, username, display_name, avatar)
      select ${profile.id}, ${profile.username}, ${profile.displayName}, ${profile.avatar}
      where not ${banExempt}::boolean or exists (select from users where id = ${profile.id})
      on conflict (id) do update
        set username = excluded.username, display_name = excluded.display_name, avatar = excluded.avatar
        where users.banned = ${banExempt}::boolean
      returning id`;
    if (users.length === 0) return banExempt ? 'not_banned' : 'banned';
    await transaction`
      insert into sessions (id, target_type, target_id, type, name, token_hash, minted_by, expiry)
      values (${session.id}, 'user', ${profile.id}, 'login', 'login', ${session.tokenHash}, ${profile.id},
        now() + make_interval(secs => ${session.lastsSeconds}))`;
    return 'signed_in';
  });

/** How long used codes and states are stored: much longer than they are valid, so a second use is found. */
const usesRetainedMs = 24 * 3_600_000;

/**
 * Deletes codes and states that were used more than a day before `nowMs`, and sessions that have expired by
 * then. Works in small transactions; it may be repeated and may run on several nodes at once. Resolves to the
 * numbers of deleted rows.
 */
export const purgeLogins = (sql: Queryable, nowMs: number) =>
  asStorage('logins.purge', async () => ({
    uses: await changeInSteps(
      () => sql`
        delete from login_uses where (kind, hash) in (
          select kind, hash from login_uses where used_at < ${new Date(nowMs - usesRetainedMs)}
          limit ${rowsPerStep} for update skip locked)`,
    ),
    sessions: await changeInSteps(
      () => sql`
        delete from sessions where id in (
          select id from sessions where expiry <= ${new Date(nowMs)}
          limit ${rowsPerStep} for update skip locked)`,
    ),
  }));
