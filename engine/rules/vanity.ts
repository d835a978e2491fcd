/**
 * Vanity codes: which are allowed, and which a new listing is offered.
 *
 * Pure. A code never looks like an id: lookups try the code first and the id second, so a code of 15 digits
 * or more, or of the shape of a UUID, could hide somebody else's entity. Whether a code is taken is for the
 * catalogue to say. Used by the catalogue and the import.
 */

/** Kinds of entities with a vanity code. */
export const vanityKinds = ['bot', 'server', 'team'] as const;
export type VanityKind = (typeof vanityKinds)[number];

const vanityCodeMax = 32;

/** Words that are, or may become, part of an address or could pass for the service itself. */
const reserved: ReadonlySet<string> = new Set(
  (
    'about admin api apps assets auth blog blogs bot bots cdn dashboard docs help index legal login logout ' +
    'me metrics notifications null owner pack packs panel partners privacy profile search server servers ' +
    'sessions settings shop staff static status support team teams terms undefined user users vanity votes'
  ).split(' '),
);

const shape = /^[a-z0-9_-]{2,32}$/;
const idLike = /^(\d{15,}|[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Codes are compared and kept in lower case. */
export const foldVanityCode = (code: string): string => code.toLowerCase();

/** Why a folded code cannot be used, in words, or `null` when it can. */
export const findVanityCodeFault = (code: string): string | null => {
  if (!shape.test(code)) return 'must be 2 to 32 characters of a-z, 0-9, "-" and "_"';
  if (idLike.test(code)) return 'must not look like an id';
  if (reserved.has(code)) return 'is a reserved word';
  return null;
};

/**
 * The name in lower case without accents. A single `_` between letters and digits stays; everything else but
 * those becomes single hyphens.
 */
export const toSlug = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, (others) => (others === '_' ? '_' : '-'))
    .slice(0, vanityCodeMax)
    .replace(/^[-_]|[-_]$/g, '');

const addSuffix = (slug: string, suffix: string): string =>
  `${slug.slice(0, vanityCodeMax - suffix.length - 1).replace(/[-_]$/, '')}-${suffix}`;

/**
 * Codes to offer a new listing, best first: the slug of its name, the slug with the end of its id, then
 * `<kind>-<id>` (teams: its last six characters, the random ones). The first one that nobody has is given.
 */
export const listVanityCandidates = (kind: 'bot' | 'server' | 'team', id: string, name: string): string[] => {
  const slug = toSlug(name);
  const bare = id.toLowerCase().replaceAll('-', '');
  const candidates = [
    ...(slug === '' ? [] : [slug, addSuffix(slug, bare.slice(-4)), addSuffix(slug, bare.slice(-10))]),
    ...(kind === 'team' ? [`team-${bare.slice(-6)}`] : []),
    `${kind}-${bare}`.slice(0, vanityCodeMax),
  ];
  return candidates.filter((code) => findVanityCodeFault(code) === null);
};
