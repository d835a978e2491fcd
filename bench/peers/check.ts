/**
 * The same short check for every measured server: only a server that does the work is measured. Operations
 * that a server does not offer are skipped.
 *
 * Sends public HTTP requests only; leaves one post and one vote behind.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Directory, Holder } from '../scenarios/directory.ts';

export type Skill = 'stats' | 'read' | 'page' | 'vote';

const at = (list: readonly Holder[], index: number): Holder => list.at(index) as Holder;

/** Asks the server about one bot, the last one of the directory if no other is named. */
const createProbe = (url: string, { bots, users }: Directory, bot = at(bots, -1)) => {
  const ask = async (method: string, path: string, more: RequestInit = {}) => {
    const response = await fetch(`${url}${path}`, { method, ...more });
    const text = await response.text();
    const body: Readonly<Record<string, unknown>> = text === '' ? {} : JSON.parse(text);
    return { status: response.status, body };
  };
  return {
    ...{ ask, bot, user: at(users, -1), other: at(users, 0) },
    post: async (body: string, token = bot.token): Promise<number> => {
      const headers = { 'Bot-Auth': token, 'Content-Type': 'application/json' };
      return (await ask('POST', '/bots/stats', { headers, body })).status;
    },
    /** Rollcall shows an entity's numbers at the top level, as the peers do. */
    read: async (name: string): Promise<number> =>
      Number((await ask('GET', `/bots/${bot.id}`)).body[name] ?? 0),
    /** `who` is the caller that votes as `user`. */
    vote: async (user: Holder, who = user): Promise<number> => {
      const headers = { 'User-Auth': who.token };
      const path = `/users/${user.id}/bots/${bot.id}/votes?upvote=true`;
      return (await ask('PUT', path, { headers })).status;
    },
  };
};
type Probe = ReturnType<typeof createProbe>;

const isCounted = async ({ ask, bot, read }: Probe): Promise<boolean> => {
  const before = await read('clicks');
  await ask('GET', `/bots/${bot.id}?target=page`);
  for (let turn = 0; turn < 100; turn++) {
    if ((await read('clicks')) === before + 1) return true;
    await pause(10);
  }
  return false;
};

const countsOnce = async ({ read, vote, user }: Probe): Promise<boolean> => {
  const before = await read('votes');
  const statuses = [await vote(user), await vote(user)];
  return statuses.join() === '204,429' && (await read('votes')) === before + 1;
};

const cases: readonly (readonly [skill: Skill, claim: string, holds: (probe: Probe) => Promise<boolean>])[] =
  [
    [
      'stats',
      'an acknowledged post is read back at once',
      async ({ post, read }) =>
        (await post('{"servers":4321,"users":98765,"shards":7,"status":"online"}')) === 200 &&
        (await read('servers')) === 4321 &&
        (await read('users')) === 98765,
    ],
    [
      'stats',
      'a post keeps the fields it does not name',
      async ({ post, read }) =>
        (await post('{"servers":4322}')) === 200 &&
        (await read('servers')) === 4322 &&
        (await read('users')) === 98765,
    ],
    [
      'stats',
      'a negative number is refused and changes nothing',
      async ({ post, read }) =>
        Math.floor((await post('{"servers":-1}')) / 100) === 4 && (await read('servers')) === 4322,
    ],
    [
      'stats',
      'an unknown token is refused',
      async ({ post }) => (await post('{"servers":1}', 'unknown')) === 401,
    ],
    [
      'read',
      'an unknown bot is not found',
      async ({ ask }) => (await ask('GET', '/bots/399999999999999999')).status === 404,
    ],
    ['page', 'a page view is counted', isCounted],
    ['vote', 'a vote counts once, and the next one has to wait', countsOnce],
    [
      'vote',
      'users cannot vote as another user',
      async ({ vote, user, other }) => [401, 403].includes(await vote(other, user)),
    ],
  ];

/** Returns the claims that fail; empty when all hold. */
export const findFailedClaims = async (
  url: string,
  directory: Directory,
  skills: readonly Skill[],
): Promise<string[]> => {
  const failed: string[] = [];
  for (const [skill, claim, holds] of cases)
    if (skills.includes(skill) && !(await holds(createProbe(url, directory)))) failed.push(claim);
  return failed;
};

/** How many of `atOnce` simultaneous votes of one user for one bot a server accepts; one is correct. */
export const countAcceptedVotes = async (
  url: string,
  directory: Directory,
  atOnce: number,
): Promise<number> => {
  const { vote } = createProbe(url, directory, at(directory.bots, -2));
  const user = at(directory.users, -2);
  const votes = Array.from({ length: atOnce }, () => vote(user).catch(() => 0));
  return (await Promise.all(votes)).filter((status) => status === 204).length;
};
