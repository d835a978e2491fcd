/**
 * The same short check for every measured server: only a server that does the work is measured. Operations
 * that a server does not offer are skipped.
 *
 * Sends public HTTP requests only; leaves one post and one vote behind.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Directory, Holder } from '../scenarios/directory.ts';

export type Skill = 'stats' | 'read' | 'page' | 'vote';

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}
type Ask = (method: string, path: string, more?: RequestInit) => Promise<Answer>;

const createCaller =
  (url: string): Ask =>
  async (method, path, more = {}) => {
    const response = await fetch(`${url}${path}`, { method, ...more });
    const text = await response.text();
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
  };

interface Case {
  readonly claim: string;
  readonly skill: Skill;
  readonly holds: (ask: Ask, directory: Directory) => Promise<boolean>;
}

const at = <Item>(list: readonly Item[], index: number): Item => list.at(index) as Item;
const post = (ask: Ask, token: string, body: string) =>
  ask('POST', '/bots/stats', { headers: { 'Bot-Auth': token, 'Content-Type': 'application/json' }, body });
/** `who` is the caller that votes as `user`. */
const vote = (ask: Ask, { user, who = user, bot }: { user: Holder; who?: Holder; bot: Holder }) =>
  ask('PUT', `/users/${user.id}/bots/${bot.id}/votes?upvote=true`, { headers: { 'User-Auth': who.token } });
/** Rollcall shows an entity's numbers at the top level, as the peers do. */
const readNumber = ({ body }: Answer, name: string): number => Number(body[name] ?? 0);

const cases: readonly Case[] = [
  {
    claim: 'an acknowledged post is read back at once',
    skill: 'stats',
    holds: async (ask, { bots }) => {
      const { id, token } = at(bots, -1);
      const posted = await post(ask, token, '{"servers":4321,"users":98765,"shards":7,"status":"online"}');
      const read = await ask('GET', `/bots/${id}`);
      return (
        posted.status === 200 && readNumber(read, 'servers') === 4321 && readNumber(read, 'users') === 98765
      );
    },
  },
  {
    claim: 'a post keeps the fields it does not name',
    skill: 'stats',
    holds: async (ask, { bots }) => {
      const { id, token } = at(bots, -1);
      await post(ask, token, '{"servers":4322}');
      const read = await ask('GET', `/bots/${id}`);
      return readNumber(read, 'servers') === 4322 && readNumber(read, 'users') === 98765;
    },
  },
  {
    claim: 'a negative number is refused and changes nothing',
    skill: 'stats',
    holds: async (ask, { bots }) => {
      const { id, token } = at(bots, -1);
      const { status } = await post(ask, token, '{"servers":-1}');
      return status >= 400 && status < 500 && readNumber(await ask('GET', `/bots/${id}`), 'servers') === 4322;
    },
  },
  {
    claim: 'an unknown token is refused',
    skill: 'stats',
    holds: async (ask) => (await post(ask, 'unknown', '{"servers":1}')).status === 401,
  },
  {
    claim: 'an unknown bot is not found',
    skill: 'read',
    holds: async (ask) => (await ask('GET', '/bots/399999999999999999')).status === 404,
  },
  {
    claim: 'a page view is counted',
    skill: 'page',
    holds: async (ask, { bots }) => {
      const { id } = at(bots, -1);
      const before = readNumber(await ask('GET', `/bots/${id}`), 'clicks');
      await ask('GET', `/bots/${id}?target=page`);
      for (let turn = 0; turn < 100; turn++) {
        if (readNumber(await ask('GET', `/bots/${id}`), 'clicks') === before + 1) return true;
        await pause(10);
      }
      return false;
    },
  },
  {
    claim: 'a vote counts once, and the next one has to wait',
    skill: 'vote',
    holds: async (ask, { bots, users }) => {
      const bot = at(bots, -1);
      const user = at(users, -1);
      const before = readNumber(await ask('GET', `/bots/${bot.id}`), 'votes');
      const first = await vote(ask, { user, bot });
      const second = await vote(ask, { user, bot });
      const counted = readNumber(await ask('GET', `/bots/${bot.id}`), 'votes') - before;
      return first.status === 204 && second.status === 429 && counted === 1;
    },
  },
  {
    claim: 'users cannot vote as another user',
    skill: 'vote',
    holds: async (ask, { bots, users }) => {
      const { status } = await vote(ask, { user: at(users, 0), who: at(users, 1), bot: at(bots, 0) });
      return status === 401 || status === 403;
    },
  },
];

/** Returns the claims that fail; empty when all hold. */
export const findFailedClaims = async (
  url: string,
  directory: Directory,
  skills: readonly Skill[],
): Promise<string[]> => {
  const failed: string[] = [];
  for (const { claim, skill, holds } of cases) {
    if (!skills.includes(skill)) continue;
    if (!(await holds(createCaller(url), directory))) failed.push(claim);
  }
  return failed;
};

/** How many of `atOnce` simultaneous votes of one user for one bot a server accepts; one is correct. */
export const countAcceptedVotes = async (
  url: string,
  directory: Directory,
  atOnce: number,
): Promise<number> => {
  const ask = createCaller(url);
  const user = at(directory.users, -2);
  const bot = at(directory.bots, -2);
  const answers = await Promise.all(
    Array.from({ length: atOnce }, () => vote(ask, { user, bot }).catch(() => ({ status: 0 }))),
  );
  return answers.filter(({ status }) => status === 204).length;
};
