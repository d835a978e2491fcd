/**
 * Guards requests to client-supplied URLs against SSRF: they may reach only the public internet.
 *
 * A client's URL may point at loopback, at a cloud's metadata service, or at a name that resolves differently
 * when it is checked and when it is used. So it is checked twice: its text when it is stored
 * (`findAddressFault`), and the resolved addresses whenever it is used (`vetHost`). The connection then goes
 * to exactly the checked addresses (connect.ts). One address that is not public rejects the whole
 * name.
 */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { createServerResolver } from './server-resolver.ts';

/**
 * - `public`: the internet, at port 443;
 * - `public-http`: the internet, at any port, and by http where the caller can use that;
 * - `any`: private networks and loopback, too.
 */
export const reaches = ['public', 'public-http', 'any'] as const;
export type Reach = (typeof reaches)[number];
/** Resolves to all addresses of a name, or rejects. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

export type VettedHost =
  | { readonly kind: 'vetted'; readonly addresses: readonly string[] }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unresolved'; readonly reason: string };

const defaultHttpsPort = '';

/** Returns why nothing may be sent to this URL, `null` when it may. Pure: looks up no name. */
export const findAddressFault = (text: string, reach: Reach, allowsHttp = false): string | null => {
  const fault =
    allowsHttp && reach !== 'public' ? 'must be an http or https address' : 'must be an https address';
  if (!URL.canParse(text)) return fault;
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && fault.includes('http '))) return fault;
  if (url.username !== '' || url.password !== '') return 'must not contain a user or a password';
  if (reach === 'public' && url.port !== defaultHttpsPort) return 'must not name a port other than 443';
  const literal = findLiteralAddress(url);
  return reach !== 'any' && literal !== null && !isPublic(literal) ? notPublicMessage : null;
};

const notPublicMessage = 'must lead to a public address';

/** The host if it is an IP address; the URL parser has already normalised forms such as 0x7f.1. */
const findLiteralAddress = (url: URL): string | null => {
  const host = toHost(url);
  return isIP(host) === 0 ? null : host;
};

/** The host without the brackets of IPv6. */
export const toHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

/** Whether it is a global unicast address, outside all reserved ranges. */
export const isPublic = (address: string): boolean => {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  // What a network of IPv6 alone (NAT64) makes of an IPv4 address: it leads to that one.
  if (parsed.range() === 'rfc6052') return isPublic(parsed.toByteArray().slice(-4).join('.'));
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || (parsed.toByteArray()[0] as number) >> 5 === globalPrefix;
};

/** 2000::/3: everything else in IPv6 is local, reserved, or wraps an IPv4 address. */
const globalPrefix = 0b001;

/** Resolves by `getaddrinfo`, including the hosts file: for names of a private network. */
export const resolveBySystem: ResolveHost = async (hostname) =>
  (await lookup(hostname, { all: true })).map(({ address }) => address);

/** Names of a private network come from the system; others from its name servers, within `timeLimitMs`. */
export const createResolver = (reach: Reach, timeLimitMs: number): ResolveHost =>
  reach === 'any' ? resolveBySystem : createServerResolver(timeLimitMs);

/** Resolves the host of a checked URL and checks all its addresses. Never rejects. */
export const vetHost = async (url: URL, reach: Reach, resolve: ResolveHost): Promise<VettedHost> => {
  const literal = findLiteralAddress(url);
  try {
    const addresses = literal === null ? await resolve(toHost(url)) : [literal];
    if (addresses.length === 0) return { kind: 'unresolved', reason: 'has a host without an address' };
    const hasPrivate = reach !== 'any' && !addresses.every(isPublic);
    return hasPrivate ? { kind: 'refused', reason: notPublicMessage } : { kind: 'vetted', addresses };
  } catch (error) {
    const { code = String(error) } = error as { readonly code?: string };
    return { kind: 'unresolved', reason: `has a host that cannot be resolved (${code})` };
  }
};
