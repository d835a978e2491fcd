/**
 * Finds in SQL the sessions that a revoke or another change affects, by the hashes of their tokens: the keys
 * of their copies in Redis.
 */
import { buildAffectedByBan, type SessionTarget } from '../catalogue/people/sessions.ts';
import type { Queryable } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';
import { readColumn, readValue } from '../sql/rows.ts';
import type { AffectedSessions } from './session-copies.ts';

/** Finds the hash of the token of this session; `null` if the entity has no such session. */
export const findHash = (sql: Queryable, target: SessionTarget, id: string): Promise<string | null> =>
  asStorage('sessions.hash', () =>
    readValue<string>(sql`
      select encode(token_hash, 'hex') from sessions
      where id = ${id} and target_type = ${target.kind} and target_id = ${target.id}`),
  );

const buildAffectedCondition = (sql: Queryable, affected: AffectedSessions) => {
  if ('mintedBy' in affected) return sql`minted_by = ${affected.mintedBy}`;
  if ('bannable' in affected) return buildAffectedByBan(sql, affected.bannable);
  return sql`target_type = ${affected.target.kind} and target_id = ${affected.target.id}`;
};

/** Lists the hashes of the tokens of these sessions, unless they have expired. */
export const listHashes = (sql: Queryable, affected: AffectedSessions): Promise<readonly string[]> =>
  asStorage('sessions.hashes', () =>
    readColumn<string>(sql`
      select encode(token_hash, 'hex') from sessions
      where ${buildAffectedCondition(sql, affected)} and expiry > now()`),
  );
