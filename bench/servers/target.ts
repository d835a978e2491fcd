/**
 * A server that already runs: its address and the tokens of its bots and users.
 */
import { readFileSync } from 'node:fs';
import { ArgumentError } from '../options.ts';
import type { Directory, Holder } from '../scenarios/directory.ts';

export interface Target {
  readonly url: string;
  readonly tokensFile: string;
  readonly isLoopback: boolean;
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

interface GivenTarget {
  readonly url: string | null;
  readonly tokens: string | null;
  readonly 'i-own-this': boolean;
}

/** A server on another machine needs `--i-own-this`; `null` without an address. Throws `ArgumentError`. */
export const parseTarget = ({ url, tokens, 'i-own-this': isOwn }: GivenTarget): Target | null => {
  if (url === null) {
    if (tokens === null) return null;
    throw new ArgumentError('--tokens needs --url.');
  }
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new ArgumentError(`--url is "${url}" but must be like http://127.0.0.1:8080.`);
  if (tokens === null) throw new ArgumentError('--url needs --tokens FILE (see --help).');
  const { origin, hostname } = new URL(url);
  const isLoopback = loopback.test(hostname);
  if (isLoopback || isOwn) return { url: origin, tokensFile: tokens, isLoopback };
  throw new ArgumentError(
    `${origin} is not this machine. A load test of a server that is not yours is an attack; ` +
      'if it is yours, add --i-own-this.',
  );
};

const isHolder = (value: unknown): value is Holder =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Holder).id === 'string' &&
  typeof (value as Holder).token === 'string';

/** `{"bots": [{"id", "token"}, …], "users": [{"id", "token"}, …]}`. Throws `ArgumentError`. */
export const readTokens = (file: string): Directory => {
  let found: Partial<Record<'bots' | 'users', unknown>>;
  try {
    found = JSON.parse(readFileSync(file, 'utf8')) ?? {};
  } catch (error) {
    throw new ArgumentError(`--tokens ${file} cannot be read: ${(error as Error).message}`);
  }
  const holders = (name: 'bots' | 'users'): readonly Holder[] => {
    const list = found[name] ?? [];
    if (Array.isArray(list) && list.every(isHolder)) return list;
    throw new ArgumentError(`--tokens ${file}: "${name}" must be a list of {"id": "…", "token": "…"}.`);
  };
  const directory = { bots: holders('bots'), users: holders('users') };
  if (directory.bots.length > 0) return directory;
  throw new ArgumentError(`--tokens ${file} names no bots, and all scenarios need some.`);
};
