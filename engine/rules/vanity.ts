/**
 * Vanity codes: which ones are allowed, and the candidates for a new listing.
 *
 * Pure. A code must not look like an id: look-ups try the code first and the id second, so a code of 15 or
 * more digits, or with the shape of a UUID, could hide another entity. The catalogue knows whether a code is
 * taken.
 */

/** Kinds of entities with a vanity code. */
export const vanityKinds = ['bot', 'server', 'team'] as const;
export type VanityKind = (typeof vanityKinds)[number];

const vanityCodeMax = 32;

/** Names that are or may become part of a URL, or that could be mistaken for the service itself. */
const reservedNames: ReadonlySet<string> = new Set(
  (
    'about admin api apps assets auth badges blog blogs bot bots cdn dashboard docs feed help history ' +
    'index leaderboards legal login logout me metrics notifications null owner pack packs panel ' +
    'partners privacy profile rank search server servers sessions settings shards shop staff static ' +
    'status support team teams terms undefined user users vanity votes webhooks'
  ).split(' '),
);

const shape = /^[a-z0-9_-]{2,32}$/;
const idLike = /^(\d{15,}|[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Converts a code to lower case, in which codes are compared and stored. */
export const foldVanityCode = (code: string): string => code.toLowerCase();

/** Returns a message that says why a folded code is not allowed; `null` if it is. */
export const findVanityCodeFault = (code: string): string | null => {
  if (!shape.test(code)) return 'must be 2 to 32 characters of a-z, 0-9, "-" and "_"';
  if (idLike.test(code)) return 'must not look like an id';
  if (reservedNames.has(code)) return 'is a reserved word';
  return null;
};

/**
 * Converts a name to lower case without accents. A single `_` between letters and digits stays; every other
 * run of other characters becomes one hyphen.
 */
export const toSlug = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, (separators) => (separators === '_' ? '_' : '-'))
    .slice(0, vanityCodeMax)
    .replace(/^[-_]|[-_]$/g, '');

const addSuffix = (slug: string, suffix: string): string =>
  `${slug.slice(0, vanityCodeMax - suffix.length - 1).replace(/[-_]$/, '')}-${suffix}`;

/**
 * Lists codes for a new listing, best first: the slug of its name, the slug with the end of its id, then
 * `<kind>-<id>` (teams: the id's last six characters first, the random ones). The first free one is used.
 */
export const listVanityCandidates = (kind: 'bot' | 'server' | 'team', id: string, name: string): string[] => {
  const slug = toSlug(name);
  const plainId = id.toLowerCase().replaceAll('-', '');
  const candidates = [
    ...(slug === '' ? [] : [slug, addSuffix(slug, plainId.slice(-4)), addSuffix(slug, plainId.slice(-10))]),
    ...(kind === 'team' ? [`team-${plainId.slice(-6)}`] : []),
    `${kind}-${plainId}`.slice(0, vanityCodeMax),
  ];
  return candidates.filter((code) => findVanityCodeFault(code) === null);
};
