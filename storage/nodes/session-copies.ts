/**
 * Reads and writes the Redis value of a session, whose key is the hash of its token.
 *
 * The value is one of: a copy of the session; a tombstone (`revoked`: the session has ended); a `hold` (the
 * session is changing: read SQL); a claim (a node is reading SQL to write a copy). Every value that a reader
 * may replace is unique, so `replace` writes only if the value has not changed. A copy's age comes from the
 * clock of Redis, through the remaining time to live; no node's clock matters.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { SessionOfToken, SessionTarget } from '../catalogue/people/sessions.ts';
import type { StoredText } from './listener.ts';

export interface SessionCopy {
  readonly kind: 'session';
  readonly session: SessionOfToken;
  /** Time since it was read from SQL, ms. */
  readonly ageMs: number;
  /** The value in Redis. */
  readonly text: string;
}
export type CopyLookup = SessionCopy | { readonly kind: 'revoked' | 'absent' | 'unsure' };

/** Values that invalidate a copy: a tombstone or a hold. */
export type Ending = 'revoked' | 'hold';

const keyPrefix = 'rollcall:session:';
const claimMs = 10_000;
/** Lifetimes. A tombstone outlives any fill: a claim lives 10 s, and a statement is given up after 5 s. */
export const endingMs: Readonly<Record<Ending, number>> = { revoked: 600_000, hold: 60_000 };

type Send = (name: string, args: readonly (string | number)[]) => Promise<unknown>;

export const toCopyKey = (hash: string): string => keyPrefix + hash;
/** Reads the hash from a key; `null` for keys of other kinds. */
export const parseCopyKey = (key: string): string | null =>
  key.startsWith(keyPrefix) ? key.slice(keyPrefix.length) : null;

const replaceScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`;

const releaseScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`;

/** The fields of a session, and its copy's original lifetime. */
interface WrittenCopy extends SessionOfToken {
  readonly copy: string;
  readonly lastsMs: number;
}

/** Interprets the value of a session's key. */
export const parseCopy = ({ text, leftMs }: StoredText): CopyLookup => {
  if (text === null) return { kind: 'absent' };
  if (text === 'revoked') return { kind: 'revoked' };
  if (!text.startsWith('{')) return { kind: 'unsure' };
  const { copy: _copy, lastsMs, ...session } = JSON.parse(text) as WrittenCopy;
  return { kind: 'session', session, ageMs: lastsMs - leftMs, text };
};

/** Reads the value through the command connection, without tracking. */
export const readPlainly = async (send: Send, hash: string): Promise<StoredText> => {
  const [leftMs, text] = await Promise.all([send('PTTL', [toCopyKey(hash)]), send('GET', [toCopyKey(hash)])]);
  return { leftMs: leftMs as number, text: text as string | null };
};

/** Claims the key. Resolves to the claim's text, `null` if the key has a value. */
export const claim = async (send: Send, hash: string): Promise<string | null> => {
  const text = `claim:${randomUUID()}`;
  return (await send('SET', [toCopyKey(hash), text, 'PX', claimMs, 'NX'])) === null ? null : text;
};

/** Removes a claim, unless the key has another value now. */
export const release = (send: Send, hash: string, text: string): Promise<unknown> =>
  send('EVAL', [releaseScript, 1, toCopyKey(hash), text]);

/** Replaces exactly this value by a copy. Resolves to false if the value has changed. */
export const replace = async (
  send: Send,
  hash: string,
  { text, session, lastsMs }: { text: string; session: SessionOfToken; lastsMs: number },
): Promise<boolean> => {
  const written: WrittenCopy = { ...session, copy: randomBytes(9).toString('base64url'), lastsMs };
  return (
    (await send('EVAL', [replaceScript, 1, toCopyKey(hash), text, JSON.stringify(written), lastsMs])) === 1
  );
};

/** The sessions a change affects: an entity's, those a user minted, or all that a ban of a user affects. */
export type AffectedSessions =
  | { readonly target: SessionTarget }
  | { readonly mintedBy: string }
  | { readonly bannable: string };

/**
 * Builds the key that marks a running change. A ban deletes some of the sessions that the user minted, so it
 * shares their key.
 */
const toChangingKey = (affected: AffectedSessions): string => {
  if ('target' in affected) return `rollcall:changing:${affected.target.kind}:${affected.target.id}`;
  const minter = 'mintedBy' in affected ? affected.mintedBy : affected.bannable;
  return `rollcall:changing:minter:${minter}`;
};

const changingScript = `
local running = redis.call('INCRBY', KEYS[1], ARGV[1])
if running < 1 then return redis.call('DEL', KEYS[1]) end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/**
 * Counts a change as running (1), before it lists the sessions: sessions minted later check the mark. And as
 * finished (-1); otherwise the mark expires.
 */
export const countChanging = (send: Send, affected: AffectedSessions, by: 1 | -1): Promise<unknown> =>
  send('EVAL', [changingScript, 1, toChangingKey(affected), by, endingMs.hold]);

/** Whether a change of any of these is running. */
export const isChanging = async (send: Send, affected: readonly AffectedSessions[]): Promise<boolean> => {
  const marks = await Promise.all(affected.map((sessions) => send('EXISTS', [toChangingKey(sessions)])));
  return marks.includes(1);
};

/** Writes a tombstone or a hold, whatever the key holds. */
export const writeEnding = (send: Send, hash: string, ending: Ending): Promise<unknown> =>
  send('SET', [toCopyKey(hash), ending, 'PX', endingMs[ending]]);
