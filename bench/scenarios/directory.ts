/**
 * The directory that a bench run loads: bots that post, users that vote, and a token for each.
 *
 * Made before the server starts and imported like any operator's file. Connects to no server. Ids and texts
 * are the same in every run, tokens are not.
 */
import { createHash, randomBytes } from 'node:crypto';
import { formatToken, type TokenKind } from '../../engine/rules/token.ts';
import type { ImportRecord } from '../../storage/import/kinds.ts';

export interface Holder {
  readonly id: string;
  readonly token: string;
}
/** The bots and users that send requests. Plain data: it is sent to the load generator's process. */
export interface Directory {
  readonly bots: readonly Holder[];
  readonly users: readonly Holder[];
}
export interface DirectorySizes {
  readonly bots: number;
  readonly users: number;
}

const firstBot = 300_000_000_000_000_000n;
const firstUser = 200_000_000_000_000_000n;
/** Tokens for a load do not outlive it for long. */
const tokenMs = 30 * 86_400_000;

/** Makes ids and new tokens. */
export const createDirectory = (sizes: DirectorySizes): Directory => {
  const holders = (kind: TokenKind, first: bigint, count: number): Holder[] =>
    Array.from({ length: count }, (_, index) => {
      const id = String(first + BigInt(index));
      return { id, token: formatToken({ kind, id }, randomBytes(32)) };
    });
  return { bots: holders('bot', firstBot, sizes.bots), users: holders('user', firstUser, sizes.users) };
};

/** The directory in the import format (docs/operators/import-format.md), one record per line. */
export const toImportLines = (directory: Directory): string =>
  `${[
    ...directory.users.map(({ id }, index) => user(id, index)),
    ...directory.bots.map(({ id }, index) => buildBotRecord(id, index, toOwner(directory, index))),
    ...directory.users.map((holder) => session('user', holder)),
    ...directory.bots.map((holder) => session('bot', holder)),
  ]
    .map((record) => JSON.stringify(record))
    .join('\n')}\n`;

/** The vanity code of a bot. */
export const toCode = (id: string): string => `b${id}`;

const toOwner = ({ users }: Directory, index: number): string => (users[index % users.length] as Holder).id;

const user = (id: string, index: number): ImportRecord => ({ kind: 'user', id, username: `voter-${index}` });

const long = 'Counts what happens on a server and tells the people who run it. '.repeat(12);

/** A bot in the import format; `more` replaces what is not wanted. */
export const buildBotRecord = (
  id: string,
  index: number,
  owner: string,
  more: object = {},
): ImportRecord => ({
  kind: 'bot',
  bot_id: id,
  owner,
  type: 'approved',
  vanity: toCode(id),
  user: { username: `bot-${index}` },
  library: 'typescript',
  prefix: '!',
  short: 'Counts what happens and shows it to every visitor.',
  long,
  invite: `https://chat.example/invite/${index}`,
  tags: ['utility', 'statistics'],
  ...more,
});

const session = (kind: TokenKind, holder: Holder): ImportRecord => ({
  kind: 'session',
  target_type: kind,
  target_id: holder.id,
  type: kind === 'user' ? 'login' : 'api',
  name: 'bench',
  token_hash: createHash('sha256').update(holder.token).digest('hex'),
  expiry: new Date(Date.now() + tokenMs).toISOString(),
});
