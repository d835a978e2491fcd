/**
 * Paths that clients of other directories request, and what serves the same here. Only the message of a 404
 * names it: a path is never redirected, because the reply has another shape. Pure.
 */
import { DomainError } from '../../engine/errors.ts';

/** `$1` and `$2` are the parameters of the path. */
type Successors = readonly (readonly [path: RegExp, successor: string])[];

const voteStatus = 'GET /users/{user}/bots/$1/votes';

/** Each path may begin with a version (`/api/v1`). */
const successors: Successors = [
  [/^\/(bots|servers|packs|blogs)\/all$/, 'GET /$1/@all'],
  [/^\/bot\/([^/]+)$/, 'GET /bots/$1'],
  [/^\/bots?\/([^/]+)\/stats$/, 'POST /bots/stats, where the token names the bot'],
  [/^\/votes\/([^/]+)\/([^/]+)$/, 'GET /users/$2/bots/$1/votes'],
  [/^\/bots\/([^/]+)\/check$/, voteStatus],
  [/^\/bots\/([^/]+)\/votes$/, 'GET /bots/$1/votes/user-list, and GET /bots/$1/votes/log with times'],
  [/^\/bots\/([^/]+)\/upvotes$/, 'GET /bots/$1/votes/log'],
  [/^\/bots\/([^/]+)\/commands$/, 'PATCH /bots/$1/settings with the commands in `long`'],
  [/^\/users?\/([^/]+)$/, 'GET /users/$1/bots/{bot}/votes for votes, or read `user` of a bot'],
  [/^\/weekend$/, `${voteStatus.replace('$1', '{bot}')} and read \`vote_info\``],
  [/^\/docs\/$/, 'GET /docs'],
  [/^\/widget\/(?:[^/]+\/)?([0-9]+)\.\w+$/, 'GET /badges/bots/$1/card.svg'],
];

/** Paths that mean something else without the version, or would be the path of a bot. */
const versioned: Successors = [
  [/^\/bots$/, 'GET /bots/@all'],
  [/^\/bots\/stats$/, 'POST /bots/stats'],
  [/^\/bots\/check$/, voteStatus.replace('$1', '{bot}')],
  [/^\/bots\/votes$/, 'GET /bots/{bot}/votes/user-list, and GET /bots/{bot}/votes/log with times'],
  [/^\/bots\/([^/]+)$/, 'GET /bots/$1'],
];
const version = /^\/api(?:\/v\d)?(?=\/)/;

/** What to request instead of this path, `null` when no client of another directory requests it. */
export const findSuccessor = (path: string): string | null => {
  const bare = path.replace(version, '');
  const known = bare === path ? successors : [...successors, ...versioned];
  const found = known.find(([pattern]) => pattern.test(bare));
  return found === undefined ? null : bare.replace(found[0], found[1]);
};

/** Adds the successor of the path to the message of a 404; every other error stays as it is. */
export const nameSuccessor = (error: unknown, path: string): unknown => {
  if (!(error instanceof DomainError)) return error;
  if (error.code !== 'route_not_found' && error.code !== 'not_found') return error;
  const successor = findSuccessor(path);
  if (successor === null) return error;
  return new DomainError(error.code, `${error.message} Send ${successor} instead.`, { ...error.context });
};
