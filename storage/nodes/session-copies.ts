/**
 * What stands in Redis under the hash of a token, and how it comes there.
 *
 * One of: a copy of the session; a tombstone (`revoked`, dead at once); a `hold` (something about it is
 * changing: ask SQL); a claim (somebody reads SQL to fill it). Every text that a reader may replace is unlike
 * all others, so `replace` writes only if nothing has come between. How old a copy is, Redis' own clock says:
 * by what is left of its life. No node's clock has a part in it. Only sessions.ts uses this.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { SessionOfToken, SessionTarget } from '../catalogue/people/sessions.ts';
import type { StoredText } from './listener.ts';

export interface SessionCopy {
  readonly kind: 'session';
  readonly session: SessionOfToken;
  /** Since SQL said so. */
  readonly ageMs: number;
  /** As it stands in Redis. */
  readonly text: string;
}
export type CopyLookup = SessionCopy | { readonly kind: 'revoked' | 'absent' | 'unsure' };

/** What ends or holds a copy. */
export type Ending = 'revoked' | 'hold';

const keyPrefix = 'rollcall:session:';
const claimMs = 10_000;
/** A tombstone outlives any fill: a claim lives 10 s, and a statement is given up after 5. */
export const endingMs: Readonly<Record<Ending, number>> = { revoked: 600_000, hold: 60_000 };

type Send = (name: string, words: readonly (string | number)[]) => Promise<unknown>;

export const toCopyKey = (hash: string): string => keyPrefix + hash;
/** `null` for a key of others. */
export const parseCopyKey = (key: string): string | null =>
  key.startsWith(keyPrefix) ? key.slice(keyPrefix.length) : null;

const replaceScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`;

/** The fields of a session, and how long the copy of it was to last. Older versions read the former alone. */
interface WrittenCopy extends SessionOfToken {
  readonly copy?: string;
  readonly lastsMs?: number;
}

export const parseCopy = ({ text, leftMs }: StoredText): CopyLookup => {
  if (text === null) return { kind: 'absent' };
  if (text === 'revoked') return { kind: 'revoked' };
  if (!text.startsWith('{')) return { kind: 'unsure' };
  const { copy: _copy, lastsMs, ...session } = JSON.parse(text) as WrittenCopy;
  // Of an older version, which says nothing of it: old.
  const ageMs = lastsMs === undefined ? Number.POSITIVE_INFINITY : lastsMs - leftMs;
  return { kind: 'session', session, ageMs, text };
};

/** One look past the listening connection: nothing watches it. */
export const readPlainly = async (send: Send, hash: string): Promise<StoredText> => {
  const [leftMs, text] = await Promise.all([send('PTTL', [toCopyKey(hash)]), send('GET', [toCopyKey(hash)])]);
  return { leftMs: leftMs as number, text: text as string | null };
};

/** Resolves to the claim, `null` when something is there. */
export const claim = async (send: Send, hash: string): Promise<string | null> => {
  const text = `claim:${randomUUID()}`;
  return (await send('SET', [toCopyKey(hash), text, 'PX', claimMs, 'NX'])) === null ? null : text;
};

/** Puts a copy in the place of exactly this text. Resolves to whether it stood there. */
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

/** Whose sessions a change concerns: an entity's, those a user minted, or all that feel a ban of a user. */
export type AffectedSessions =
  | { readonly target: SessionTarget }
  | { readonly mintedBy: string }
  | { readonly bannable: string };

/** Only sessions that a change deletes are looked for by it: a ban deletes some of those the user minted. */
const toChangingKey = (concerned: AffectedSessions): string => {
  if ('target' in concerned) return `rollcall:changing:${concerned.target.kind}:${concerned.target.id}`;
  const minter = 'mintedBy' in concerned ? concerned.mintedBy : concerned.bannable;
  return `rollcall:changing:minter:${minter}`;
};

const changingScript = `
local running = redis.call('INCRBY', KEYS[1], ARGV[1])
if running < 1 then return redis.call('DEL', KEYS[1]) end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

const countChanging = (send: Send, concerned: AffectedSessions, by: 1 | -1): Promise<unknown> =>
  send('EVAL', [changingScript, 1, toChangingKey(concerned), by, endingMs.hold]);

/** Said before a change looks which sessions there are: later ones look whether it was said. */
export const markChanging = (send: Send, concerned: AffectedSessions): Promise<unknown> =>
  countChanging(send, concerned, 1);
/** The change is over. Not said, it ends by itself. */
export const unmarkChanging = (send: Send, concerned: AffectedSessions): Promise<unknown> =>
  countChanging(send, concerned, -1);

export const isChanging = async (send: Send, concerned: readonly AffectedSessions[]): Promise<boolean> => {
  const said = await Promise.all(concerned.map((one) => send('EXISTS', [toChangingKey(one)])));
  return said.includes(1);
};

/** Writes over whatever is there. */
export const end = (send: Send, hash: string, ending: Ending): Promise<unknown> =>
  send('SET', [toCopyKey(hash), ending, 'PX', endingMs[ending]]);
