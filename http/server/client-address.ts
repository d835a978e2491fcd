/**
 * Who is calling, by address: the socket's peer, or the right-most untrusted hop of `X-Forwarded-For` when
 * the peer is a trusted proxy. Never otherwise, so nobody can choose the address he is counted by.
 *
 * What is counted is canonical: IPv4 inside IPv6 is folded to IPv4; of IPv6 it is the network of 64 bits,
 * since one subscriber owns all of it and privacy extensions change the rest every day. Pure.
 */
import ipaddr from 'ipaddr.js';
import { createTwoGenerationCache } from '../../engine/tools/two-generation-cache.ts';

type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;
/** Networks of trusted proxies, parsed once. */
export type TrustedProxies = readonly [IpAddress, number][];

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

const isTrusted = (address: IpAddress, trusted: TrustedProxies): boolean =>
  trusted.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));

/** Takes off brackets and a port. */
const stripPort = (hop: string): string => {
  const text = hop.trim();
  if (text.startsWith('[')) return text.slice(1, text.indexOf(']') === -1 ? undefined : text.indexOf(']'));
  return /^[0-9.]+:[0-9]+$/.test(text) ? text.slice(0, text.indexOf(':')) : text;
};

const parseAddress = (text: string): IpAddress | null => {
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);
  return isAddress ? ipaddr.process(text) : null;
};

/** What an address is counted by: `203.0.113.9`, `2001:db8::/64`. */
const countedAs = (address: IpAddress): string =>
  address instanceof ipaddr.IPv6
    ? `${new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0])}/64`
    : address.toString();

/** What a socket's address is counted by; the dotted form of IPv4 is canonical already. */
const peerAddress = (text: string): string => {
  if (!text.includes(':')) return text;
  const address = parseAddress(text);
  return address === null ? text : countedAs(address);
};

/**
 * Whether the text is an IPv4 address in its one canonical form: what most proxies send. By hand, because a
 * general parser takes 2 µs and 3 KB for it, and every page view comes with one.
 */
const isPlainIpv4 = (text: string): boolean => {
  let numbers = 1;
  let value = -1;
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (digit >= 0 && digit <= 9 && value !== 0) {
      value = value === -1 ? digit : value * 10 + digit;
      if (value > 255) return false;
    } else if (digit === -2 && value !== -1 && numbers < 4) {
      numbers++;
      value = -1;
    } else return false;
  }
  return numbers === 4 && value !== -1;
};

/** What a peer is, worked out once for all its requests. */
interface Peer {
  readonly address: string;
  readonly trusted: boolean;
}
/** Peers and forwarded addresses remembered; twice as many at most. */
const cachedPeersMax = 1_000;
const cachedAddressesMax = 10_000;
/** A longer header is read anew each time. */
const cachedKeyCharactersMax = 64;

const toPeer = (text: string, trusted: TrustedProxies): Peer => {
  const address = parseAddress(text);
  return { address: peerAddress(text), trusted: address !== null && isTrusted(address, trusted) };
};

/** `toClientAddress` for one listener. Remembers what it read, because parsing takes long. */
export const createAddressReader = (
  trusted: TrustedProxies,
): ((peer: string, forwardedFor: string) => string) => {
  const peers = createTwoGenerationCache<Peer>(cachedPeersMax);
  const recent = createTwoGenerationCache<string>(cachedAddressesMax);
  const knownPeer = (text: string): Peer => {
    let known = peers.get(text);
    if (known === undefined) {
      known = toPeer(text, trusted);
      peers.set(text, known);
    }
    return known;
  };
  return (peer, forwardedFor) => {
    if (!peer.includes(':') && (trusted.length === 0 || forwardedFor === '')) return peer;
    const known = knownPeer(peer);
    if (!known.trusted || forwardedFor === '') return known.address;
    if (isPlainIpv4(forwardedFor)) return forwardedFor; // One hop: trusted or not, it is the nearest known.
    if (forwardedFor.length > cachedKeyCharactersMax) return toClientAddress(peer, forwardedFor, trusted);
    const key = `${peer} ${forwardedFor}`;
    let address = recent.get(key);
    if (address === undefined) {
      address = toClientAddress(peer, forwardedFor, trusted);
      recent.set(key, address);
    }
    return address;
  };
};

/** What the client is counted by. `forwardedFor` is the joined header, `''` when absent. */
export const toClientAddress = (peer: string, forwardedFor: string, trusted: TrustedProxies): string => {
  if (trusted.length === 0 || forwardedFor === '') return peerAddress(peer);
  let nearest = parseAddress(peer);
  if (nearest === null || !isTrusted(nearest, trusted)) return peerAddress(peer);
  for (const hop of forwardedFor.split(',').slice(-hopsMax).reverse()) {
    const address = parseAddress(stripPort(hop));
    if (address === null) break; // Garbage: nothing left of it can be believed either.
    nearest = address;
    if (!isTrusted(address, trusted)) break;
  }
  return countedAs(nearest);
};
