/**
 * Lets a request out to an address that a client named, and only to the public internet.
 *
 * What a client gives us may point inside: at loopback, at a cloud's metadata, at a name that resolves to one
 * thing when it is checked and to another when it is used. So an address is judged twice: its words when it
 * is stored (`findAddressFault`), and what it resolves to whenever it is used (`vetHost`); the connection is
 * then made to exactly the addresses that were judged (`createPinnedLookup`). One address that is not public
 * condemns the whole name. Called by the clients of this folder.
 */
import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** `any` is for tests and for push services inside one's own network: nothing is refused but bad words. */
export type Reach = 'public' | 'any';
/** All addresses of a name, or a rejection. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

export type VettedHost =
  | { readonly kind: 'vetted'; readonly addresses: readonly string[] }
  | { readonly kind: 'refused'; readonly words: string }
  | { readonly kind: 'unresolved'; readonly words: string };

const defaultHttpsPort = '';

/** Why this cannot be an address of a service outside, `null` when it can. Pure: nothing is resolved. */
export const findAddressFault = (text: string, reach: Reach): string | null => {
  if (!URL.canParse(text)) return 'must be an https address';
  const url = new URL(text);
  if (url.protocol !== 'https:') return 'must be an https address';
  if (url.username !== '' || url.password !== '') return 'must not hold a user or a password';
  if (reach === 'public' && url.port !== defaultHttpsPort) return 'must not name a port other than 443';
  const literal = findLiteralAddress(url);
  return reach === 'public' && literal !== null && !isPublic(literal) ? insideMessage : null;
};

const insideMessage = 'must lead to a public address';

/** The host as an address, when it is one; the parser has made 0x7f.1 and the like plain by now. */
const findLiteralAddress = (url: URL): string | null => {
  const host = toHost(url);
  return isIP(host) === 0 ? null : host;
};

/** Without the brackets of IPv6. */
export const toHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

/** In today's global unicast space, and in no range set aside within it. */
export const isPublic = (address: string): boolean => {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || (parsed.toByteArray()[0] as number) >> 5 === globalPrefix;
};

/** 2000::/3: everything else in IPv6 is local, reserved, or wraps an IPv4 address. */
const globalPrefix = 0b001;

/**
 * Asks the system's name servers. Not `getaddrinfo`, which also reads the hosts file: that would wait in
 * one of the few threads that the stores write with, as long as a stranger's name server likes.
 */
export const createServerResolver = (timeLimitMs: number): ResolveHost => {
  const resolver = new Resolver({ timeout: timeLimitMs, tries: 1 });
  return async (hostname) => {
    const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    if (four.status === 'rejected' && six.status === 'rejected') throw four.reason;
    return [four, six].flatMap((found) => (found.status === 'fulfilled' ? found.value : []));
  };
};

/** As every other program of this machine does; for names of one's own network. */
export const resolveBySystem: ResolveHost = async (hostname) =>
  (await lookup(hostname, { all: true })).map(({ address }) => address);

/** Resolves the host of a checked address and judges all it resolves to. Never rejects. */
export const vetHost = async (url: URL, reach: Reach, resolve: ResolveHost): Promise<VettedHost> => {
  const literal = findLiteralAddress(url);
  try {
    const addresses = literal === null ? await resolve(toHost(url)) : [literal];
    if (addresses.length === 0) return { kind: 'unresolved', words: 'has a host without an address' };
    const inside = reach === 'public' && !addresses.every(isPublic);
    return inside ? { kind: 'refused', words: insideMessage } : { kind: 'vetted', addresses };
  } catch (error) {
    const { code = String(error) } = error as { readonly code?: string };
    return { kind: 'unresolved', words: `has a host that cannot be resolved (${code})` };
  }
};

/** Hands out the judged addresses and asks nobody: what is connected to is what was judged. */
export const createPinnedLookup = (addresses: readonly string[]): LookupFunction => {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, options, callback) => {
    if (options.all) callback(null, all);
    else callback(null, all[0]?.address ?? '', all[0]?.family);
  };
};
