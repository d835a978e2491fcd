/**
 * What every peer has in common: its settings, the directory it is filled with, the lookup of tokens, and the
 * line that prints its address.
 *
 * Peers are what a careful team would write with well-known parts in a week. They cache sessions in the
 * process, as Rollcall does, so that they differ in how they count.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Directory } from '../scenarios/directory.ts';

interface PeerSettings {
  readonly store: string;
  readonly directory: Directory;
  readonly port: number;
}

/** Where the store is, what to fill it with, and where to listen. */
export const readPeerSettings = (): PeerSettings => ({
  store: process.env.PEER_STORE ?? '',
  port: Number(process.env.PEER_PORT ?? '0'),
  directory: JSON.parse(readFileSync(process.env.PEER_DIRECTORY ?? '', 'utf8')) as Directory,
});

export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

const sessionsMax = 100_000;

/** The owner of a token, looked up once and then cached; `null` when the token is unknown. */
export const createSessions = (
  look: (hash: string) => Promise<string | null>,
): ((token: string | undefined) => Promise<string | null>) => {
  const known = new LRUCache<string, string>({ max: sessionsMax, ttl: 60_000 });
  return async (token) => {
    if (token === undefined || token === '') return null;
    const remembered = known.get(token);
    if (remembered !== undefined) return remembered;
    const found = await look(hashToken(token));
    if (found !== null) known.set(token, found);
    return found;
  };
};

/** The rest of a bot's page beside its numbers. */
export const createProfile = (id: string, index: number) => ({
  bot_id: id,
  user: { id, username: `bot-${index}` },
  library: 'typescript',
  prefix: '!',
  short: 'Counts what happens and shows it to every visitor.',
  extra_links: [],
  nsfw: false,
  premium: false,
  vote_banned: false,
  vanity: `bot-${index}`,
  invite: `https://chat.example/invite/${index}`,
  tags: ['utility', 'statistics'],
});

const integer = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const;
/** JSON schema of a post. */
export const statsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    servers: integer,
    users: integer,
    shards: integer,
    status: { type: 'string', enum: ['online', 'idle', 'dnd', 'offline'] },
  },
} as const;

export interface StatsPost {
  readonly servers?: number;
  readonly users?: number;
  readonly shards?: number;
  readonly status?: string;
}

/** What Fastify's routes take. */
export interface Visit {
  readonly Params: { readonly id: string };
  readonly Querystring: { readonly target?: string };
}
export interface Vote {
  readonly Params: { readonly user: string; readonly bot: string };
  readonly Querystring: { readonly upvote?: string };
}

export const recorded = { message: 'Stats recorded.', context: {} };
export const refusals = {
  token: { message: 'This token is not known.' },
  missing: { message: 'There is no such bot.' },
  wait: { message: 'You have voted for this bot; wait before the next vote.' },
};
/** The wait between two votes of a user for one bot. */
export const voteWaitHours = 12;

export const printAddress = (address: AddressInfo | string | null): void => {
  if (address === null || typeof address === 'string') throw new Error('the peer does not listen');
  console.log(`Address http://127.0.0.1:${address.port}`);
};
