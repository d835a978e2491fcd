/**
 * Who is calling, by address: the socket's peer, or the right-most untrusted hop of `X-Forwarded-For` when
 * the peer is a trusted proxy. Never otherwise, so nobody can choose the address he is counted by.
 *
 * Addresses are canonical: IPv4 inside IPv6 is folded to IPv4, IPv6 is in its short form. Pure.
 */
import ipaddr from 'ipaddr.js';
import { createRecent } from '../engine/recent.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
/** Networks of trusted proxies, parsed once. */
export type TrustedProxies = readonly [Address, number][];

/** Hops looked at, from the right: a longer header is not read further. */
const hopsMax = 32;

/** Parses `10.0.0.0/8`, `::1` and the like. Throws words for the operator. */
export const parseTrustedProxies = (words: readonly string[]): TrustedProxies =>
  words.map((word) => {
    if (!ipaddr.isValidCIDR(word) && !ipaddr.isValid(word)) {
      throw new Error(`TRUSTED_PROXIES: "${word}" is neither an address nor a network like 10.0.0.0/8`);
    }
    if (ipaddr.isValidCIDR(word)) return ipaddr.parseCIDR(word);
    const address = ipaddr.process(word);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  });

const isTrusted = (address: Address, trusted: TrustedProxies): boolean =>
  trusted.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));

/** Takes off brackets and a port. */
const bare = (hop: string): string => {
  const text = hop.trim();
  if (text.startsWith('[')) return text.slice(1, text.indexOf(']') === -1 ? undefined : text.indexOf(']'));
  return /^[0-9.]+:[0-9]+$/.test(text) ? text.slice(0, text.indexOf(':')) : text;
};

const parse = (text: string): Address | null => {
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);
  return isAddress ? ipaddr.process(text) : null;
};

/** The canonical form of a socket's address, whose dotted IPv4 form is canonical already. */
export const canonicalAddress = (text: string): string =>
  text.includes(':') ? (parse(text)?.toString() ?? text) : text;

/** Forwarded addresses remembered; twice as many at most. */
const recentMax = 10_000;
/** A longer header is read anew each time. */
const recentCharactersMax = 64;

/** `clientAddress` for one listener. Remembers what it read, because parsing takes long. */
export const createAddressReader = (
  trusted: TrustedProxies,
): ((peer: string, forwardedFor: string) => string) => {
  const recent = createRecent<string>(recentMax);
  return (peer, forwardedFor) => {
    if (trusted.length === 0 || forwardedFor === '' || forwardedFor.length > recentCharactersMax) {
      return clientAddress(peer, forwardedFor, trusted);
    }
    const key = `${peer} ${forwardedFor}`;
    const known = recent.get(key);
    if (known !== undefined) return known;
    const address = clientAddress(peer, forwardedFor, trusted);
    recent.set(key, address);
    return address;
  };
};

/** The client's canonical address. `forwardedFor` is the joined header, `''` when absent. */
export const clientAddress = (peer: string, forwardedFor: string, trusted: TrustedProxies): string => {
  if (trusted.length === 0 || forwardedFor === '') return canonicalAddress(peer);
  let nearest = parse(peer);
  if (nearest === null || !isTrusted(nearest, trusted)) return canonicalAddress(peer);
  for (const hop of forwardedFor.split(',').slice(-hopsMax).reverse()) {
    const address = parse(bare(hop));
    if (address === null) break; // Garbage: nothing left of it can be believed either.
    nearest = address;
    if (!isTrusted(address, trusted)) break;
  }
  return nearest.toString();
};
