/**
 * The origin of a vote: what the directory keeps of where it came from, without the address.
 *
 * The network, the address and the client program are hashes by a key that changes each month. An origin is
 * one text of decimal digits, whose parts have fixed places. Pure.
 */
import { createVisitorHasher, deriveSecret } from '../actors/visitors.ts';
import { createTwoGenerationCache } from '../tools/two-generation-cache.ts';

/** What a link may say about where its votes come from. */
export const sourcePattern = '^[A-Za-z0-9._~-]{1,64}$';

/** Who sent a vote. */
export interface VoteClient {
  /** The counted address, as for visitors: `203.0.113.9`, or `2001:db8::/64`. */
  readonly address: string;
  /** The `User-Agent` header, `''` for none. */
  readonly agent: string;
  /** The first login of the user; none if the node does not know it. */
  readonly firstSeenMs?: number | null | undefined;
}

/** Columns of `vote_origins`, as SQL reads them in an array. */
export interface OriginColumns {
  readonly addressHash: string;
  readonly networkHash: string;
  readonly agentHash: string;
  /** Seconds, or `NULL`. */
  readonly accountAge: string;
}

/** Computes the origin of a vote at a time. */
export type OriginEncoder = (client: VoteClient, atMs: number) => string;

/** Lengths of packed hashes: a digit for the sign, then the digits of 64 bits or of 32 bits. */
const hashDigits = 20;
const agentDigits = 11;
/** Where the parts of an origin begin, after the packed hash of the address. */
export const networkAt = hashDigits;
const agentAt = networkAt + hashDigits;
export const ageAt = agentAt + agentDigits;
const accountAgeMax = 2 ** 31 - 1;
const cachedAddressesMax = 5_000;
/** Fewer than addresses, because names of client programs may be long. */
const cachedAgentsMax = 500;

/** Packs a signed decimal integer: `0` or `1` for its sign, then its digits, padded with zeros. */
export const packHash = (hash: string, digits: number = hashDigits): string =>
  hash.startsWith('-') ? `1${hash.slice(1).padStart(digits - 1, '0')}` : `0${hash.padStart(digits - 1, '0')}`;

/** Reverses `packHash`; the result may have leading zeros. */
export const unpackHash = (packed: string): string => `${packed[0] === '1' ? '-' : ''}${packed.slice(1)}`;

/** Finds the network that an address belongs to: an IPv4 /24, or the IPv6 /48 around its /64. */
const toNetwork = (address: string): string => {
  const zerosAt = address.indexOf('::');
  if (zerosAt === -1) return `${address.slice(0, address.lastIndexOf('.'))}/24`;
  const groups = address.slice(0, zerosAt).split(':');
  return `${[0, 1, 2].map((at) => groups[at] || '0').join(':')}/48`;
};

const computeAge = (elapsedMs: number): number =>
  Math.min(accountAgeMax, Math.max(0, Math.floor(elapsedMs / 1_000)));

type TextHasher = (text: string) => string;

/** Packs the hashes of texts; the newest stay in memory, because voters and networks come again. */
const createFieldEncoder = (compute: TextHasher, digits: number, cachedMax: number): TextHasher => {
  const fields = createTwoGenerationCache<string>(cachedMax);
  return (text) => {
    const known = fields.get(text);
    if (known !== undefined) return known;
    const hash = compute(text);
    const stored = digits === hashDigits ? hash : BigInt.asIntN(32, BigInt(hash)).toString();
    const field = packHash(stored, digits);
    fields.set(text, field);
    return field;
  };
};

/** Creates an encoder. Each month (UTC) has its own key, so hashes of two months cannot be matched. */
export const createOriginEncoder = (secret: Uint8Array): OriginEncoder => {
  let [month, nextMonth] = [0, 0];
  let [encodeAddress, encodeAgent]: [TextHasher, TextHasher] = [String, String];
  return ({ address, agent, firstSeenMs }, atMs) => {
    if (atMs < month || atMs >= nextMonth) {
      const date = new Date(atMs);
      month = Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
      nextMonth = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
      const compute = createVisitorHasher(deriveSecret(secret, `vote origins ${month}`));
      encodeAddress = createFieldEncoder(compute, hashDigits, cachedAddressesMax);
      encodeAgent = createFieldEncoder(compute, agentDigits, cachedAgentsMax);
    }
    const age = typeof firstSeenMs === 'number' ? computeAge(atMs - firstSeenMs) : '';
    return encodeAddress(address) + encodeAddress(toNetwork(address)) + encodeAgent(agent) + age;
  };
};

/** Splits an origin into the columns of `vote_origins`. */
export const parseOrigin = (origin: string): OriginColumns => ({
  addressHash: unpackHash(origin.slice(0, networkAt)),
  networkHash: unpackHash(origin.slice(networkAt, agentAt)),
  agentHash: unpackHash(origin.slice(agentAt, ageAt)),
  accountAge: origin.slice(ageAt) || 'NULL',
});

/** The bits of `vote_origins.flags` and the kinds of `vote_suspects`. The last two concern listings only. */
export const voteFlags = {
  /** Many accounts of one address voted on one listing. */
  listing: 1,
  /** An address with many accounts that mostly have another flag. */
  directory: 2,
  /** Many new accounts of one address voted on one listing. */
  young: 4,
  /** Votes of one address on one listing at equal intervals. */
  rhythm: 8,
  /** A listing got far more votes than in its own past. */
  surge: 16,
  /** Page views of a listing that a filter would mostly remove. */
  views: 32,
} as const;
