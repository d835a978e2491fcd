/**
 * Finds the client's address: the socket's peer, or the right-most untrusted hop of `X-Forwarded-For` when
 * the peer is a trusted proxy. The header of any other peer is ignored, so clients cannot choose the address
 * that limits and unique clicks count.
 *
 * The counted address is canonical: IPv4-mapped IPv6 becomes IPv4; an IPv6 address becomes its /64 network,
 * because one subscriber owns all of it and privacy extensions change the rest daily.
 *
 * Reading the peer's address costs about a tenth of a page view, and uWebSockets.js has no place to keep it
 * beside a connection. So while every connection so far came from a trusted proxy, it is not read where the
 * header alone decides.
 */
import ipaddr from 'ipaddr.js';
import { createTwoGenerationCache } from '../../engine/tools/two-generation-cache.ts';
import type { Exchange } from './exchange.ts';

type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;
/** Networks of trusted proxies, parsed once. */
export type TrustedProxies = readonly [IpAddress, number][];

/** Most addresses read from `X-Forwarded-For`, from its right end; further ones are ignored. */
const hopsMax = 32;

/** Parses `10.0.0.0/8`, `::1` and the like. Throws an `Error` with a message for the operator. */
export const parseTrustedProxies = (texts: readonly string[]): TrustedProxies =>
  texts.map((text) => {
    if (!ipaddr.isValidCIDR(text) && !ipaddr.isValid(text)) {
      throw new Error(`TRUSTED_PROXIES: "${text}" is neither an address nor a network like 10.0.0.0/8`);
    }
    if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
    const address = ipaddr.process(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  });

const isTrusted = (address: IpAddress, trusted: TrustedProxies): boolean =>
  trusted.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));

/** Removes brackets and a port. */
const stripPort = (hop: string): string => {
  const text = hop.trim();
  if (text.startsWith('[')) return text.slice(1, text.indexOf(']') === -1 ? undefined : text.indexOf(']'));
  return /^[0-9.]+:[0-9]+$/.test(text) ? text.slice(0, text.indexOf(':')) : text;
};

const parseAddress = (text: string): IpAddress | null => {
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);
  return isAddress ? ipaddr.process(text) : null;
};

/** The canonical text that is counted: `203.0.113.9`, `2001:db8::/64`. */
const toCountedAddress = (address: IpAddress): string =>
  address instanceof ipaddr.IPv6
    ? `${new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0])}/64`
    : address.toString();

/** The counted address of a socket's peer; dotted IPv4 is canonical already. */
const toPeerAddress = (text: string): string => {
  if (!text.includes(':')) return text;
  const address = parseAddress(text);
  return address === null ? text : toCountedAddress(address);
};

/**
 * Whether the text is an IPv4 address in canonical form, which most proxies send. Written by hand, because
 * the general parser takes 2 µs and 3 KB, and every page view behind a proxy needs this.
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

/** A socket's peer, parsed once for all its requests. */
interface Peer {
  readonly address: string;
  readonly trusted: boolean;
}
/** Peers and forwarded addresses that stay cached; at most twice as many are. */
const cachedPeersMax = 1_000;
const cachedAddressesMax = 10_000;
/** A longer header is parsed each time. */
const cachedKeyCharactersMax = 64;

const toPeer = (text: string, trusted: TrustedProxies): Peer => {
  const address = parseAddress(text);
  return { address: toPeerAddress(text), trusted: address !== null && isTrusted(address, trusted) };
};

/** Creates the reader of one listener, with caches, because parsing is expensive. */
export const createAddressReader = (trusted: TrustedProxies) => {
  const peers = createTwoGenerationCache<Peer>(cachedPeersMax);
  const addresses = createTwoGenerationCache<string>(cachedAddressesMax);
  /** Where all connections so far came from. `elsewhere` is final: such a connection may still be open. */
  let origin: 'unknown' | 'proxies' | 'elsewhere' = 'unknown';
  const findPeer = (text: string): Peer => {
    let cached = peers.get(text);
    if (cached === undefined) {
      cached = toPeer(text, trusted);
      peers.set(text, cached);
    }
    return cached;
  };
  const readForwarded = (peer: string, forwardedFor: string): string => {
    if (forwardedFor.length > cachedKeyCharactersMax) return toClientAddress(peer, forwardedFor, trusted);
    const key = `${peer} ${forwardedFor}`;
    let address = addresses.get(key);
    if (address === undefined) {
      address = toClientAddress(peer, forwardedFor, trusted);
      addresses.set(key, address);
    }
    return address;
  };
  return {
    /** Must be called with the peer of each connection, before its first request. */
    recordConnection: (peer: string) => {
      if (origin !== 'elsewhere') origin = findPeer(peer).trusted ? 'proxies' : 'elsewhere';
    },
    /** The counted address of the client. */
    read: (exchange: Pick<Exchange, 'headers' | 'readPeerAddress'>) => {
      const { forwardedFor } = exchange.headers;
      // A single hop is the client if the peer is a proxy, whether that hop is itself trusted or not.
      const isOneHop = trusted.length > 0 && isPlainIpv4(forwardedFor);
      if (isOneHop && origin === 'proxies') return forwardedFor;
      const peer = exchange.readPeerAddress();
      if (!peer.includes(':') && (trusted.length === 0 || forwardedFor === '')) return peer;
      const { address, trusted: isProxy } = findPeer(peer);
      if (!isProxy || forwardedFor === '') return address;
      return isOneHop ? forwardedFor : readForwarded(peer, forwardedFor);
    },
  };
};
export type AddressReader = ReturnType<typeof createAddressReader>;

/** The counted address of the client. `forwardedFor` is the joined header, `''` when absent. */
export const toClientAddress = (peer: string, forwardedFor: string, trusted: TrustedProxies): string => {
  if (trusted.length === 0 || forwardedFor === '') return toPeerAddress(peer);
  let nearest = parseAddress(peer);
  if (nearest === null || !isTrusted(nearest, trusted)) return toPeerAddress(peer);
  for (const hop of forwardedFor.split(',').slice(-hopsMax).reverse()) {
    const address = parseAddress(stripPort(hop));
    if (address === null) break; // Not an address: hops further left cannot be trusted either.
    nearest = address;
    if (!isTrusted(address, trusted)) break;
  }
  return toCountedAddress(nearest);
};
